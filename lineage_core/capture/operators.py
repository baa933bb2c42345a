"""How each Catalyst operator becomes IR; one that is not listed here is `Opaque`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lineage_core.capture.expressions import by_bytes
from lineage_core.capture.generators import read_generate
from lineage_core.capture.met import class_name
from lineage_core.capture.node import Node, Tree
from lineage_core.capture.subqueries import Free, attach
from lineage_core.capture.windows import read_window
from lineage_core.execute.jvm import items
from lineage_core.plan.expr import TRUE, Column, Expr, Literal, Unknown
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Field,
    Filter,
    Join,
    JoinKind,
    Limit,
    Offset,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    Union,
    Values,
    output,
)
from lineage_core.plan.traverse import column_ids

_SUBQUERY = "its subquery has no IR form"


def read_node(node: Node) -> Plan:
    """Return the operator as IR."""
    if not node.children:
        return _leaf(node)
    found = _subqueries(node.tree)
    if any(class_name(tree) != "ScalarSubquery" or tree["num-children"] for tree in found):
        return _with_all_subqueries(node)
    rule = _RULES.get(node.name)
    plan = (rule and rule(node)) or node.opaque(_WHY.get(node.name, "it has no IR form yet"))
    if isinstance(plan, Opaque) and found:
        return _with_all_subqueries(node)
    free = Free(lambda: node.reading.places(1), node.reading.numbers)
    return attach(plan, node.subqueries.values(), free) or _with_all_subqueries(node)


def _with_all_subqueries(node: Node) -> Opaque:
    plans = tuple(node.reading.read(java) for java in items(node.java.subqueries()))
    return Opaque(node.at, node.name, _SUBQUERY, node.output(), node.children + plans)


def _subqueries(tree: Tree) -> list[Tree]:
    """Return the expressions of an operator that hold the plan of a subquery."""
    found = []
    stack: list[Any] = [value for key, value in tree.items() if key != "output"]
    while stack:
        match stack.pop():
            case {"class": str(name)} as node:
                if name.endswith(("Subquery", ".Exists", ".ListQuery")):
                    found.append(node)
                else:
                    stack.extend(value for value in node.values() if isinstance(value, list))
            case list() as values:
                stack.extend(values)
    return found


def _leaf(node: Node) -> Plan:
    if node.name in ("LocalRelation", "Range", "OneRowRelation", "EmptyRelation"):
        return Values(node.at, node.output())
    number, source = node.reading.source(node.java, node.name)
    columns = node.output()
    scan = Scan(node.at, number, source.dataset, columns)
    if any(column.name == "_metadata" and column.type.startswith("{") for column in columns):
        return Opaque(node.at, "Scan", "it reads file metadata", columns, (scan,))
    return scan


def _filter(node: Node) -> Plan | None:
    return Filter(node.at, node.expression(node.tree["condition"], 0), node.children[0])


def _project(node: Node) -> Plan | None:
    return Project(node.at, node.named(node.tree["projectList"], 0), node.children[0])


_JOINS = {
    "Inner": JoinKind.INNER,
    "Cross": JoinKind.INNER,
    "LeftOuter": JoinKind.LEFT_OUTER,
    "LeftSingle": JoinKind.LEFT_OUTER,  # fails where a row has several partners
    "RightOuter": JoinKind.RIGHT_OUTER,
    "FullOuter": JoinKind.FULL_OUTER,
    "LeftSemi": JoinKind.LEFT_SEMI,
    "LeftAnti": JoinKind.LEFT_ANTI,
    "ExistenceJoin": JoinKind.EXISTENCE,
}


def _join(node: Node) -> Plan | None:
    join = node.tree["joinType"]
    name = class_name({"class": join.get("object") or join.get("product-class")})
    if name not in _JOINS:
        return node.opaque("this kind of join has no IR form yet", name=f"{name} join")
    tree = node.tree.get("condition")
    condition = node.expression(tree, 0) if tree else TRUE
    left, right = node.children
    of_left, of_right = node.offered
    if column_ids(condition) & {of_left[e] for e in of_left.keys() & of_right.keys()}:
        return node.opaque("its condition does not tell its sides apart", name=f"{name} join")
    exists = node.made([join["exists"]])[0] if "exists" in join else None
    return Join(node.at, _JOINS[name], condition, left, right, exists)


def _union(node: Node) -> Plan | None:
    inputs = [output(child) for child in node.children]
    if len({len(fields) for fields in inputs}) > 1:
        return None
    expr_ids = node.reading.expr_ids
    columns = tuple(Field(node.reading.column(expr_ids[f.id]), f.name, f.type) for f in inputs[0])
    taken = tuple(tuple(field.id for field in fields) for fields in inputs)
    return Union(node.at, columns, taken, node.children)


def _aggregate(node: Node) -> Plan | None:
    keys = node.tree["groupingExpressions"]
    read_keys = tuple(by_bytes(node.expression(tree, i)) for i, tree in enumerate(keys))
    columns = node.named(node.tree["aggregateExpressions"], len(keys))
    return Aggregate(node.at, read_keys, columns, node.children[0])


def _expand(node: Node) -> Plan | None:
    columns = node.tree["output"]
    projections = tuple(
        tuple(
            node.expression(tree, row * len(columns) + i)  # expressions are listed row by row
            for i, tree in enumerate(trees)
        )
        for row, trees in enumerate(node.tree["projections"])
    )
    values = zip(*projections, strict=True)
    fields = tuple(map(_expanded, [node] * len(columns), columns, values))
    return Expand(node.at, projections, fields, node.children[0])


def _expanded(node: Node, attribute: list[Tree], values: tuple[Expr, ...]) -> Field:
    """Return a column of an `Expand`: the input's own if every row has it unchanged."""
    (field,) = node.handed_on([attribute])
    unchanged = all(isinstance(value, Column) and value.id == field.id for value in values)
    if unchanged or attribute[0]["exprId"]["id"] not in node.scope.ids:
        return field
    return node.made([attribute])[0]


def _sort(node: Node) -> Plan | None:
    keys = node.order(node.tree["order"], 0)
    return Sort(node.at, keys, bool(node.tree["global"]), node.children[0])


def _global_limit(node: Node) -> Plan | None:
    rows = _count(node, "limitExpr")
    return None if rows is None else Limit(node.at, rows, node.children[0])


def _local_limit(node: Node) -> Plan | None:
    # Below a global limit of the same number it is only the first half of the same operator.
    above = node.above
    same = above.get("limitExpr") == node.tree["limitExpr"]
    return node.children[0] if same and class_name(above) == "GlobalLimit" else None


def _offset(node: Node) -> Plan | None:
    rows = _count(node, "offsetExpr")
    return None if rows is None else Offset(node.at, rows, node.children[0])


def _count(node: Node, name: str) -> int | None:
    match node.expression(node.tree[name], 0):
        case Literal(int(rows)):
            return rows
    return None


def _sample(node: Node) -> Plan | None:
    # With replacement, a row may also come several times: its lineage is the same.
    return Filter(node.at, Unknown("sample", (), "boolean", False), node.children[0])


def _transparent(node: Node) -> Plan | None:
    return node.children[0]


_RULES: Mapping[str, Callable[[Node], Plan | None]] = {
    "Filter": _filter,
    "Project": _project,
    "Join": _join,
    "Union": _union,
    "Aggregate": _aggregate,
    "Expand": _expand,
    "Generate": read_generate,
    "Window": read_window,
    "Sort": _sort,
    "GlobalLimit": _global_limit,
    "LocalLimit": _local_limit,
    "Offset": _offset,
    "Sample": _sample,
    # these move rows between tasks, or only say something about their input
    "CollectMetrics": _transparent,
    "EventTimeWatermark": _transparent,
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
    "LocalLimit": "it limits each partition for itself",
}
