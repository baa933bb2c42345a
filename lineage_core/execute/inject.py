"""Inject: the plan is split at the operators to be saved, and goes on from what was saved.

The part below an operator runs first and is written; the part above it then reads those files in
its place, under the old attribute ids, names, types and nullability, so that nothing above notices.
Each part runs once, as in the user's job, and at one time: the current time is that of the split.
An operator below another one to be saved is split off first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from lineage_core.errors import UnsupportedError
from lineage_core.execute.jvm import LOGICAL, items, java_class, none, scala_object
from lineage_core.execute.saved import Place, artifact, column_types, read, rows_of, write
from lineage_core.execute.tree import Tree
from lineage_core.execute.widen import Wide, Widener, alias, null, project
from lineage_core.plan.program import Step
from lineage_core.plan.relation import Plan
from lineage_core.store.manifest import Artifact, Materialize

_ROWS_AS_THEY_COME = frozenset(
    {
        "CollectMetrics",
        "Expand",
        "Filter",
        "Generate",
        "GlobalLimit",
        "LocalLimit",
        "Project",
        "ResolvedHint",
        "SubqueryAlias",
    }
)
"""Operators whose rows are in the partitions and in the order of their input's."""

_ARRANGED = frozenset({"RebalancePartitions", "Repartition", "RepartitionByExpression"})


def inject(
    spark: SparkSession, java: Any, plan: Plan, steps: Mapping[int, Step], place: Place
) -> tuple[Any, tuple[Artifact, ...]]:
    """Save `steps` (by number in their program), and return the rest of a plan and their records.

    Args:
        spark: the session.
        java: the optimised Java plan of the output.
        plan: its IR.
        steps: the steps to save now, each at an operator of its own.
        place: where the output's intermediates go.

    Raises:
        UnsupportedError: an operator cannot offer the columns of its step, or the plan cannot be
            split there.
    """
    clock = scala_object(spark, "org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime")
    tree = Tree.of(spark, clock.apply(java), plan)
    cuts = {step.at: number for number, step in steps.items()}
    if len(cuts) < len(steps):
        raise ValueError("two saved steps at one operator")
    widener = Widener(tree)
    for step in steps.values():
        if why := inseparable(tree, step.at):
            raise UnsupportedError(why)
        widener.ask(step.at, (column.id for column in step.columns))
    splitter = _Splitter(widener, steps, cuts, place)
    rest = widener.build(0, splitter.replace)
    return rest.node, tuple(sorted(splitter.artifacts, key=lambda a: a.step))


def inseparable(tree: Tree, place: int) -> str:
    """Return why the part below and at `place` cannot run before the rest; empty if it can.

    What is random would come out differently in other partitions, and differently from its copies
    in the other part. Partitions that the user has arranged for the output would be lost.
    """
    random = next((p for p in tree.random if not tree.is_below(p, place)), None)
    if random is not None:
        return f"{tree.names[random]} (operator {random}) is not deterministic"
    if _is_arranged(tree, place):
        return f"the rows of {tree.names[place]} (operator {place}) are in arranged partitions"
    return ""


def _is_arranged(tree: Tree, place: int) -> bool:
    above = (p for p in range(place) if tree.is_below(place, p))
    if not all(tree.names[p] in _ROWS_AS_THEY_COME for p in above):
        return False
    while tree.names[place] in _ROWS_AS_THEY_COME:
        (place,) = tree.inputs[place]
    name = tree.names[place]
    return name in _ARRANGED or (name == "Sort" and not getattr(tree.nodes[place], "global")())


@dataclass(frozen=True, slots=True)
class _Splitter:
    widener: Widener
    steps: Mapping[int, Step]
    cuts: Mapping[int, int]
    place: Place
    artifacts: list[Artifact] = field(default_factory=list)

    def replace(self, at: int, wide: Wide) -> Wide:
        """Return what stands in place of an operator: what reads its rows, if they are saved."""
        return self._save(at, wide) if at in self.cuts else wide

    def _save(self, at: int, wide: Wide) -> Wide:
        """Write the rows of `wide`; return a plan that reads them and offers what it is asked."""
        number, spark = self.cuts[at], self.widener.tree.spark
        self.widener.require(at, wide, (column.id for column in self.steps[number].columns))
        own = self.widener.tree.attributes(at)
        rows = rows_of(spark, wide.node, own | wide.extra)
        uri = self.place.reserve(at)
        write(spark, rows, uri)
        types = column_types(rows)
        self.artifacts.append(artifact(self.place, number, at, types, Materialize.INJECT))
        scan, columns = read(spark, rows, uri)
        needed = self.widener.passed[at] & wide.extra.keys()
        extra = {id: wide.extra[id] for id in sorted(needed)}
        fields = [column.id for column in self.widener.tree.fields[at]]
        node = self.widener.tree.nodes[at]
        old = list(zip(fields, items(node.output()), strict=True))
        aliases = [
            alias(spark, value, a.name(), a.exprId(), a.qualifier(), a.metadata())
            for id, a in (*old, *extra.items())
            for value in [columns[f"c{id}"] if f"c{id}" in columns else null(spark, a)]
        ]
        return Wide(self._ordered(node, project(spark, aliases, scan)), extra)

    def _ordered(self, node: Any, scan: Any) -> Any:
        """Return `scan` in the order `node` has, if any: files are read in no order."""
        order, spark = node.outputOrdering(), self.widener.tree.spark
        if order.isEmpty():
            return scan
        return java_class(spark, f"{LOGICAL}.Sort")(order, True, scan, none(spark))
