"""Codes for the values of a column: the quickest way that its values and files allow.

Parquet files mostly hold strings as codes already, which only have to be made to agree; integers
that lie close together are their own codes; anything else is hashed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlglot import exp

from lineage_core.filesystems import resolve
from lineage_core.profile.table import Table
from lineage_core.query import sql
from lineage_core.query.protocol import FILE, ROW, Engine, value
from lineage_core.query.types import INTEGERS, arrow_type, canonical
from lineage_core.query.values import distinguished
from lineage_core.snapshot import DataFile

_ROWS = "x"
_GREATEST = (1 << 63) - 3
"""An integer above which there is room for null, and for the end of a range."""

_STRINGS = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A column: the code of each row's value, by the row's number, and the values by code.

    Equal values have one code, null has one, too; there may be codes that no row has.
    """

    codes: npt.NDArray[np.int64]
    values: pa.Array


def encoded(table: Table, column: int) -> Encoded:
    """Return a column of a dataset, by position, as codes.

    Raises:
        UnsupportedError: no engine can read it as Spark does.
    """
    return _stored(table, column) or _read(table, column)


def _stored(table: Table, column: int) -> Encoded | None:
    """Return strings by the codes that the files have; None where they have none."""
    snapshot = table.snapshot
    known = column < len(snapshot.columns) - snapshot.partition_columns
    if not known or canonical(snapshot.columns[column].type) != "string":
        return None
    chunks: list[pa.Array] = []
    for file in snapshot.files:
        found = _strings(file, snapshot.columns[column].name)
        if found is None:
            return None
        chunks += found.chunks
    together = pa.chunked_array(chunks, _STRINGS).unify_dictionaries()
    values = together.chunk(0).dictionary if chunks else pa.array([], pa.string())
    if values.null_count or len(pc.unique(values)) < len(values):
        return None  # allowed, if odd
    null = len(values)
    parts = [chunk.indices.fill_null(null).to_numpy() for chunk in together.chunks]
    codes = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    if together.null_count:
        values = pa.concat_arrays([values, pa.nulls(1, pa.string())])
    return Encoded(codes, values)


def _strings(file: DataFile, name: str) -> pa.ChunkedArray | None:
    filesystem, path = resolve(file.path)
    with filesystem.open_input_file(path) as opened:
        read = pq.ParquetFile(opened, read_dictionary=[name])
        if read.schema_arrow.names.count(name) != 1:
            return None
        if read.schema_arrow.field(name).type != _STRINGS:
            return None
        return read.read([name]).column(name)


def _read(table: Table, column: int) -> Encoded:
    """Return values that an engine reads, encoded here."""
    snapshot = table.snapshot

    def query(engine: Engine) -> exp.Select:
        scan = engine.scan(snapshot, (column,), rids=True)
        names = (value(column), FILE, ROW)
        columns: list[exp.Expr] = [exp.column(name, table=_ROWS) for name in names]
        return sql.select(columns, sql.named(scan, _ROWS))

    found = table.ask(query)
    type = snapshot.columns[column].type
    values = found.column(0).cast(arrow_type(type))
    made = (_close(values) if type in INTEGERS else None) or _hashed(values)
    places = table.numbers(found.column(1), found.column(2))
    if (places[1:] > places[:-1]).all():
        return made
    codes = np.empty_like(made.codes)
    codes[places] = made.codes
    return Encoded(codes, made.values)


def _close(values: pa.ChunkedArray) -> Encoded | None:
    """Return integers as codes from the least on; None where there would be more than rows."""
    bounds = pc.min_max(values).as_py()
    low, high = bounds["min"], bounds["max"]
    if low is None or high - low >= len(values) or high > _GREATEST:
        return None
    null = high + 1 if values.null_count else None
    whole = values.cast(pa.int64())
    numbers = (whole if null is None else whole.fill_null(null)).to_numpy()
    known = pa.array(np.arange(low, high + 1), values.type)
    if null is not None:
        known = pa.concat_arrays([known, pa.nulls(1, values.type)])
    return Encoded(numbers - low, known)


def _hashed(values: pa.ChunkedArray) -> Encoded:
    found = distinguished(values).dictionary_encode(null_encoding="encode")
    parts = [chunk.indices.to_numpy() for chunk in found.chunks]  # of one dictionary
    codes = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    return Encoded(codes, found.chunk(0).dictionary if parts else pa.array([], values.type))
