"""Filter: the same row, if it passes the filter's own condition."""

from __future__ import annotations

from lineage_core.plan.expr import TRUE, Expr, conj, conjuncts
from lineage_core.plan.relation import Filter
from lineage_core.plan.traverse import evaluable


def push_filter(node: Filter, predicate: Expr) -> tuple[tuple[Expr, ...]]:
    """Add the filter's conjuncts to the predicate, as far as they can be computed again."""
    condition = [part for part in conjuncts(node.condition) if evaluable(part)]
    return ((conj([predicate, *condition]), predicate, TRUE),)
