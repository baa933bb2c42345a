"""The DuckDB engine: local Parquet files, read in the recorded order, in this process.

One in-memory database serves all queries of an engine; each query has a cursor of its own, which
makes the engine safe for threads. DuckDB's virtual columns `file_index` (the position in the list
of files given) and `file_row_number` are the two halves of a rid. Joining on `file_row_number` as
it is lets DuckDB skip row groups; an expression over both would not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from sqlglot import exp

from lineage_core.datasets import local_path
from lineage_core.errors import UnsupportedError
from lineage_core.filesystems import resolve
from lineage_core.plan.types import is_comparable
from lineage_core.query import sql
from lineage_core.query.compile import Dialect, Sql, null
from lineage_core.query.engines.duckdb_dialect import DIALECT
from lineage_core.query.partitions import partitions
from lineage_core.query.protocol import FILE, ROW, Given, value
from lineage_core.query.spool import Spooled
from lineage_core.query.types import canonical, decimal_of, sql_type
from lineage_core.snapshot import DataFile, Snapshot

_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}

_VIRTUAL = {"file_index", "file_row_number", "filename"}

_WIDENS = {
    "short": {"TINYINT", "UTINYINT"},
    "integer": {"TINYINT", "UTINYINT", "SMALLINT", "USMALLINT"},
    "long": {"TINYINT", "UTINYINT", "SMALLINT", "USMALLINT", "INTEGER", "UINTEGER"},
    "double": {"FLOAT", "TINYINT", "SMALLINT", "INTEGER"},
    "timestamp": {
        "TIMESTAMP",
        "TIMESTAMP_NS",
        "TIMESTAMP_MS",
    },  # INT96, which has no zone of its own
    "timestamp_ntz": {"TIMESTAMP_NS", "TIMESTAMP_MS"},
}
"""DuckDB types of a file whose values Spark reads unchanged as the wider type of its schema."""


_SPILLING = {"memory_limit": "2GB", "preserve_insertion_order": "false"}
"""How results larger than memory are had: what does not fit is put aside in files."""

_BATCH = 1 << 20
"""Rows that are handed on at once."""


class DuckDBEngine:
    """Answers from local Parquet files; see the module.

    Args:
        scratch: a folder to put aside in what does not fit into 2 GB; without it, memory is what
            DuckDB takes.
    """

    dialect: Dialect = DIALECT

    def __init__(self, scratch: Path | None = None) -> None:
        spilling = _SPILLING | {"temp_directory": str(scratch)} if scratch is not None else {}
        self._database = duckdb.connect(config=dict(_SETTINGS | spilling))
        self._database.execute("SET GLOBAL TimeZone = 'UTC'")
        self._types = lru_cache(maxsize=256)(self._read_types)
        self._nullable = lru_cache(maxsize=256)(_may_hold_nulls)

    def scan(self, snapshot: Snapshot, columns: tuple[int, ...], *, rids: bool) -> exp.Select:
        if snapshot.format != "parquet":
            raise UnsupportedError(
                f"the duckdb engine reads Parquet only; {snapshot.dataset} is {snapshot.format}",
                hint="ask with engine='spark'",
            )
        if not snapshot.files:
            return _nothing(snapshot, columns)
        first_partition = len(snapshot.columns) - snapshot.partition_columns
        stored = self._types(snapshot)
        selected: list[Sql] = [
            _stored(snapshot, column, stored)
            if column < first_partition
            else _column("p", value(column))
            for column in columns
        ]
        aliased: list[Sql] = [
            sql.as_(expr, value(column)) for expr, column in zip(selected, columns, strict=True)
        ]
        if rids:
            index = exp.Cast(this=_column("x", "file_index"), to=sql_type("long"))
            aliased.append(sql.as_(index, FILE))
            aliased.append(sql.as_(_column("x", "file_row_number"), ROW))
        query = sql.select(aliased, _files(snapshot, "x"))
        if any(column >= first_partition for column in columns):
            index = exp.Cast(this=_column("x", "file_index"), to=sql_type("long"))
            on = exp.EQ(this=_column("p", FILE), expression=index)
            values = sql.named(partitions(snapshot, columns, DIALECT), "p")
            query = sql.join(query, values, on, "inner")
        return query

    def never_null(self, snapshot: Snapshot, column: int) -> bool:
        if (
            snapshot.format != "parquet"
            or column >= len(snapshot.columns) - snapshot.partition_columns
        ):
            return False
        return snapshot.columns[column].name not in self._nullable(snapshot)

    def run(self, query: exp.Query, tables: Mapping[str, Given]) -> pa.Table:
        with self._database.cursor() as cursor:
            try:
                return _rows(cursor, query, tables).to_arrow_table()
            except duckdb.Error as error:
                raise _refused(error) from None

    def spool(self, query: exp.Query, tables: Mapping[str, Given], uri: str) -> Spooled:
        filesystem, path = resolve(uri)
        filesystem.create_dir(path)  # of no rows no file is written
        with self._database.cursor() as cursor:
            try:
                batches = _rows(cursor, query, tables).to_arrow_reader(_BATCH)
                pads.write_dataset(batches, path, format="ipc", filesystem=filesystem)
            except (duckdb.Error, pa.ArrowException) as error:
                raise _refused(error) from None
            return Spooled(uri, "ipc", batches.schema)

    def stream(self, query: exp.Query, tables: Mapping[str, Given]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of `query`, in its order, as far as they are wanted: a batch at least."""
        with self._database.cursor() as cursor:
            try:
                batches = _rows(cursor, query, tables).to_arrow_reader(_BATCH)
                first = next(batches, None)
                yield pa.RecordBatch.from_pylist([], batches.schema) if first is None else first
                yield from batches
            except (duckdb.Error, pa.ArrowException) as error:
                raise _refused(error) from None

    def _read_types(self, snapshot: Snapshot) -> dict[str, str]:
        """Return DuckDB's types of the files' columns, by lower-case name."""
        query = exp.select("*").from_(_files(snapshot, "x"))
        with self._database.cursor() as cursor:
            try:
                relation = cursor.sql(query.sql("duckdb", identify=True))
            except duckdb.Error as error:
                raise _refused(error) from None
            names, types = list(relation.columns), [str(type) for type in relation.types]
        if _VIRTUAL.intersection(name.lower() for name in names):
            raise UnsupportedError(
                f"{snapshot.dataset} has a column named like DuckDB's own row numbers",
                hint="ask with engine='spark'",
            )
        return {name.lower(): type for name, type in zip(names, types, strict=True)}


def _rows(
    cursor: duckdb.DuckDBPyConnection, query: exp.Query, tables: Mapping[str, Given]
) -> duckdb.DuckDBPyRelation:
    for name, table in tables.items():
        cursor.register(name, table.dataset() if isinstance(table, Spooled) else table)
    return cursor.sql(query.sql("duckdb", identify=True, copy=False))


def _refused(error: duckdb.Error | pa.ArrowException) -> UnsupportedError:
    # Other messages than those about files quote values of the data.
    what = f": {error}" if isinstance(error, duckdb.IOException) else ""
    return UnsupportedError(
        f"DuckDB cannot answer this ({type(error).__name__}{what})",
        hint="ask with engine='spark'",
    )


def _nothing(snapshot: Snapshot, columns: tuple[int, ...]) -> exp.Select:
    empty = {value(i): null(snapshot.columns[i].type) for i in columns}
    empty |= {FILE: null("long"), ROW: null("long")}
    aliased = [exp.alias_(expr, name, quoted=True) for name, expr in empty.items()]
    return exp.select(*aliased).where(exp.false())


def _stored(snapshot: Snapshot, column: int, stored: Mapping[str, str]) -> Sql:
    """Return the values of a column of the files as values of the snapshot's type."""
    name, type = snapshot.columns[column].name, canonical(snapshot.columns[column].type)
    same_name = [other for other in snapshot.columns if other.name.lower() == name.lower()]
    if len(same_name) > 1:
        raise UnsupportedError(
            f"{snapshot.dataset} has columns that differ in case only: {name}",
            hint="ask with engine='spark'",
        )
    found = stored.get(name.lower())
    if found is None:
        return null(type)  # Spark reads a column that no file has as nulls
    sql = _column("x", name)
    if not is_comparable(type) or found == _duckdb_name(type):
        return sql
    if found in _WIDENS.get(type, ()) or _is_narrower_decimal(found, type):
        return exp.Cast(this=sql, to=sql_type(type))
    raise UnsupportedError(
        f"column {name} of {snapshot.dataset} is {type} to Spark, but DuckDB reads it as {found}",
        hint="ask with engine='spark'",
    )


@lru_cache(maxsize=256)
def _duckdb_name(type: str) -> str:
    return {
        "string": "VARCHAR",
        "binary": "BLOB",
        "float": "FLOAT",
        "integer": "INTEGER",
        "timestamp": "TIMESTAMP WITH TIME ZONE",
    }.get(type, sql_type(type).sql("duckdb").replace(", ", ","))


def _is_narrower_decimal(found: str, type: str) -> bool:
    decimal = decimal_of(type)
    other = decimal_of(found.lower())
    if decimal is None or other is None:
        return False
    return decimal[1] >= other[1] and decimal[0] - decimal[1] >= other[0] - other[1]


def _files(snapshot: Snapshot, alias: str) -> exp.Table:
    paths: list[Sql] = [exp.Literal.string(pattern(snapshot, file)) for file in snapshot.files]
    options = {
        "union_by_name": len(paths) > 1,
        "hive_partitioning": False,
        "binary_as_string": False,
    }
    arguments: list[Sql] = [exp.Array(expressions=paths)]
    for name, on in options.items():
        arguments.append(exp.EQ(this=exp.to_identifier(name), expression=exp.Boolean(this=on)))
    function = exp.Anonymous(this="read_parquet", expressions=arguments)
    return exp.Table(
        this=function, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    )


def pattern(snapshot: Snapshot, file: DataFile) -> str:
    """Return the glob pattern that matches just this file: DuckDB reads every path as a pattern."""
    path = local_path(file.path)
    if path is None:
        raise UnsupportedError(
            f"the duckdb engine reads local files only; {snapshot.dataset} is elsewhere",
            hint="ask with engine='spark'",
        )
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)


def _column(table: str, name: str) -> exp.Column:
    return exp.column(name, table=table, quoted=True)


def _may_hold_nulls(snapshot: Snapshot) -> frozenset[str]:
    """Return the columns of the snapshot that its footers do not say to be without nulls."""
    names = {column.name.lower(): column.name for column in snapshot.columns}
    sure = set(names)
    for file in snapshot.files:
        filesystem, inner = pafs.FileSystem.from_uri(file.path)
        with filesystem.open_input_file(inner) as source:
            sure &= _without_nulls(pq.read_metadata(source))
    return frozenset(name for lower, name in names.items() if lower not in sure)


def _without_nulls(footer: pq.FileMetaData) -> set[str]:
    if not footer.num_rows:
        return {name.lower() for name in footer.schema.names}
    counts: dict[str, bool] = {}
    for group in range(footer.num_row_groups):
        for index in range(footer.num_columns):
            column = footer.row_group(group).column(index)
            statistics = column.statistics
            known = (
                statistics is not None and statistics.has_null_count and not statistics.null_count
            )
            name = column.path_in_schema.lower()
            counts[name] = counts.get(name, True) and known
    return {name for name, sure in counts.items() if sure}
