"""Which rows a question is about: where a predicate holds, those of rids, those equal to rows.

A selection is of one snapshot. Its columns are the snapshot's, by position.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lineage_core.errors import NotFoundError, PredicateError, UnsupportedError
from lineage_core.filesystems import resolve
from lineage_core.index.cells import Cells, cells
from lineage_core.plan.expr import TRUE, Expr
from lineage_core.plan.types import is_comparable
from lineage_core.query.columns import find_column
from lineage_core.query.protocol import Given, value
from lineage_core.query.types import arrow_type
from lineage_core.snapshot import RID_SHIFT, Snapshot


@dataclass(frozen=True, slots=True)
class Where:
    """The rows for which `predicate` is true; `Column(i)` is column number `i` of the snapshot."""

    predicate: Expr


class Rids:
    """The rows of some rids: as an array of them, sorted and distinct, or as ranges.

    Either is made of the other when it is first asked for; sets of millions of rows may never be.

    Args:
        found: the rids.
        given: whether a user gave them: then they are meant of the dataset as it is, so it has to
            be what it was.
    """

    __match_args__ = ("rids",)

    def __init__(self, found: pa.Int64Array | Cells, *, given: bool = False) -> None:
        self._found = found
        self.given = given

    @cached_property
    def rids(self) -> pa.Int64Array:
        """The rids (int64), sorted and distinct."""
        found = self._found
        return pa.array(found.to_numpy()[0]) if isinstance(found, Cells) else found

    @cached_property
    def ranges(self) -> Cells:
        """The rids as ranges."""
        return self._found if isinstance(self._found, Cells) else cells([self._found])


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows that agree, nulls equal, with a row of `values` in `columns` (there: `k<i>`)."""

    columns: tuple[int, ...]
    values: pa.Table


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The rows of a computed step that were found: its columns as `k<i>`, and `origin`.

    `origin` is the rid of the row of the question that a row was found for; there is none where the
    question's rows have no rids.
    """

    table: Given


Selection: TypeAlias = Where | Rids | Rows | Found

EVERYTHING = Where(TRUE)


def rids(values: Sequence[int] | pa.Array | pa.ChunkedArray, snapshot: Snapshot) -> Rids:
    """Return the selection of the rows `values` of `snapshot`.

    Raises:
        UnsupportedError: the snapshot's format has no rids.
        NotFoundError: a rid is none of this snapshot's.
    """
    if not snapshot.has_rids:
        raise UnsupportedError(
            f"{snapshot.dataset} has no row ids: its format is {snapshot.format or 'not known'}",
            hint="select with where= or rows=",
        )
    array = _as_int64(values)
    if array.null_count:
        raise NotFoundError(
            "a rid is null", hint="rids are integers, as an answer's rids() gives them"
        )
    distinct = pc.unique(array).sort()
    if len(distinct):
        first, last = distinct[0].as_py(), distinct[-1].as_py()
        if first < 0 or last >> RID_SHIFT >= len(snapshot.files):
            wrong = first if first < 0 else last
            raise NotFoundError(
                f"{wrong} is no rid of {snapshot.dataset}, which has {len(snapshot.files)} files",
                hint="rids belong to one snapshot; take them from an answer about the same run",
            )
        _check_rows(distinct.to_numpy(), snapshot)
    return Rids(distinct, given=True)


def has_every_row(rids: pa.Int64Array, snapshot: Snapshot) -> bool:
    """Whether the sorted, distinct `rids` are those of all rows of the snapshot's files."""
    numbers = rids.to_numpy()
    files = numbers >> RID_SHIFT
    ends = np.flatnonzero(np.diff(files, append=-1))
    last = numbers[ends] & ((1 << RID_SHIFT) - 1)
    if int((last + 1).sum()) != len(numbers):
        return False  # some file has a gap: no need to look at any
    counts = dict(zip(files[ends].tolist(), (last + 1).tolist(), strict=True))
    return all(
        _row_count(file.path) == counts.get(number, 0) for number, file in enumerate(snapshot.files)
    )


def _row_count(path: str) -> int:
    filesystem, inner = resolve(path)
    count: int = pq.read_metadata(inner, filesystem=filesystem).num_rows
    return count


def _check_rows(rids: np.ndarray[Any, np.dtype[np.int64]], snapshot: Snapshot) -> None:
    """Check that each file has as many rows as the sorted `rids` say."""
    files = rids >> RID_SHIFT
    for number in np.unique(files):
        last = int(rids[np.searchsorted(files, number, side="right") - 1]) & ((1 << RID_SHIFT) - 1)
        path = snapshot.files[number].path
        try:
            count = _row_count(path)
        except (OSError, pa.ArrowInvalid):
            return  # the snapshot is verified before it is read, and says better what is wrong
        if last >= count:
            raise NotFoundError(
                f"{(int(number) << RID_SHIFT) | last} is no rid of {snapshot.dataset}: "
                f"its file {path} has {count} rows",
                hint="rids belong to one snapshot; take them from an answer about the same run",
            )


def rows(values: Sequence[Mapping[str, Any]], snapshot: Snapshot) -> Rows:
    """Return the selection of the rows of `snapshot` that agree with one of `values`.

    Raises:
        PredicateError: the rows do not all give the same columns, or a value does not have its
            column's type.
        NotFoundError: the snapshot has no such column.
    """
    names = _same_names(values)
    columns = tuple(find_column(snapshot, name) for name in names)
    if len(set(columns)) < len(columns):
        raise PredicateError(
            f"rows give a column of {snapshot.dataset} twice", hint="mind upper and lower case"
        )
    arrays = {
        value(column): _typed(snapshot, column, [row[name] for row in values])
        for name, column in zip(names, columns, strict=True)
    }
    return Rows(columns, pa.table(arrays))


def _same_names(values: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    shapes = {tuple(sorted(row)) for row in values}
    if len(shapes) == 1 and (names := shapes.pop()):
        return names
    what = "rows give different columns" if shapes else "rows gives no column"
    raise PredicateError(what, hint="give every row as a dict of the same columns, at least one")


def _typed(snapshot: Snapshot, column: int, values: list[Any]) -> pa.Array:
    name, type = snapshot.columns[column].name, snapshot.columns[column].type
    if not is_comparable(type):
        raise PredicateError(
            f"column {name} of {snapshot.dataset} has type {type}, which cannot be compared",
            hint="leave it out of rows",
        )
    try:
        return pa.array(values, arrow_type(type))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        # The error's own text quotes values, of which only the caller's are fit to be seen.
        raise PredicateError(
            f"a value given for column {name} of {snapshot.dataset} is no {type}",
            hint="give Python values of its type: a date as datetime.date, a decimal as Decimal",
        ) from None


def _as_int64(values: Sequence[int] | pa.Array | pa.ChunkedArray) -> pa.Int64Array:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    try:
        if isinstance(values, pa.Array):
            if not pa.types.is_integer(values.type):
                raise pa.ArrowTypeError("not integers")
            return values.cast(pa.int64())
        if any(isinstance(item, bool) for item in values):
            raise pa.ArrowTypeError("not integers")
        return pa.array(list(values), pa.int64())
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError):
        raise PredicateError(
            "rids must be 64-bit integers", hint="take them from an answer's rids()"
        ) from None
