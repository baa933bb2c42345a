"""Window: the row itself, and the rows its frames look at.

The predicate binds the columns that the partition and the order are made of to the anchor
(`x.p <=> a.p`). A row is then in the partition when its partition values are the anchor's, and in a
frame of order values when it stands to the anchor's in the sort order as the frame says. A frame
that counts rows cannot be told from values; the smallest frame of order values around it can. It is
as good where the order leaves no ties and the frame is open to one side.
"""

from __future__ import annotations

from collections.abc import Sequence

from lineage_core.plan.expr import (
    TRUE,
    Call,
    Compare,
    Comparison,
    Expr,
    Frame,
    FrameUnit,
    IsNull,
    Literal,
    Not,
    WindowCall,
    conj,
    conjuncts,
    data_type,
    disj,
    same,
)
from lineage_core.plan.relation import SortKey, Window
from lineage_core.plan.traverse import column_ids, evaluable, substitute
from lineage_core.pushdown.binding import bindings

_WHOLE = Frame(FrameUnit.RANGE, None, None)
_HERE = Literal(0, "integer")
_SO_FAR = Frame(FrameUnit.RANGE, None, _HERE)
_INTEGERS = frozenset({"byte", "short", "integer", "long"})
_RANKS = frozenset({"row_number", "rank", "dense_rank"})
_SHARES = frozenset({"percent_rank", "cume_dist", "ntile"})


def push_window(node: Window, predicate: Expr) -> tuple[tuple[Expr, ...]]:
    """Ask for the row and its frames; else for the partition; else for what is known of that."""
    parts = conjuncts(predicate)
    bound = bindings(parts)
    partition = _partition(node, bound)
    made = {column.id for column in node.columns}
    own = conj(p for p in parts if evaluable(p) and not column_ids(p) & made)
    frames = dict.fromkeys(_by_values(c.expr, node.order) for c in node.columns)
    seen = [_inside(frame, node.order, bound) for frame in frames]
    if any(has_current(frame) for frame in frames):
        return ((conj([partition, disj(seen)]), partition, TRUE),)
    return ((disj([own, conj([partition, disj(seen)])]), disj([own, partition]), TRUE),)


def frames_by_values(node: Window) -> frozenset[Frame]:
    """Return the frames of order values whose rows are in the lineage of a row of a window."""
    return frozenset(_by_values(column.expr, node.order) for column in node.columns)


def has_current(frame: Frame) -> bool:
    """Whether a row is in its own frame."""
    return _sign(frame.lower, -1) <= 0 <= _sign(frame.upper, 1)


def _partition(node: Window, bound: dict[int, Expr]) -> Expr:
    """Return that a row is in the anchor's partition, as far as the anchor tells."""
    at_anchor = [(key, substitute(key, bound)) for key in node.partition]
    return conj(
        same(key, value) for key, value in at_anchor if not column_ids(value) and evaluable(key)
    )


def _by_values(call: Expr, order: Sequence[SortKey]) -> Frame:
    """Return the smallest frame of order values that holds the frame of `call`, whatever the ties.

    Rows with equal order values stand in any order, and ranks say how many there are before.
    """
    assert isinstance(call, WindowCall)
    if call.name in _RANKS:
        return _SO_FAR
    if call.name in _SHARES:
        return _WHOLE
    lower, upper = call.frame.lower, call.frame.upper
    if call.frame.unit is FrameUnit.RANGE:
        return Frame(FrameUnit.RANGE, *(_computable(b, order) for b in (lower, upper)))
    return Frame(
        FrameUnit.RANGE,
        _HERE if _sign(lower, -1) >= 0 else None,
        _HERE if _sign(upper, 1) <= 0 else None,
    )


def _computable(bound: Literal | None, order: Sequence[SortKey]) -> Literal | None:
    """Return a bound that every engine steps to as Spark does: no fractions, no intervals."""
    if bound is None or bound.value == 0:
        return bound and _HERE
    stepped = bound.type in _INTEGERS and data_type(order[0].expr) in (*_INTEGERS, "date")
    return bound if stepped else None


def _sign(bound: Literal | None, unbounded: int) -> int:
    if bound is None:
        return unbounded
    assert isinstance(bound.value, int)
    return (bound.value > 0) - (bound.value < 0)


def _inside(frame: Frame, order: Sequence[SortKey], bound: dict[int, Expr]) -> Expr:
    """Return that a row of the partition is in the anchor's frame, as far as the anchor tells."""
    anchors = [substitute(key.expr, bound) for key in order]
    if any(column_ids(a) or not evaluable(a) for a in anchors):
        return TRUE
    lower = TRUE if frame.lower is None else _not_before(frame.lower, order, anchors)
    upper = TRUE if frame.upper is None else _not_after(frame.upper, order, anchors)
    return conj([lower, upper])


def _not_before(bound: Literal, order: Sequence[SortKey], anchors: Sequence[Expr]) -> Expr:
    turned = [SortKey(key.expr, not key.ascending, not key.nulls_first) for key in order]
    if _sign(bound, 0) == 0:
        return _up_to(turned, anchors)
    (key,), (anchor,) = order, anchors
    return _up_to(turned, [_moved(anchor, bound, key.ascending)])


def _not_after(bound: Literal, order: Sequence[SortKey], anchors: Sequence[Expr]) -> Expr:
    if _sign(bound, 0) == 0:
        return _up_to(order, anchors)
    (key,), (anchor,) = order, anchors
    return _up_to(order, [_moved(anchor, bound, key.ascending)])


def _up_to(order: Sequence[SortKey], values: Sequence[Expr]) -> Expr:
    """Return that a row stands at or before these values in the sort order."""
    ways: list[Expr] = []
    equal: list[Expr] = []
    for key, value in zip(order, values, strict=True):
        ways.append(conj([*equal, _before(key, value)]))
        equal.append(same(key.expr, value))
    return disj([*ways, conj(equal)])


def _before(key: SortKey, value: Expr) -> Expr:
    less = Compare(Comparison.LT if key.ascending else Comparison.GT, key.expr, value)
    first, later = (key.expr, value) if key.nulls_first else (value, key.expr)
    return disj([less, conj([IsNull(first), Not(IsNull(later))])])


def _moved(value: Expr, distance: Literal, ascending: bool) -> Expr:
    """Return the order value at a distance, in the direction of the sort order, as Spark does."""
    dates = data_type(value) == "date"
    name = ("date_add" if dates else "add") if ascending else ("date_sub" if dates else "subtract")
    return Call(name, (value, distance), data_type(value))
