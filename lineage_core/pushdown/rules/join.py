"""Joins: on each side the rows that, with a partner or for want of one, made the output row.

What the predicate says about a side goes to that side. So does the join condition: where the
predicate binds a column of the other side to an anchor column (`r.k <=> a.k`), the anchor column
takes its place in the condition (`l.k = r.k` becomes `l.k = a.k`), which then holds for rows that
have a partner. If that covers the whole condition the result is precise; if not, partners cannot be
told, and the join's output has to be saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lineage_core.plan.expr import (
    FALSE,
    TRUE,
    Anchor,
    Column,
    Compare,
    Comparison,
    Expr,
    IsNull,
    conj,
    conjuncts,
    disj,
)
from lineage_core.plan.relation import Join, JoinKind, Plan, output
from lineage_core.plan.traverse import column_ids, evaluable, substitute
from lineage_core.pushdown.binding import bindings


def push_join(node: Join, predicate: Expr) -> tuple[tuple[Expr, ...], ...]:
    """Push to each side its own conjuncts, and the condition with the other side bound.

    A row without partner has nothing to do with the condition: a side whose rows are handed on
    without one gets it only with the way out that the other side of the anchor is null. An output
    row may then have no row of the other side; its part of the condition alone is tried first
    there, because what is known of a row that need not be there may not be needed at all.
    """
    kind = node.kind
    left = _side(node, node.left, predicate, kind.keeps_left, kind.keeps_right)
    right = _side(node, node.right, predicate, kind.keeps_right, kind.keeps_left)
    # What an anti join hands on has no partner: nothing on the right is part of it.
    return (left, (FALSE, *right) if kind is JoinKind.LEFT_ANTI else right)


def _side(node: Join, side: Plan, predicate: Expr, alone: bool, optional: bool) -> tuple[Expr, ...]:
    """Return a side's candidates.

    Args:
        node: the join.
        side: its left or right input.
        predicate: on its output.
        alone: whether a row of this side is handed on without a partner, too.
        optional: whether an output row may have no row of this side.
    """
    parts, condition = conjuncts(predicate), conjuncts(node.condition)
    own = frozenset(field.id for field in output(side))
    said = bindings(parts)
    other = {id: anchor for id, anchor in said.items() if id not in own}
    partner = {id: e for id, e in _follow(said, condition).items() if id not in own}
    mine = _over(own, parts)
    linked = _over(own, (substitute(part, partner) for part in condition))
    if alone:
        carried = conj([*mine, *_over(own, (substitute(part, other) for part in parts))])
        absent = conj(IsNull(anchor) for anchor in other.values())
        or_absent = disj([conj(linked), absent])
        return (
            carried,
            conj([carried, or_absent]),
            conj(mine),
            disj([carried, conj(linked)]),  # keeps the other side's rows from becoming unmatched
            TRUE,
        )
    carried = _tight([*mine, *linked, *_over(own, (substitute(part, partner) for part in parts))])
    return (*((conj(linked),) if optional else ()), carried, conj(mine), TRUE)


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


def _follow(bound: Mapping[int, Expr], condition: tuple[Expr, ...]) -> dict[int, Expr]:
    """Return the columns bound in partners: also those the condition equates with bound ones."""
    followed = dict(bound)
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
        (to, followed[at])
        for first, second in pairs
        for at, to in ((first, second), (second, first))
        if at in followed and to not in followed
    ]:
        followed.update(new)
    return followed
