"""Ties: whether the order of rows decides which of them a limit keeps.

A limit over a sort keeps rows by their order. Where rows tie at its boundary, which of them it kept
is nobody's to know. Where none tie there, which the data shows but a plan cannot, a row is kept for
the values it is ordered by, and the limit is a filter on these values.
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
    """Return a plan that counts the rows up to the boundary of the limit at `place`, and its count.

    No rows tie at the boundary if no more are counted than the limit counts.
    """
    limit = next(n for n in nodes(plan) if isinstance(n, Limit | Offset) and n.at == place)
    child, keys = _ordered(limit)
    rank = WindowCall("rank", (), "integer", Frame(FrameUnit.ROWS, None, Literal(0, "integer")))
    ranked = Window(place, (), keys, (Named(_RANK, "rank", rank, "integer"),), child)
    within = Compare(
        Comparison.LE, Column(_RANK, "integer"), Literal(limit.count, "integer")
    )
    kept = Filter(place, within, ranked)
    count = AggregateCall("count", (Literal(1, "integer"),), "long", False, None)
    total = Aggregate(place, (), (Named(COUNT, "count", count, "long"),), kept)
    return prune(total, {COUNT}), limit.count


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
