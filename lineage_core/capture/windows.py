"""Window operators: one `WindowCall` per column, with the frame that its function looks at.

The bound of a frame over dates or timestamps is a `Literal` of Spark's interval type: months for
`interval year`, `interval month` and what lies between, microseconds for the other ones. It is an
integer, of days, where days were given for dates. The current row is the integer zero.
"""

from __future__ import annotations

from dataclasses import replace

from lineage_core.capture.expressions import by_bytes
from lineage_core.capture.met import class_name, size
from lineage_core.capture.node import Node, Tree
from lineage_core.plan.expr import (
    AggregateCall,
    Frame,
    FrameUnit,
    Literal,
    Unknown,
    WindowCall,
)
from lineage_core.plan.relation import Named, Plan, Window

_ORDERED = frozenset({"rank", "dense_rank", "percent_rank"})
"""Functions that Catalyst gives the order of the window as arguments."""

_SHIFTS = frozenset({"lag", "lead"})

_ROW = Literal(0, "integer")
_UNBOUNDED = Literal(None, "void")


def read_window(node: Node) -> Plan | None:
    """Read Catalyst's `Window`."""
    trees = node.tree["windowExpressions"]
    columns = []
    for number, tree in enumerate(trees):
        call = _call(node, tree, number)
        if call is None:
            return node.opaque("the bounds of a window frame have no IR form")
        id = node.id(tree[0]["exprId"]["id"], call)
        columns.append(Named(id, tree[0]["name"], call, call.type))
    partition = node.tree["partitionSpec"]
    keys = tuple(by_bytes(node.expression(tree, i)) for i, tree in enumerate(partition, len(trees)))
    order = node.order(node.tree["orderSpec"], len(trees) + len(partition))
    order = tuple(replace(key, expr=by_bytes(key.expr)) for key in order)
    return Window(node.at, keys, order, tuple(columns), node.children[0])


def _call(node: Node, tree: list[Tree], number: int) -> WindowCall | None:
    """Read `Alias(WindowExpression(function, WindowSpecDefinition(...)))`."""
    if [class_name(t) for t in tree[:2]] != ["Alias", "WindowExpression"]:
        return None
    end = 2 + size(tree, 2)
    frame = _frame(node, tree[end:], number)
    if frame is None:
        return None
    function = node.expression(tree[2:end], number, "child", "windowFunction")
    ignores = _ignores_nulls(tree[2:end])
    match function:
        case AggregateCall():
            name, type = function.name, function.type
            args = function.args[:1] if ignores else function.args
            return WindowCall(name, args, type, frame, function.distinct, function.filter, ignores)
        case Unknown(name, args, type):
            if name in _SHIFTS and ignores:
                frame = _beyond(frame)
            args = () if name in _ORDERED else args
            return WindowCall(name, args, type, frame, ignore_nulls=ignores)
    return None


def _ignores_nulls(tree: list[Tree]) -> bool:
    return any(t.get("ignoreNulls") is True for t in tree[:2])


def _beyond(frame: Frame) -> Frame:
    """Where nulls do not count, the row may lie anywhere on that side of the current one."""
    match frame.lower:
        case Literal(int(offset)) if offset < 0:
            return Frame(frame.unit, None, Literal(-1, "integer"))
        case Literal(int(offset)) if offset > 0:
            return Frame(frame.unit, Literal(1, "integer"), None)
    return frame


def _frame(node: Node, spec: list[Tree], number: int) -> Frame | None:
    at = _last(spec, "SpecifiedWindowFrame")
    if at is None:
        return None
    middle = at + 1 + size(spec, at + 1)
    lower = _bound(node, spec[at + 1 : middle], number, "lower")
    upper = _bound(node, spec[middle:], number, "upper")
    if lower is None or upper is None:
        return None
    rows = class_name({"class": spec[at]["frameType"]["object"]}) == "RowFrame"
    unit = FrameUnit.ROWS if rows else FrameUnit.RANGE
    return Frame(unit, *(None if bound is _UNBOUNDED else bound for bound in (lower, upper)))


def _last(tree: list[Tree], name: str) -> int | None:
    return max((i for i, node in enumerate(tree) if class_name(node) == name), default=None)


def _bound(node: Node, tree: list[Tree], number: int, side: str) -> Literal | None:
    match class_name(tree[0]):
        case "UnboundedPreceding" | "UnboundedFollowing":
            return _UNBOUNDED
        case "CurrentRow":
            return _ROW
    path = ("child", "windowSpec", "frameSpecification", side)
    bound = node.expression(tree, number, *path)
    return bound if isinstance(bound, Literal) and bound.value is not None else None
