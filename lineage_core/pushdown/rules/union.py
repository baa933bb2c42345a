"""Union: the same row, of whichever input it is."""

from __future__ import annotations

from lineage_core.plan.expr import TRUE, Column, Expr, Literal, conj, conjuncts
from lineage_core.plan.relation import Plan, Union, output
from lineage_core.plan.traverse import evaluable, substitute


def push_union(node: Union, predicate: Expr) -> tuple[tuple[Expr, ...], ...]:
    """Name each input's own columns in the predicate, or null where it has none."""
    return tuple(
        (_renamed(node, child, taken, predicate), TRUE)
        for child, taken in zip(node.inputs, node.taken, strict=True)
    )


def _renamed(node: Union, child: Plan, taken: tuple[int | None, ...], predicate: Expr) -> Expr:
    types = {field.id: field.type for field in output(child)}
    names: dict[int, Expr] = {
        field.id: Literal(None, field.type) if id is None else Column(id, types[id])
        for field, id in zip(node.columns, taken, strict=True)
    }
    pushed = (substitute(part, names) for part in conjuncts(predicate))
    return conj(part for part in pushed if evaluable(part))
