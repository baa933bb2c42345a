"""Inject: the plan is split at the operators to be saved, and goes on from what was saved.

The part below an operator runs first and is written; the part above it then reads those files in
its place, under the old attribute ids, names and nullability, so that nothing above notices. Each
part runs once, as in the user's job. An operator below another one to be saved is split off first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from lineage_core.execute.jvm import (
    EXPRESSIONS,
    LOGICAL,
    items,
    java_class,
    none,
    seq,
    some,
)
from lineage_core.execute.saved import (
    Place,
    artifact,
    column_types,
    named,
    spark_path,
    write,
)
from lineage_core.execute.widen import attributes, project, widen, with_children
from lineage_core.plan.program import Step
from lineage_core.store.manifest import Artifact, Materialize

Path = tuple[int, ...]
"""The way from a plan's root to an operator: the number of the child to take at each one."""


def inject(
    spark: SparkSession,
    plan: Any,
    steps: Mapping[int, Step],
    expr_ids: Mapping[int, int],
    place: Place,
) -> tuple[Any, tuple[Artifact, ...]]:
    """Save `steps` (by number in their program), and return the rest of `plan` and their records.

    Args:
        spark: the session of `plan`.
        plan: the optimised Java plan of the output.
        steps: the steps to save now.
        expr_ids: the Catalyst attribute behind each column id.
        place: where the output's intermediates go.
    """
    paths = _paths(plan)
    splitter = _Splitter(spark, expr_ids, place)
    cuts = {paths[step.at]: (number, step) for number, step in steps.items()}
    if len(cuts) < len(steps):
        raise ValueError("two saved steps at one operator")
    rest = splitter.split(plan, cuts)
    return rest, tuple(sorted(splitter.artifacts, key=lambda a: a.step))


@dataclass
class _Splitter:
    spark: SparkSession
    expr_ids: Mapping[int, int]
    place: Place
    artifacts: list[Artifact] = field(default_factory=list)

    def split(self, root: Any, cuts: Mapping[Path, tuple[int, Step]]) -> Any:
        """Return `root` reading saved files at each of `cuts`."""
        for path in [p for p in cuts if not any(_is_above(q, p) for q in cuts)]:
            number, step = cuts[path]
            below = {p[len(path) :]: cut for p, cut in cuts.items() if _is_above(path, p)}
            node = _at(root, path)
            wanted = [self.expr_ids[column.id] for column in step.columns]
            # Widened first: what is split off below must still offer what is needed here.
            whole = self.split(widen(self.spark, node, wanted), below)
            root = self._replace(root, path, self._save(number, node, whole))
        return root

    def _save(self, number: int, node: Any, whole: Any) -> Any:
        """Write the rows of `whole`; return a plan that reads them and offers what `node` does."""
        offered = attributes(whole)
        names = self._names(list(offered))
        # Distinct attributes: one that is offered twice is saved once.
        rows = named(self.spark, project(self.spark, list(offered.values()), whole), names)
        uri = self.place.reserve(number)
        write(self.spark, rows, uri)
        types = column_types(rows)
        self.artifacts.append(artifact(self.place, number, types, Materialize.INJECT))
        read = self.spark._jsparkSession.read().schema(rows.schema())
        scan = read.parquet(seq(self.spark, [spark_path(self.spark, uri)]))
        scan = scan.queryExecution().analyzed()
        columns = dict(zip(offered, items(scan.output()), strict=bool(names)))
        aliases = [
            _renamed(self.spark, columns[int(old.exprId().id())], old)
            for old in items(node.output())
        ]
        return self._ordered(node, project(self.spark, aliases, scan))

    def _ordered(self, node: Any, scan: Any) -> Any:
        """Return `scan` in the order `node` has, if any: files are read in no order."""
        order = node.outputOrdering()
        if order.isEmpty():
            return scan
        sort = java_class(self.spark, f"{LOGICAL}.Sort")
        return sort(order, True, scan, none(self.spark))

    def _names(self, expr_ids: Sequence[int]) -> list[str]:
        """Return the names columns are saved by: `c<id>` for those the IR knows."""
        ids = {expr_id: id for id, expr_id in self.expr_ids.items()}
        return [f"c{ids[e]}" if e in ids else f"x{i}" for i, e in enumerate(expr_ids)]

    def _replace(self, root: Any, path: Path, node: Any) -> Any:
        if not path:
            return node
        children = items(root.children())
        children[path[0]] = self._replace(children[path[0]], path[1:], node)
        return with_children(self.spark, root, children)


def _renamed(spark: SparkSession, column: Any, old: Any) -> Any:
    """Return the scanned attribute `column` under the id, name and nullability of `old`."""
    child = column
    if not old.nullable():
        child = java_class(spark, f"{EXPRESSIONS}.KnownNotNull")(column)
    return java_class(spark, f"{EXPRESSIONS}.Alias")(
        child,
        old.name(),
        old.exprId(),
        old.qualifier(),
        some(spark, old.metadata()),
        _no_keys(spark),
    )


def _no_keys(spark: SparkSession) -> Any:
    return seq(spark, [])


def _paths(plan: Any) -> list[Path]:
    """Return the path of each operator, in pre-order: at each `at`."""
    found: list[Path] = []
    stack: list[tuple[Any, Path]] = [(plan, ())]
    while stack:
        node, path = stack.pop()
        found.append(path)
        children = items(node.children())
        stack.extend((child, (*path, i)) for i, child in reversed(list(enumerate(children))))
    return found


def _is_above(upper: Path, lower: Path) -> bool:
    return len(upper) < len(lower) and lower[: len(upper)] == upper


def _at(root: Any, path: Path) -> Any:
    for ordinal in path:
        root = root.children().apply(ordinal)
    return root
