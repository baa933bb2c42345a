"""What a lineage-consuming query gives: its rows, and how exact the rows were that it read."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from lineage_core.query.answer import Precision

_SHOWN = 20
_BOUND = (
    "rows may be among these that take no part: counts and sums of them are upper bounds at best"
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Result:
    """The rows of a query.

    Attributes:
        table: the rows.
        precision: how the rows that the query read relate to the true lineage: the worst of all.
        reasons: why these are not exactly the lineage, each once; empty when they are.
    """

    table: pa.Table
    precision: Precision
    reasons: tuple[str, ...]

    def to_arrow(self) -> pa.Table:
        """Return the rows."""
        return self.table

    @property
    def reason(self) -> str:
        """The reasons as one text."""
        return "; ".join(self.reasons)

    def __repr__(self) -> str:
        columns = ", ".join(self.table.column_names)
        told = f": {self.reason}" if self.reasons else ""
        return f"<Result {self.table.num_rows} rows ({columns}), {self.precision}{told}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.table.column_names)
        shown = self.table.slice(0, _SHOWN)
        rows = zip(*(column.to_pylist() for column in shown.columns), strict=True)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
        more = self.table.num_rows - shown.num_rows
        notes = [str(self.precision), *self.reasons, *([f"{more} more rows"] if more else [])]
        caption = html.escape("; ".join(notes))
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{body}</table>"


def least(precisions: Iterable[Precision]) -> Precision:
    """Return the worst of several precisions; exact if there are none."""
    order = (Precision.EXACT, Precision.SUPERSET, Precision.UNKNOWN)
    return max(precisions, key=order.index, default=Precision.EXACT)


def result(table: pa.Table, precisions: Iterable[Precision], reasons: Iterable[str]) -> Result:
    """Return the result of a query that read relations of these precisions."""
    precision = least(precisions)
    told = [*reasons, _BOUND] if precision is not Precision.EXACT else list(reasons)
    return Result(table, precision, tuple(dict.fromkeys(told)))


def _cell(value: object) -> str:
    return f"<td>{'' if value is None else html.escape(str(value))}</td>"
