"""Surgery on Java plans: operators hand on columns that they had dropped, as `plan.widen` says.

Nothing of an existing tree changes: what is widened is a new tree over shared sub-trees, operator
by operator in its old place. A column that is handed on gets an attribute of its own where it was
dropped, for the old one may stand for something else further up, or come from two inputs. Rids are
columns too: scans of files offer them, and aggregates gather those of each group (`rids`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from lineage_core.errors import UnsupportedError
from lineage_core.execute.jvm import (
    EXPRESSIONS,
    LOGICAL,
    items,
    java_class,
    scala_object,
    seq,
    some,
)
from lineage_core.execute.rids import coded_rid, framed, gathered, united
from lineage_core.execute.tree import Tree
from lineage_core.plan.expr import Literal
from lineage_core.plan.relation import is_rid, rid_id
from lineage_core.pushdown.rules.window import has_current

_HANDS_ON = frozenset(
    {
        "CollectMetrics",
        "EventTimeWatermark",
        "Filter",
        "GlobalLimit",
        "LocalLimit",
        "Offset",
        "RebalancePartitions",
        "Repartition",
        "RepartitionByExpression",
        "ResolvedHint",
        "ReturnAnswer",
        "Sample",
        "Sort",
        "SubqueryAlias",
        "Window",
    }
)
"""Operators that offer all their input offers."""

_HERE = Literal(0, "integer")

_EXCHANGES = frozenset({"Repartition", "RepartitionByExpression"})

_REPEATS = frozenset({"Aggregate", "Expand", "Generate", "Join"})
"""Operators that may make many rows of one."""

_LEFT_ONLY = ("LeftSemi", "LeftAnti", "ExistenceJoin")


@dataclass(frozen=True, slots=True)
class Wide:
    """A rebuilt operator, and the attributes that it offers beyond its own, by column."""

    node: Any
    extra: dict[int, Any]


Replace = Callable[[int, Wide], Wide]
"""Gives what stands in the place of a rebuilt operator."""


@dataclass(frozen=True)
class Widener:
    """Rebuilds operators of a plan so that they offer the columns asked of them.

    Attributes:
        tree: the plan.
        asked: the columns asked of operators that they do not offer, by place.
        passed: those of them that the operator above needs.
    """

    tree: Tree
    asked: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    passed: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))

    def ask(self, place: int, wanted: Iterable[int]) -> None:
        """Ask columns of an operator, and of those below it what it needs to offer them."""
        stack = [(place, set(wanted))]
        while stack:
            at, ids = stack.pop()
            missing = ids - {column.id for column in self.tree.fields[at]}
            if at != place:
                self.passed[at] |= missing
            new = missing - self.asked[at]
            if new:
                self.asked[at] |= new
                if self.tree.names[at] == "Aggregate":
                    new = set(filter(is_rid, new))  # of other columns a group has no one value
                stack.extend((below, new) for below in self._handed_on(at))

    def build(self, root: int, replace: Replace = lambda _, wide: wide) -> Wide:
        """Return the operator at `root`, rebuilt where that is needed.

        Raises:
            UnsupportedError: an operator would have to change its rows to offer a column.
        """
        done: dict[int, Wide] = {}
        for place in reversed(range(root, self.tree.ends[root])):
            inputs = [done.pop(below, None) for below in self.tree.inputs[place]]
            wide = Wide(self.tree.nodes[place], {})
            if self.asked.get(place) or any(inputs):
                below = zip(self.tree.inputs[place], inputs, strict=True)
                wide = self._widened(place, [w or self._plain(p) for p, w in below])
            replaced = replace(place, wide)
            if replaced.node is not self.tree.nodes[place]:
                done[place] = replaced
        return done.get(root) or self._plain(root)

    def offers(self, place: int, wanted: Iterable[int]) -> bool:
        """Whether an operator can offer the columns `wanted`."""
        wanted = tuple(wanted)
        try:
            self.ask(place, wanted)
            self.require(place, self.build(place), wanted)
        except UnsupportedError:
            return False
        return True

    def require(self, place: int, wide: Wide, wanted: Iterable[int]) -> dict[int, Any]:
        """Return the attributes that `wide`, at `place`, offers for the columns `wanted`.

        Raises:
            UnsupportedError: it does not offer them all.
        """
        offered = self.tree.attributes(place) | wide.extra
        wanted = tuple(wanted)
        missing = sum(id not in offered for id in wanted)
        if missing:
            name = f"{self.tree.names[place]} (operator {place})"
            raise UnsupportedError(f"{name} cannot offer {missing} columns that the lineage needs")
        return {id: offered[id] for id in wanted}

    def _plain(self, place: int) -> Wide:
        return Wide(self.tree.nodes[place], {})

    def _handed_on(self, place: int) -> list[int]:
        """Return the inputs that an operator can hand columns on from."""
        name, inputs = self.tree.names[place], list(self.tree.inputs[place])
        if name == "Join":
            left_only = _join_type(self.tree.nodes[place]) in _LEFT_ONLY
            return inputs[:1] if left_only else inputs
        if name in _HANDS_ON or name in ("Aggregate", "Project", "Expand", "Generate", "Union"):
            return inputs
        return []

    def _widened(self, place: int, inputs: list[Wide]) -> Wide:
        node = with_children(self.tree.spark, self.tree.nodes[place], [w.node for w in inputs])
        asked = self.asked.get(place, set())
        if not asked:
            return Wide(node, {})
        rule = _RULES.get(self.tree.names[place])
        if rule is not None:
            below = zip(self.tree.inputs[place], inputs, strict=True)
            offered = [self._offered(asked, *pair) for pair in below]
            return rule(self, place, node, offered)
        if self.tree.names[place] in _EXCHANGES and not node.deterministic():
            # Spark computes copies of a random relation as one; a widened copy is another one.
            name = f"{self.tree.names[place]} (operator {place})"
            raise UnsupportedError(f"{name} of random rows cannot offer other columns")
        return Wide(node, _renewed(node, self._from(place, inputs)))

    def _offered(self, asked: Set[int], place: int, wide: Wide) -> dict[int, Any]:
        """Return the asked columns that an input offers."""
        offered = self.tree.attributes(place) | wide.extra
        return {id: offered[id] for id in sorted(asked & offered.keys())}

    def _from(self, place: int, inputs: list[Wide]) -> dict[int, Any]:
        """Return the attributes that an operator hands on from its inputs, beyond its own."""
        below = zip(self.tree.inputs[place], inputs, strict=True)
        extras = (wide.extra for p, wide in below if p in self._handed_on(place))
        return {id: attribute for extra in extras for id, attribute in extra.items()}


Rule = Callable[[Widener, int, Any, list[dict[int, Any]]], Wide]
"""Widens an operator over widened inputs, given the columns asked for that each input offers."""


def _project(widener: Widener, _: int, node: Any, inputs: list[dict[int, Any]]) -> Wide:
    spark = widener.tree.spark
    added = {id: renamed(spark, a, a.name()) for id, a in inputs[0].items()}
    columns = items(node.projectList()) + list(added.values())
    return Wide(project(spark, columns, node.child()), _attributes(added))


def _aggregate(
    widener: Widener, place: int, node: Any, inputs: list[dict[int, Any]]
) -> Wide:
    spark, keys = widener.tree.spark, items(node.groupingExpressions())
    positions = widener.tree.keys.get(place, {})
    added = {
        id: renamed(spark, keys[positions[id]], keys[positions[id]].name())
        for id in sorted(widener.asked[place] & positions.keys())
    }
    end = widener.tree.ends[place]
    repeated = not _REPEATS.isdisjoint(widener.tree.names[place + 1 : end])
    added |= {
        id: renamed(spark, gathered(spark, rids, repeated=repeated), rids.name())
        for id, rids in inputs[0].items()
        if is_rid(id)
    }
    columns = items(node.aggregateExpressions()) + list(added.values())
    wide = java_class(spark, f"{LOGICAL}.Aggregate")(
        node.groupingExpressions(), seq(spark, columns), node.child(), node.hint()
    )
    return Wide(wide, _attributes(added))


def _relation(widener: Widener, place: int, node: Any, _: list[dict[int, Any]]) -> Wide:
    spark, id = widener.tree.spark, rid_id(place)
    rid = coded_rid(spark, node) if id in widener.asked[place] else None
    if rid is None:
        return Wide(node, {})
    added = {id: renamed(spark, rid, "rid")}
    columns = items(node.output()) + list(added.values())
    return Wide(project(spark, columns, node.withMetadataColumns()), _attributes(added))


def _window(widener: Widener, place: int, node: Any, inputs: list[dict[int, Any]]) -> Wide:
    """A row hands on what it has, but of rids those of all rows in its frames."""
    spark = widener.tree.spark
    handed = {id: value for id, value in inputs[0].items() if not is_rid(id)}
    rids = {id: value for id, value in inputs[0].items() if is_rid(id)}
    frames = sorted(widener.tree.frames.get(place, ()), key=repr)
    if not rids:
        return Wide(node, _renewed(node, handed))
    if not frames or any(b not in (None, _HERE) for f in frames for b in (f.lower, f.upper)):
        name = f"{widener.tree.names[place]} (operator {place})"
        raise UnsupportedError(f"{name} has frames whose rids cannot be gathered")
    gathered = {
        id: [renamed(spark, framed(spark, value, node, frame), "rid") for frame in frames]
        for id, value in rids.items()
    }
    every = [column for columns in gathered.values() for column in columns]
    wide = java_class(spark, f"{LOGICAL}.Window")(
        seq(spark, items(node.windowExpressions()) + every),
        node.partitionSpec(),
        node.orderSpec(),
        node.child(),
        node.hint(),
    )
    own = not any(map(has_current, frames))
    added = {}
    for id, columns in gathered.items():
        arrays = [column.toAttribute() for column in columns]
        added[id] = renamed(spark, united(spark, rids[id], arrays, own=own), "rid")
    columns = items(node.output()) + list(added.values())
    return Wide(project(spark, columns, wide), _attributes(added) | _renewed(node, handed))


def _union(widener: Widener, place: int, node: Any, inputs: list[dict[int, Any]]) -> Wide:
    """A column of one input is null in the rows of the others."""
    spark = widener.tree.spark
    first: dict[int, Any] = {}
    for offered in inputs:
        first = offered | first
    ids = sorted(first)
    children = []
    for below, child, offered in zip(
        widener.tree.inputs[place], items(node.children()), inputs, strict=True
    ):
        own = items(widener.tree.nodes[below].output())
        added = [
            renamed(spark, offered[id] if id in offered else null(spark, first[id]), f"w{id}")
            for id in ids
        ]
        children.append(project(spark, own + added, child))
    union = with_children(spark, node, children)
    offered_now = items(union.output())
    return Wide(union, dict(zip(ids, offered_now[len(offered_now) - len(ids) :], strict=True)))


def _expand(widener: Widener, _: int, node: Any, inputs: list[dict[int, Any]]) -> Wide:
    spark, values = widener.tree.spark, list(inputs[0].values())
    added = _attributes({id: renamed(spark, a, a.name()) for id, a in inputs[0].items()})
    lists = [seq(spark, items(row) + values) for row in items(node.projections())]
    columns = seq(spark, items(node.output()) + list(added.values()))
    expand = java_class(spark, f"{LOGICAL}.Expand")(seq(spark, lists), columns, node.child())
    return Wide(expand, added)


def _generate(widener: Widener, place: int, node: Any, inputs: list[dict[int, Any]]) -> Wide:
    # It names the columns it drops by number: its input's own come first, as they did.
    spark, (below,) = widener.tree.spark, widener.tree.inputs[place]
    added = {id: renamed(spark, a, a.name()) for id, a in inputs[0].items()}
    own = items(widener.tree.nodes[below].output())
    copied = project(spark, own + list(added.values()), node.child())
    return Wide(with_children(spark, node, [copied]), _attributes(added))


_RULES: dict[str, Rule] = {
    "Project": _project,
    "Aggregate": _aggregate,
    "Union": _union,
    "Expand": _expand,
    "Generate": _generate,
    "LogicalRelation": _relation,
    "Window": _window,
}
"""How operators are widened that do not hand on all they are given."""


def with_children(spark: SparkSession, node: Any, children: list[Any]) -> Any:
    """Return a Java plan node over other children."""
    return node.withNewChildren(seq(spark, children))


def project(spark: SparkSession, expressions: list[Any], child: Any) -> Any:
    """Return a Java `Project`."""
    return java_class(spark, f"{LOGICAL}.Project")(seq(spark, expressions), child)


def renamed(spark: SparkSession, expression: Any, name: str) -> Any:
    """Return a Java expression as a column of that name and no metadata, with a new attribute."""
    new = scala_object(spark, f"{EXPRESSIONS}.NamedExpression").newExprId()
    empty = java_class(spark, "org.apache.spark.sql.types.Metadata").empty()
    return alias(spark, expression, name, new, seq(spark, []), empty)


def alias(
    spark: SparkSession, expression: Any, name: str, id: Any, qualifier: Any, metadata: Any
) -> Any:
    """Return a Java `Alias`."""
    return java_class(spark, f"{EXPRESSIONS}.Alias")(
        expression, name, id, qualifier, some(spark, metadata), seq(spark, [])
    )


def _attributes(columns: dict[int, Any]) -> dict[int, Any]:
    return {id: column.toAttribute() for id, column in columns.items()}


def _renewed(node: Any, extra: dict[int, Any]) -> dict[int, Any]:
    """Return attributes as `node` offers them: an outer join makes them nullable."""
    offered = {int(a.exprId().id()): a for a in items(node.output())}
    return {id: offered[int(attribute.exprId().id())] for id, attribute in extra.items()}


def null(spark: SparkSession, like: Any) -> Any:
    """Return a Java null of the type of another expression."""
    return java_class(spark, f"{EXPRESSIONS}.Literal")(None, like.dataType())


def _join_type(node: Any) -> str:
    name = str(node.joinType().toString())
    return "ExistenceJoin" if name.startswith("ExistenceJoin") else name
