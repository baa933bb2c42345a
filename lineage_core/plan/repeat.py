"""Whether a plan can be computed again, and gives the same rows when it is."""

from __future__ import annotations

from lineage_core.plan.expr import AggregateCall, Expr, Unknown, data_type
from lineage_core.plan.relation import (
    Aggregate,
    Filter,
    Join,
    Limit,
    Offset,
    Opaque,
    Plan,
    Project,
    Values,
)
from lineage_core.plan.traverse import nodes, walk

_ORDERLESS = frozenset({"count", "max", "min"})
"""Aggregate functions of which the order of rows makes no difference, whatever the type."""


def unrepeatable(plan: Plan) -> str:
    """Return why computing `plan` twice may give different rows; empty if it cannot."""
    for node in nodes(plan):
        if any(_is_random(expr) for expr in _expressions(node)):
            return f"operator {node.at} is not deterministic"
        if isinstance(node, Aggregate) and any(_depends_on_order(c.expr) for c in node.columns):
            return f"operator {node.at} aggregates in no fixed order"
        if isinstance(node, Limit | Offset):  # even sorted: which of tying rows it takes is open
            return f"operator {node.at} takes any rows"
        if isinstance(node, Opaque) and node.name in ("Sample", "LocalLimit"):
            return f"operator {node.at} takes any rows"
    return ""


def uncomputable(plan: Plan) -> str:
    """Return why the IR does not say how to compute `plan`; empty if it does."""
    for node in nodes(plan):
        if isinstance(node, Opaque | Values):
            return f"operator {node.at} has no form to compute it by"
        if any(isinstance(e, Unknown) for expr in _expressions(node) for e in walk(expr)):
            return f"operator {node.at} uses a function that only Spark has"
    return ""


def _depends_on_order(expr: Expr) -> bool:
    """Whether an aggregate may change with the order of its rows, as sums of floats do."""
    calls = (e for e in walk(expr) if isinstance(e, AggregateCall))
    return any(
        call.name not in _ORDERLESS
        and (call.name not in ("sum", "avg") or any(map(_is_float, call.args)))
        for call in calls
    )


def _is_float(expr: Expr) -> bool:
    return data_type(expr) in ("float", "double")


def _is_random(expr: Expr) -> bool:
    return any(isinstance(e, Unknown) and not e.deterministic for e in walk(expr))


def _expressions(plan: Plan) -> list[Expr]:
    match plan:
        case Filter() | Join():
            return [plan.condition]
        case Project():
            return [column.expr for column in plan.columns]
        case Aggregate():
            return [*plan.keys, *(column.expr for column in plan.columns)]
        case _:
            return []
