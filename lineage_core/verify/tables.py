"""Symbolic tables, and the output of an operator over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import z3

from lineage_core.verify.symbols import Row, Term, identical

Table: TypeAlias = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Output:
    """An output row and, for each input, which of its rows contributed to it."""

    row: Row
    contributes: tuple[tuple[Term, ...], ...]


def where(row: Row, condition: Term) -> Row:
    """Return `row`, there only if `condition` holds, too."""
    return Row(z3.And(row.exists, condition), row.cells, row.number)


def only(position: int, table: Table) -> tuple[Term, ...]:
    """Return that of a table the row at `position` contributes and no other."""
    return tuple(z3.And(z3.BoolVal(i == position), row.exists) for i, row in enumerate(table))


def nothing(table: Table) -> tuple[Term, ...]:
    """Return that no row of a table contributes."""
    return tuple(z3.BoolVal(False) for _ in table)


def identical_rows(left: Row, right: Row) -> Term:
    """Return whether nothing can tell two rows apart."""
    return z3.And([identical(left.cells[id], right.cells[id]) for id in left.cells])
