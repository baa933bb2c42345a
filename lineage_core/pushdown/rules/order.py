"""Sort, limit and offset: the rows themselves; they hand them on, all or some of them."""

from __future__ import annotations

from lineage_core.plan.expr import TRUE, Expr
from lineage_core.plan.relation import Limit, Offset, Sort


def push_order(node: Sort | Limit | Offset, predicate: Expr) -> tuple[tuple[Expr, ...]]:
    """Hand the predicate on as it is.

    For a limit or an offset that is only precise where the predicate binds a key of the rows:
    another row satisfying it may have been cut off. The prover tells the two apart.
    """
    return ((predicate, TRUE),)
