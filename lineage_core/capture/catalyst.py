"""An optimised Catalyst plan to the IR: known operators are mapped, all others become `Opaque`.

Catalyst's JSON lists the plan in pre-order; an operator's place in that list is its `at`. Plans of
subquery expressions, which are no children there, are numbered after it, outermost first. Column
ids are numbered by first appearance, so that equal queries give equal plans in every session. No
source is ever lost: an operator without IR form keeps all its inputs, those of its subqueries too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lineage_core.capture.expressions import (
    Columns,
    by_bytes,
    class_name,
    read,
)
from lineage_core.capture.literals import read_type
from lineage_core.capture.optimise import optimise
from lineage_core.capture.sources import Source, identify
from lineage_core.execute.jvm import LOGICAL, items, preorder, scala_object, seq
from lineage_core.plan.expr import TRUE, Expr, Literal, data_type
from lineage_core.plan.relation import (
    Aggregate,
    Field,
    Filter,
    Join,
    JoinKind,
    Limit,
    Named,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    Values,
)

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CapturedPlan:
    """A plan as read from Spark.

    Attributes:
        plan: the IR.
        sources: what the plan's source numbers stand for.
        leaves: source number and Java node of each scan, in the order of the plan.
        expr_ids: the Catalyst attribute id behind each IR column id.
        java: the optimised Catalyst plan; place `at` of it is `preorder(java)[at]`.
    """

    plan: Plan
    sources: tuple[Source, ...]
    leaves: tuple[tuple[int, Any], ...]
    expr_ids: dict[int, int]
    java: Any


def read_dataframe(df: DataFrame) -> CapturedPlan:
    """Return the plan of `df`, without running anything."""
    spark = df.sparkSession
    analyzed = df._jdf.queryExecution().commandExecuted()
    return read_plan(spark, optimise(spark, analyzed))


def read_plan(spark: SparkSession, optimised: Any) -> CapturedPlan:
    """Return the IR of the Java `LogicalPlan` that `optimise` gave."""
    shared = _Shared(spark)
    plan = _Reader(optimised, shared).plan()
    return CapturedPlan(
        plan, tuple(shared.sources), tuple(shared.leaves), shared.expr_ids, optimised
    )


@dataclass
class _Shared:
    """What a plan's reader and those of its subqueries number together."""

    spark: SparkSession
    next_at: int = 0
    numbers: Iterator[int] = field(default_factory=count)
    sources: dict[Source, int] = field(default_factory=dict)
    leaves: list[tuple[int, Any]] = field(default_factory=list)
    expr_ids: dict[int, int] = field(default_factory=dict)

    def source(self, leaf: Any) -> tuple[int, Source]:
        source = identify(leaf, len(self.sources))
        number = self.sources.setdefault(source, len(self.sources))
        self.leaves.append((number, leaf))
        return number, source


class _Reader:
    """Reads one Catalyst plan: the user's, or that of a subquery expression."""

    def __init__(self, java: Any, shared: _Shared) -> None:
        self.java = java
        self.shared = shared
        self.trees: list[Tree] = json.loads(java.toJSON())
        self.first = shared.next_at
        shared.next_at += len(self.trees)
        # Ids of a subquery's plan may repeat those of its outer plan; IR ids are unique.
        self.columns = Columns(shared.numbers)

    @cached_property
    def nodes(self) -> list[Any]:
        """The Java nodes, in the order of `trees`; most plans never need them."""
        return preorder(self.java)

    @cached_property
    def leaves(self) -> dict[int, Any]:
        """The Java leaf at each place that has no children."""
        places = [i for i, tree in enumerate(self.trees) if not tree["num-children"]]
        return dict(zip(places, items(self.java.collectLeaves()), strict=True))

    def plan(self) -> Plan:
        done: dict[int, Plan] = {}
        inputs = _inputs(self.trees)
        above = {place: self.trees[p] for p, below in enumerate(inputs) for place in below}
        for place in _postorder(inputs):
            children = tuple(done.pop(i) for i in inputs[place])
            node = _Node(self, place, self.trees[place], above.get(place, {}), children)
            done[place] = node.read()
        self.shared.expr_ids |= {id: expr_id for expr_id, id in self.columns.ids.items()}
        return done[0]


@dataclass(frozen=True)
class _Node:
    """One Catalyst operator with its inputs already read."""

    reader: _Reader
    place: int
    tree: Tree
    above: Tree
    children: tuple[Plan, ...]

    @property
    def at(self) -> int:
        return self.reader.first + self.place

    @property
    def name(self) -> str:
        return class_name(self.tree)

    @property
    def java(self) -> Any:
        leaves = self.reader.leaves
        return leaves[self.place] if self.place in leaves else self.reader.nodes[self.place]

    @cached_property
    def roots(self) -> list[Any]:
        """The operator's Java expressions, in the order of its JSON fields."""
        return items(self.java.expressions())

    def read(self) -> Plan:
        if self.children and _holds_subquery(self.tree):
            subqueries = tuple(
                _Reader(java, self.reader.shared).plan() for java in items(self.java.subqueries())
            )
            return self.opaque("it uses a scalar subquery", self.children + subqueries)
        if not self.tree["num-children"]:
            return _read_leaf(self)
        rule = _RULES.get(self.name)
        return (rule and rule(self)) or self.opaque(_WHY.get(self.name, "it has no IR form yet"))

    def opaque(self, why: str, children: tuple[Plan, ...] | None = None, name: str = "") -> Opaque:
        inputs = self.children if children is None else children
        return Opaque(self.at, name or self.name, why, self.output(), inputs)

    def output(self) -> tuple[Field, ...]:
        """Return the columns the operator offers."""
        if "output" in self.tree:
            return self.fields(self.tree["output"])
        # A relation without rows prints its output as JSON in one call.
        spark = self.reader.shared.spark
        relation = scala_object(spark, f"{LOGICAL}.LocalRelation").apply(
            self.java.output(), seq(spark, []), False, scala_object(spark, "scala.None")
        )
        return self.fields(json.loads(relation.toJSON())[0]["output"])

    def fields(self, attributes: list[list[Tree]]) -> tuple[Field, ...]:
        columns = self.reader.columns
        return tuple(
            Field(columns.id(a["exprId"]["id"]), a["name"], read_type(a["dataType"]))
            for (a,) in attributes
        )

    def expression(self, tree: list[Tree], number: int) -> Expr:
        """Return expression `number` of the operator, whose JSON is `tree`."""
        return read(tree, self.reader.columns, lambda: self.roots[number])

    def named(self, trees: list[list[Tree]], first: int) -> tuple[Named, ...]:
        """Return output columns; the JSON of the first is expression number `first`."""
        found = []
        for number, tree in enumerate(trees, first):
            expr = self.expression(tree, number)
            id = self.reader.columns.id(tree[0]["exprId"]["id"])
            found.append(Named(id, tree[0]["name"], expr, data_type(expr)))
        return tuple(found)


def _inputs(trees: list[Tree]) -> list[list[int]]:
    """Return the places of each operator's inputs, from the pre-order list."""
    inputs: list[list[int]] = [[] for _ in trees]
    open_: list[int] = []
    for place in range(len(trees)):
        while open_ and len(inputs[open_[-1]]) == trees[open_[-1]]["num-children"]:
            open_.pop()
        if open_:
            inputs[open_[-1]].append(place)
        open_.append(place)
    return inputs


def _postorder(inputs: list[list[int]]) -> list[int]:
    order = []
    stack = [0]
    while stack:
        place = stack.pop()
        order.append(place)
        stack.extend(inputs[place])
    return order[::-1]


def _holds_subquery(tree: Tree) -> bool:
    """Whether an expression of the operator holds the plan of a subquery."""
    stack: list[Any] = [value for key, value in tree.items() if key != "output"]
    while stack:
        match stack.pop():
            case {"class": str(name)} as node:
                if name.endswith(("Subquery", ".Exists", ".ListQuery")):
                    return True
                stack.extend(value for value in node.values() if isinstance(value, list))
            case list() as values:
                stack.extend(values)
    return False


def _read_leaf(node: _Node) -> Plan:
    if node.name in ("LocalRelation", "Range", "OneRowRelation", "EmptyRelation"):
        return Values(node.at, node.output())
    number, source = node.reader.shared.source(node.java)
    columns = node.output()
    scan = Scan(node.at, number, source.dataset, columns)
    if any(column.name == "_metadata" and column.type.startswith("{") for column in columns):
        return node.opaque("it reads file metadata", (scan,), "Scan")
    return scan


def _filter(node: _Node) -> Plan | None:
    return Filter(node.at, node.expression(node.tree["condition"], 0), node.children[0])


def _project(node: _Node) -> Plan | None:
    return Project(node.at, node.named(node.tree["projectList"], 0), node.children[0])


_JOINS = {"Inner": JoinKind.INNER, "Cross": JoinKind.INNER, "LeftSemi": JoinKind.LEFT_SEMI}


def _join(node: _Node) -> Plan | None:
    join = node.tree["joinType"]
    kind = class_name({"class": join.get("object") or join.get("product-class")})
    if kind not in _JOINS:
        return node.opaque("this kind of join has no IR form yet", name=f"{kind} join")
    tree = node.tree.get("condition")
    condition = node.expression(tree, 0) if tree else TRUE
    left, right = node.children
    return Join(node.at, _JOINS[kind], condition, left, right)


def _aggregate(node: _Node) -> Plan | None:
    keys = node.tree["groupingExpressions"]
    read_keys = tuple(by_bytes(node.expression(tree, i)) for i, tree in enumerate(keys))
    columns = node.named(node.tree["aggregateExpressions"], len(keys))
    return Aggregate(node.at, read_keys, columns, node.children[0])


def _sort(node: _Node) -> Plan | None:
    keys = tuple(
        SortKey(
            node.expression(tree, i),
            class_name({"class": tree[0]["direction"]["object"]}) == "Ascending",
            class_name({"class": tree[0]["nullOrdering"]["object"]}) == "NullsFirst",
        )
        for i, tree in enumerate(node.tree["order"])
    )
    return Sort(node.at, keys, bool(node.tree["global"]), node.children[0])


def _global_limit(node: _Node) -> Plan | None:
    count = node.expression(node.tree["limitExpr"], 0)
    match count:
        case Literal(int(rows)):
            return Limit(node.at, rows, node.children[0])
    return None


def _local_limit(node: _Node) -> Plan | None:
    # Below a global limit of the same number it is only the first half of the same operator.
    above = node.above
    same = above.get("limitExpr") == node.tree["limitExpr"]
    return node.children[0] if same and class_name(above) == "GlobalLimit" else None


def _transparent(node: _Node) -> Plan | None:
    return node.children[0]


_RULES: Mapping[str, Callable[[_Node], Plan | None]] = {
    "Filter": _filter,
    "Project": _project,
    "Join": _join,
    "Aggregate": _aggregate,
    "Sort": _sort,
    "GlobalLimit": _global_limit,
    "LocalLimit": _local_limit,
    # these move rows between tasks, or only say something about their input
    "Repartition": _transparent,
    "RepartitionByExpression": _transparent,
    "RebalancePartitions": _transparent,
    "ReturnAnswer": _transparent,
    "ResolvedHint": _transparent,
    "SubqueryAlias": _transparent,
    "View": _transparent,
}
"""How each Catalyst operator is read; a rule that answers None leaves it opaque."""

_WHY: Mapping[str, str] = {
    "ArrowEvalPython": "it calls a Python function",
    "BatchEvalPython": "it calls a Python function",
    "Expand": "several distinct aggregates or grouping sets have no IR form yet",
    "Generate": "generators have no IR form yet",
    "LocalLimit": "it limits each partition for itself",
    "Offset": "offsets have no IR form yet",
    "Sample": "samples have no IR form yet",
    "Union": "unions have no IR form yet",
    "Window": "window functions have no IR form yet",
}
