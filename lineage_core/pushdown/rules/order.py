"""Sort and limit: the rows themselves; they hand them on, all or the first ones."""

from __future__ import annotations

from lineage_core.plan.expr import TRUE, Expr
from lineage_core.plan.relation import Limit, Sort


def push_order(node: Sort | Limit, predicate: Expr) -> tuple[tuple[Expr, ...]]:
    """Hand the predicate on as it is.

    For a limit that is only precise where the predicate binds a key of the rows: another row
    satisfying it may have been cut off. The prover tells the two apart.
    """
    return ((predicate, TRUE),)
