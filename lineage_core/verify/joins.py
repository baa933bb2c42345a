"""What joins do to symbolic tables: pairs, and rows that are handed on without a partner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lineage_core.plan.relation import Field, Join, JoinKind, output
from lineage_core.verify.symbols import Cell, Row, Symbols, boolean, no_value
from lineage_core.verify.tables import Output, Table, nothing, only, where
from lineage_core.verify.terms import Term, all_of, any_of, negation

_Partners = list[list[Term]]


def join(node: Join, left: Table, right: Table, symbols: Symbols) -> tuple[Output, ...]:
    """Return the output rows of a join of any kind.

    A pair comes from its two rows, a row without partner from itself. A semi join and an existence
    join look at all partners; an anti join finds none.
    """
    partners = [[_partners(node, a, b, len(right), symbols) for b in right] for a in left]
    if node.kind.pairs:
        return tuple(_paired(node, left, right, partners))
    return tuple(_lefts(node, left, right, partners))


def _partners(node: Join, a: Row, b: Row, width: int, symbols: Symbols) -> Term:
    pair = _pair(a, b, width)
    return all_of(pair.exists, symbols.holds(node.condition, pair, {}))


def _pair(a: Row, b: Row, width: int) -> Row:
    return Row(all_of(a.exists, b.exists), {**a.cells, **b.cells}, a.number * width + b.number)


def _paired(node: Join, left: Table, right: Table, partners: _Partners) -> Iterator[Output]:
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            row = where(_pair(a, b, len(right)), partners[i][j])
            yield Output(row, (only(i, left), only(j, right)))
    if node.kind in (JoinKind.LEFT_OUTER, JoinKind.FULL_OUTER):
        nulls = _nulls(output(node.right))
        for i, a in enumerate(left):
            row = where(Row(a.exists, {**a.cells, **nulls}, a.number), _alone(partners[i]))
            yield Output(row, (only(i, left), nothing(right)))
    if node.kind in (JoinKind.RIGHT_OUTER, JoinKind.FULL_OUTER):
        nulls = _nulls(output(node.left))
        for j, b in enumerate(right):
            alone = _alone([row_partners[j] for row_partners in partners])
            row = where(Row(b.exists, {**nulls, **b.cells}, b.number), alone)
            yield Output(row, (nothing(left), only(j, right)))


def _lefts(node: Join, left: Table, right: Table, partners: _Partners) -> Iterator[Output]:
    for i, a in enumerate(left):
        found = any_of(*partners[i])
        match node.kind:
            case JoinKind.LEFT_SEMI:
                yield Output(where(a, found), (only(i, left), tuple(partners[i])))
            case JoinKind.LEFT_ANTI:
                yield Output(where(a, negation(found)), (only(i, left), nothing(right)))
            case _:
                assert node.exists is not None
                row = Row(a.exists, {**a.cells, node.exists.id: boolean(found)}, a.number)
                yield Output(row, (only(i, left), tuple(partners[i])))


def _alone(partners: list[Term]) -> Term:
    return negation(any_of(*partners))


def _nulls(fields: tuple[Field, ...]) -> Mapping[int, Cell]:
    return {field.id: no_value(field.type) for field in fields}
