"""Which columns a predicate binds to the anchor row."""

from __future__ import annotations

from collections.abc import Iterable

from lineage_core.plan.expr import Anchor, Column, Compare, Comparison, Expr


def bindings(parts: Iterable[Expr]) -> dict[int, Expr]:
    """Return the anchor columns that conjuncts equate columns with, by column id."""
    bound: dict[int, Expr] = {}
    for part in parts:
        match part:
            case Compare(Comparison.EQ | Comparison.SAME, Column(id), Anchor() as anchor):
                bound.setdefault(id, anchor)
            case Compare(Comparison.EQ | Comparison.SAME, Anchor() as anchor, Column(id)):
                bound.setdefault(id, anchor)
            case _:
                pass
    return bound
