"""Generate: the row that rows were made of, by the columns that were kept."""

from __future__ import annotations

from lineage_core.plan.expr import TRUE, Expr, conj, conjuncts
from lineage_core.plan.relation import Generate
from lineage_core.plan.traverse import column_ids, evaluable


def push_generate(node: Generate, predicate: Expr) -> tuple[tuple[Expr, ...]]:
    """Keep the conjuncts over kept columns; drop those over generated ones.

    Dropping is precise where the remaining ones fix what is generated from, or the row itself: the
    target row exists, so the generated values asked for are among those.
    """
    made = {field.id for field in node.generated}
    parts = conjuncts(predicate)
    return ((conj(p for p in parts if evaluable(p) and not column_ids(p) & made), TRUE),)
