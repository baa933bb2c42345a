"""Project: the row whose computed columns have the values asked for."""

from __future__ import annotations

from lineage_core.plan.expr import TRUE, Expr, conj, conjuncts
from lineage_core.plan.relation import Project
from lineage_core.plan.traverse import evaluable, substitute


def push_project(node: Project, predicate: Expr) -> tuple[tuple[Expr, ...]]:
    """Put each column's expression in its place; drop what cannot be computed again."""
    definitions = {column.id: column.expr for column in node.columns}
    pushed = (substitute(part, definitions) for part in conjuncts(predicate))
    return ((conj(part for part in pushed if evaluable(part)), TRUE),)
