"""Symbolic tables, and the output of an operator over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lineage_core.verify.symbols import Row, identical
from lineage_core.verify.terms import FALSE, Term, all_of

Table: TypeAlias = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Output:
    """An output row and, for each input, which of its rows contributed to it."""

    row: Row
    contributes: tuple[tuple[Term, ...], ...]


def where(row: Row, condition: Term) -> Row:
    """Return `row`, there only if `condition` holds, too."""
    return Row(all_of(row.exists, condition), row.cells, row.number)


def only(position: int, table: Table) -> tuple[Term, ...]:
    """Return that of a table the row at `position` contributes and no other."""
    return tuple(row.exists if i == position else FALSE for i, row in enumerate(table))


def nothing(table: Table) -> tuple[Term, ...]:
    """Return that no row of a table contributes."""
    return tuple(FALSE for _ in table)


def identical_rows(left: Row, right: Row) -> Term:
    """Return whether nothing can tell two rows apart."""
    return all_of(*(identical(left.cells[id], right.cells[id]) for id in left.cells))
