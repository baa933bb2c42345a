"""Cuts: where the output of an operator is saved, and which of its columns (PredTrace 3.3, 5).

A saved row stands for the output row it is; the row-selection predicate over the saved columns goes
down in place of the predicate that was not precise. Saved are the columns that predicate compares,
and those the join conditions of the block below compare, one of each set of columns that the
conditions equate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lineage_core.infer.widen import hidden, joins, widen
from lineage_core.plan.expr import Anchor, Column, Compare, Comparison, Expr, conj, conjuncts, same
from lineage_core.plan.relation import (
    Field,
    Limit,
    Plan,
    output,
)
from lineage_core.plan.traverse import column_ids
from lineage_core.plan.types import is_comparable
from lineage_core.pushdown import Exact, Outcome, Prover, push


@dataclass(frozen=True, slots=True)
class Cut:
    """An operator whose output is saved, the columns of it, and what is pushed to each input."""

    node: Plan
    columns: tuple[Field, ...]
    outcomes: tuple[Outcome, ...]


def cut(node: Plan, predicate: Expr, prove: Prover, *, premise: bool) -> Cut | None:
    """Return how saving the output of `node` makes pushing exact; None where it does not.

    The rows a limit keeps are saved even where rows equal to them may have been cut off: what is
    left of the blur is those rows only.
    """
    keys = hidden(node)
    widened = widen(node, frozenset(keys))
    for columns in _choices(widened, predicate, keys):
        row = conj(same(Column(f.id, f.type), Anchor(f.id, f.type)) for f in columns)
        outcomes = push(widened, predicate, prove, row=row, premise=premise)
        if all(isinstance(outcome, Exact) for outcome in outcomes):
            return Cut(widened, columns, outcomes)
    tells_more = any(f.id not in column_ids(predicate) for f in columns)
    return Cut(widened, columns, outcomes) if isinstance(node, Limit) and tells_more else None


def _choices(node: Plan, predicate: Expr, keys: dict[int, Field]) -> Iterator[tuple[Field, ...]]:
    """Yield sets of columns to save, smallest first."""
    offered = tuple(f for f in output(node) if is_comparable(f.type))
    compared = column_ids(predicate)
    yield tuple(f for f in offered if f.id in compared | _representatives(node, compared, keys))
    yield tuple(f for f in offered if f.id in compared or f.id in keys)
    yield offered


def _representatives(node: Plan, compared: frozenset[int], keys: dict[int, Field]) -> set[int]:
    """Return one key of each set of equated keys, unless `compared` holds one of them."""
    group = {id: id for id in keys}

    def root(id: int) -> int:
        while group[id] != id:
            id = group[id]
        return id

    for left, right in _equated(node):
        if left in group and right in group:
            group[root(right)] = root(left)
    offered = [f.id for f in output(node) if f.id in group]
    chosen = {root(id) for id in offered if id in compared}
    result: set[int] = set()
    for id in offered:
        if root(id) not in chosen:
            chosen.add(root(id))
            result.add(id)
    return result


def _equated(top: Plan) -> Iterator[tuple[int, int]]:
    """Yield the pairs of columns that the join conditions of a block equate."""
    for join in joins(top):
        for part in conjuncts(join.condition):
            match part:
                case Compare(Comparison.EQ, Column() as a, Column() as b) if a.type == b.type:
                    yield a.id, b.id
                case _:
                    pass
