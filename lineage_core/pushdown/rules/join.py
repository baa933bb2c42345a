"""Inner and left semi join: on each side the rows that a partner on the other side makes part of
the answer.

What the predicate says about a side goes to that side. The join condition is carried over as well:
where the predicate binds a column of the other side to an anchor column (`r.k <=> a.k`), the anchor
column takes its place in the condition (`l.k = r.k` becomes `l.k = a.k`). If that covers the whole
condition the result is precise; if not, partners cannot be told, and the join's output has to be
saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lineage_core.plan.expr import TRUE, Anchor, Column, Compare, Comparison, Expr, conj, conjuncts
from lineage_core.plan.relation import Join, Plan, output
from lineage_core.plan.traverse import column_ids, evaluable, substitute


def push_join(node: Join, predicate: Expr) -> tuple[tuple[Expr, ...], ...]:
    """Push to each side its own conjuncts, and the condition with the other side bound."""
    parts, condition = conjuncts(predicate), conjuncts(node.condition)
    bound = _bindings(parts, condition)
    return tuple(_side(side, parts, condition, bound) for side in (node.left, node.right))


def _side(
    side: Plan, parts: tuple[Expr, ...], condition: tuple[Expr, ...], bound: Mapping[int, Expr]
) -> tuple[Expr, ...]:
    own = frozenset(field.id for field in output(side))
    other = {column: anchor for column, anchor in bound.items() if column not in own}
    mine = _over(own, parts)
    linked = _over(own, (substitute(part, other) for part in (*condition, *parts)))
    return (_tight([*mine, *linked]), conj(mine), TRUE)


def _over(columns: frozenset[int], parts: Iterable[Expr]) -> list[Expr]:
    """Return the parts that are about these columns and no others."""
    return [
        part for part in parts if (ids := column_ids(part)) and ids <= columns and evaluable(part)
    ]


def _tight(parts: list[Expr]) -> Expr:
    """Return the conjunction, with `x <=> a` left out where the stronger `x = a` is there too."""
    upright = [_column_first(part) for part in parts]
    equal = {(p.left, p.right) for p in upright if isinstance(p, Compare) and p.op is Comparison.EQ}
    return conj(
        part
        for part in upright
        if not (
            isinstance(part, Compare)
            and part.op is Comparison.SAME
            and (part.left, part.right) in equal
        )
    )


def _column_first(part: Expr) -> Expr:
    match part:
        case Compare(Comparison.EQ | Comparison.SAME as op, Anchor() as anchor, Column() as column):
            return Compare(op, column, anchor)
        case _:
            return part


def _bindings(parts: tuple[Expr, ...], condition: tuple[Expr, ...]) -> dict[int, Expr]:
    """Return the columns bound to the anchor, also by way of the condition's equalities."""
    bound: dict[int, Expr] = {}
    for part in parts:
        match part:
            case Compare(Comparison.EQ | Comparison.SAME, Column(id), Anchor() as anchor):
                bound.setdefault(id, anchor)
            case Compare(Comparison.EQ | Comparison.SAME, Anchor() as anchor, Column(id)):
                bound.setdefault(id, anchor)
            case _:
                pass
    pairs = [
        (part.left.id, part.right.id)
        for part in condition
        if isinstance(part, Compare)
        and part.op in (Comparison.EQ, Comparison.SAME)
        and isinstance(part.left, Column)
        and isinstance(part.right, Column)
        and part.left.type == part.right.type
    ]
    while new := [
        (to, bound[at])
        for first, second in pairs
        for at, to in ((first, second), (second, first))
        if at in bound and to not in bound
    ]:
        bound.update(new)
    return bound
