"""Positions: a frame that counts rows as a range of the rows' numbers in the window's order.

`rows between 2 preceding and current row` are the rows numbered from 2 less than the current one up
to it. No values of a row tell its number, but the number is one as soon as it is a column: then the
frame is a `RANGE` over it, of which everything is known. Where rows tie in the order, which of them
comes first is nobody's to know, so a plan is numbered only where none tie (`plan.ties`). No two
rows of a partition have one number, and a row is numbered for itself: those before it are not its
lineage.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from lineage_core.plan.expr import Column, Expr, Frame, FrameUnit, Literal, WindowCall
from lineage_core.plan.functions import POSITION, RANKINGS
from lineage_core.plan.relation import (
    Named,
    Plan,
    Project,
    SortKey,
    Window,
    output,
    with_children,
)
from lineage_core.plan.traverse import fold, nodes
from lineage_core.plan.unique import keys

_HERE = Literal(0, "integer")
_PEERS = Frame(FrameUnit.RANGE, _HERE, _HERE)
_FIRST_ID = 1 << 41


def counting(plan: Plan) -> frozenset[int]:
    """Return the places of the windows with an order, and with frames that count rows."""
    windows = (node for node in nodes(plan) if isinstance(node, Window) and node.order)
    return frozenset(
        node.at
        for node in windows
        if any(_counts(column.expr) for column in node.columns)
        and not any(_has_distance(column.expr) for column in node.columns)
    )


def tells_apart(plan: Plan, place: int) -> bool:
    """Whether the plan says that no rows tie in the order of its window at `place`.

    Rows that are equal in every column do tie: one of them may be in a frame, and not the other.
    """
    window = next(n for n in nodes(plan) if isinstance(n, Window) and n.at == place)
    exprs = (*window.partition, *(key.expr for key in window.order))
    ids = {expr.id for expr in exprs if isinstance(expr, Column)}
    return any(key <= ids for key in keys(window.child))


def numbered(plan: Plan, places: Collection[int]) -> Plan:
    """Return `plan` with the rows of the windows at `places` numbered, and their frames by number.

    The operators that number rows, and those that drop the numbers, have places after all others.
    """
    if not places:
        return plan
    first = 1 + max(node.at for node in nodes(plan))
    new = {at: first + 2 * i for i, at in enumerate(sorted(places))}

    def number(node: Plan, inputs: tuple[Plan, ...]) -> Plan:
        node = with_children(node, inputs)
        return _numbered(node, new[node.at]) if _is_at(node, places) else node

    return fold(plan, number)


def numberings(plan: Plan) -> frozenset[int]:
    """Return the places of the operators of `plan` that number rows."""
    return frozenset(node.at for node in nodes(plan) if numbers(node))


def is_number(id: int) -> bool:
    """Whether a column is one of the numbers that only numbered plans have."""
    return id >= _FIRST_ID


def numbers(node: Plan) -> bool:
    """Whether an operator numbers rows: a window made by `numbered`."""
    return isinstance(node, Window) and any(_is_position(column.expr) for column in node.columns)


def over_partitions(node: Plan) -> Plan:
    """Return an operator whose values are what they are made from: numbers, of whole partitions.

    As lineage, a number stands for its row alone; to find it, all rows before it have to be there.
    """
    if not isinstance(node, Window) or not numbers(node):
        return node
    whole = Frame(FrameUnit.RANGE, None, None)
    columns = tuple(
        replace(column, expr=replace(column.expr, frame=whole))
        if isinstance(column.expr, WindowCall)
        else column
        for column in node.columns
    )
    return replace(node, columns=columns)


def _numbered(node: Plan, new: int) -> Plan:
    assert isinstance(node, Window)
    # The partition is an argument, for a row's number depends on it, too.
    number = WindowCall(POSITION, node.partition, "integer", _PEERS)
    id = _FIRST_ID + node.at
    made = Named(id, POSITION, number, number.type)
    child = Window(new, node.partition, node.order, (made,), node.child)
    columns = tuple(replace(column, expr=_by_number(column.expr)) for column in node.columns)
    order = (SortKey(Column(id, number.type), ascending=True, nulls_first=True),)
    kept = tuple(Named(f.id, f.name, Column(f.id, f.type), f.type) for f in output(node))
    return Project(new + 1, kept, Window(node.at, node.partition, order, columns, child))


def _by_number(call: Expr) -> Expr:
    if not _counts(call):
        return call
    assert isinstance(call, WindowCall)
    return replace(call, frame=replace(call.frame, unit=FrameUnit.RANGE))


def _counts(call: Expr) -> bool:
    if not isinstance(call, WindowCall) or call.name in RANKINGS:
        return False
    frame = call.frame
    return frame.unit is FrameUnit.ROWS and (frame.lower, frame.upper) != (None, None)


def _has_distance(call: Expr) -> bool:
    """Whether a frame is of order values at a distance, which numbers do not have."""
    if not isinstance(call, WindowCall) or call.name in RANKINGS:
        return False
    bounds = (bound for bound in (call.frame.lower, call.frame.upper) if bound is not None)
    return call.frame.unit is FrameUnit.RANGE and any(bound.value != 0 for bound in bounds)


def _is_at(node: Plan, places: Collection[int]) -> bool:
    return isinstance(node, Window) and node.at in places


def _is_position(call: Expr) -> bool:
    return isinstance(call, WindowCall) and call.name == POSITION
