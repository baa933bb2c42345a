"""Ties: whether the order of rows decides which of them a limit keeps, or a frame counts.

A limit over a sort keeps rows by their order. Where rows tie at its boundary, which of them it kept
is nobody's to know. Where none tie there, which the data shows but a plan cannot, a row is kept for
the values it is ordered by, and the limit is a filter on these values. Likewise, a frame that
counts rows is known where no two rows of a partition tie in the window's order.
"""

from __future__ import annotations

from lineage_core.plan.expr import (
    AggregateCall,
    Column,
    Compare,
    Comparison,
    Frame,
    FrameUnit,
    Literal,
    Unknown,
    WindowCall,
)
from lineage_core.plan.positions import counting
from lineage_core.plan.prune import prune
from lineage_core.plan.relation import (
    Aggregate,
    Filter,
    Limit,
    Named,
    Offset,
    Plan,
    Project,
    Sort,
    SortKey,
    Window,
    output,
)
from lineage_core.plan.traverse import column_ids, nodes
from lineage_core.plan.widen import widen

COUNT = 0
"""Id of the one column of a tie question."""

_RANK = 1 << 40
_COUNT = AggregateCall("count", (Literal(1, "integer"),), "long", False, None)


def decidable(plan: Plan) -> frozenset[int]:
    """Return the places of the operators of which it is known what they take if no rows tie."""
    return ordered_limits(plan) | counting(plan)


def numbering(plan: Plan) -> frozenset[int]:
    """Return the places of the windows that give the same values again if no rows tie."""
    windows = (node for node in nodes(plan) if isinstance(node, Window) and node.order)
    named = ((node.at, getattr(c.expr, "name", "")) for node in windows for c in node.columns)
    return frozenset(at for at, name in named if name in ("row_number", "ntile"))


def ordered_limits(plan: Plan) -> frozenset[int]:
    """Return the places of the limits and offsets whose rows stand in an order that is known."""
    found = (node for node in nodes(plan) if isinstance(node, Limit | Offset))
    return frozenset(node.at for node in found if _ordered(node)[1])


def as_filter(limit: Limit | Offset) -> Filter:
    """Return the filter that an ordered limit is if no rows tie at its boundary."""
    child, order = _ordered(limit)
    keys = tuple(key.expr for key in order)
    return Filter(limit.at, Unknown("kept", keys, "boolean", True), child)


def tie_question(plan: Plan, place: int) -> tuple[Plan, int]:
    """Return a plan that counts rows, and how many there are if none tie at `place`; else more.

    It counts the rows up to the boundary of a limit, or the order values of a window that several
    rows of a partition have.
    """
    asked = (n for n in nodes(plan) if isinstance(n, Limit | Offset | Window) and n.at == place)
    match next(asked):
        case Window() as window:
            return _tied_in(window), 0
        case limit:
            return _up_to(limit), limit.count


def _tied_in(window: Window) -> Plan:
    keys = (*window.partition, *(key.expr for key in window.order))
    groups = Aggregate(window.at, keys, (Named(_RANK, "rows", _COUNT, "long"),), window.child)
    several = Compare(Comparison.GT, Column(_RANK, "long"), Literal(1, "long"))
    return _total(Filter(window.at, several, groups))


def _up_to(limit: Limit | Offset) -> Plan:
    child, keys = _ordered(limit)
    rank = WindowCall("rank", (), "integer", Frame(FrameUnit.ROWS, None, Literal(0, "integer")))
    ranked = Window(limit.at, (), keys, (Named(_RANK, "rank", rank, "integer"),), child)
    within = Compare(
        Comparison.LE, Column(_RANK, "integer"), Literal(limit.count, "integer")
    )
    return _total(Filter(limit.at, within, ranked))


def _total(rows: Plan) -> Plan:
    total = Aggregate(rows.at, (), (Named(COUNT, "count", _COUNT, "long"),), rows)
    return prune(total, {COUNT})


def _ordered(limit: Limit | Offset) -> tuple[Plan, tuple[SortKey, ...]]:
    """Return the input of a limit, offering what its rows are ordered by, and that order.

    The order is empty where there is none, or none that the rows can show.
    """
    below: Plan = limit.child
    while isinstance(below, Project | Filter | Limit | Offset):
        below = below.child
    if not isinstance(below, Sort) or not below.everywhere:
        return limit.child, ()
    ids = {id for key in below.keys for id in column_ids(key.expr)}
    child = widen(limit.child, ids)
    return child, below.keys if ids <= {field.id for field in output(child)} else ()
