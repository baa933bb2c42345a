"""Aggregate: the whole group (PredTrace Table 2), named by the grouping values."""

from __future__ import annotations

from lineage_core.plan.expr import TRUE, AggregateCall, Column, Expr, conj, conjuncts
from lineage_core.plan.relation import Aggregate
from lineage_core.plan.traverse import evaluable, substitute, walk


def push_aggregate(node: Aggregate, predicate: Expr) -> tuple[tuple[Expr, ...]]:
    """Keep the conjuncts over grouping values; drop those over aggregated ones.

    Dropping is precise where the remaining ones fix the group: the target row exists, so its group
    is the one that has the aggregated values asked for.
    """
    grouped = {column.id: column.expr for column in node.columns if _is_grouped(column.expr)}
    kept = [
        substitute(part, grouped)
        for part in conjuncts(predicate)
        if all(e.id in grouped for e in walk(part) if isinstance(e, Column))
    ]
    return ((conj(part for part in kept if evaluable(part)), TRUE),)


def _is_grouped(expr: Expr) -> bool:
    return not any(isinstance(e, AggregateCall) for e in walk(expr))
