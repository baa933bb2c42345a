"""Expand: the row of which some projection has the values asked for."""

from __future__ import annotations

from lineage_core.plan.expr import TRUE, Expr, conj, conjuncts, disj
from lineage_core.plan.relation import Expand
from lineage_core.plan.traverse import evaluable, substitute


def push_expand(node: Expand, predicate: Expr) -> tuple[tuple[Expr, ...]]:
    """Ask for any one of the projections; what they have in common is asked for once."""
    ways = [_through(node, projection, predicate) for projection in node.projections]
    common = [part for part in ways[0] if all(part in way for way in ways[1:])]
    rest = disj(conj(part for part in way if part not in common) for way in ways)
    return ((conj([*common, rest]), conj(common), TRUE),)


def _through(node: Expand, projection: tuple[Expr, ...], predicate: Expr) -> list[Expr]:
    values = {field.id: value for field, value in zip(node.columns, projection, strict=True)}
    pushed = (substitute(part, values) for part in conjuncts(predicate))
    return [part for part in pushed if evaluable(part)]
