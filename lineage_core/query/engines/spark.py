"""The Spark engine: whatever Spark reads, in the active session or a local one.

A base relation is a temporary view over exactly the snapshot's files; `_metadata` of a file scan
tells each row's file and place. An engine serves one question, in a copy of the session: its views
and the time zone it computes in are nobody else's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType
from sqlglot import exp

from lineage_core.datasets import canonical
from lineage_core.errors import UnsupportedError
from lineage_core.execute.rids import spelled
from lineage_core.execute.saved import spark_path
from lineage_core.query import types
from lineage_core.query.compile import Dialect, Sql
from lineage_core.query.engines.spark_dialect import dialect
from lineage_core.query.partitions import partitions
from lineage_core.query.protocol import FILE, ROW, Given, value
from lineage_core.query.spool import Spooled
from lineage_core.snapshot import Snapshot

T = TypeVar("T")

_TIME_ZONE = "spark.sql.session.timeZone"
_PATH = "path"
_METADATA = "_metadata"
_GLOB = "*?[]{}\\"


class SparkEngine:
    """Answers with Spark; see the module. Use it as a context manager."""

    def __init__(self) -> None:
        self._users = SparkSession.getActiveSession() or _local_session()
        self._session = _copy(self._users)
        self._zone: str | None = None
        self.dialect: Dialect = dialect(self._enter)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _make_active(self._users)

    def _enter(self, zone: str) -> None:
        """Compute in a time zone."""
        if self._zone not in (None, zone):
            raise UnsupportedError(
                f"the plan converts times in two time zones, {self._zone} and {zone}",
                hint="ask by other columns, or by rids",
            )
        self._zone = zone
        self._session.conf.set(_TIME_ZONE, zone)

    def scan(self, snapshot: Snapshot, columns: tuple[int, ...], *, rids: bool) -> exp.Select:
        first_partition = len(snapshot.columns) - snapshot.partition_columns
        stored = [column for column in columns if column < first_partition]
        needs_file = rids or len(stored) < len(columns)
        view = self._view(self._relation(snapshot, stored, file=needs_file, row=rids))
        selected: list[Sql] = [
            exp.column(value(column), table="x" if column < first_partition else "p")
            for column in columns
        ]
        selected += [exp.column(half, table="x") for half in (FILE, ROW) if rids]
        query = exp.select(*(selected or [exp.Literal.number(1)]))
        query = query.from_(exp.to_table(view, alias="x"))
        if len(stored) < len(columns):
            on = exp.EQ(this=exp.column(FILE, table="p"), expression=exp.column(FILE, table="x"))
            query = query.join(partitions(snapshot, columns, self.dialect).subquery("p"), on=on)
        return query

    def never_null(self, snapshot: Snapshot, column: int) -> bool:
        return False  # Spark hashes null-safe equality as well as the plain one

    def run(self, query: exp.Query, tables: Mapping[str, Given]) -> pa.Table:
        return self._answered(query, tables, DataFrame.toArrow)

    def spool(self, query: exp.Query, tables: Mapping[str, Given], uri: str) -> Spooled:
        def write(rows: DataFrame) -> Spooled:
            rows.write.option("compression", "uncompressed").parquet(spark_path(self._session, uri))
            return Spooled(uri, "parquet", to_arrow_schema(rows.schema))

        return self._answered(query, tables, write)

    def _answered(
        self, query: exp.Query, tables: Mapping[str, Given], take: Callable[[DataFrame], T]
    ) -> T:
        for name, table in tables.items():
            self._given(table).createOrReplaceTempView(name)
        try:
            return take(self._session.sql(query.sql("spark", identify=True, copy=False)))
        except PySparkException as error:
            # Its text may quote values of the data.
            kind = error.getCondition() or type(error).__name__
            raise UnsupportedError(
                f"Spark cannot answer this ({kind})", hint="the Spark log has the details"
            ) from None

    def _given(self, table: Given) -> DataFrame:
        if isinstance(table, Spooled):
            return self._session.read.parquet(spark_path(self._session, table.uri))
        # Unless told, Spark takes timestamps without a zone for some of its session's zone.
        schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
        return self._session.createDataFrame(table, schema)

    def _relation(
        self, snapshot: Snapshot, columns: list[int], *, file: bool, row: bool
    ) -> DataFrame:
        """Return the snapshot's rows with the values of `columns`, and where asked their place."""
        first_partition = len(snapshot.columns) - snapshot.partition_columns
        if not snapshot.files:
            return self._nothing(snapshot, columns)
        read = self._read(snapshot, first_partition)
        selected = [
            read[_quoted(snapshot.columns[column].name)].alias(value(column)) for column in columns
        ]
        if not file:
            return read.select(*selected)
        metadata = read.metadataColumn(_METADATA)
        if row:
            selected.append(metadata["row_index"].cast("long").alias(ROW))
        if len(snapshot.files) == 1:
            return read.select(*selected, F.lit(0).cast("long").alias(FILE))
        placed = read.select(*selected, metadata["file_path"].alias(_PATH))
        return placed.join(F.broadcast(self._numbers(snapshot, read)), _PATH).drop(_PATH)

    def _read(self, snapshot: Snapshot, first_partition: int) -> DataFrame:
        reader = self._session.read.format(snapshot.format).options(**dict(snapshot.options))
        reader = reader.schema(_schema(snapshot, first_partition))
        read = reader.load([_pattern(file.path) for file in snapshot.files])
        _check_files(snapshot, read)
        return read

    def _numbers(self, snapshot: Snapshot, read: DataFrame) -> DataFrame:
        """Return the number of each file by its path, spelled as `_metadata.file_path` has it."""
        number = {canonical(file.path): i for i, file in enumerate(snapshot.files)}
        paths = [spelled(path) for path in read.inputFiles()]
        numbers = pa.array([number[canonical(path)] for path in paths], pa.int64())
        return self._session.createDataFrame(pa.table({_PATH: paths, FILE: numbers}))

    def _nothing(self, snapshot: Snapshot, columns: list[int]) -> DataFrame:
        fields = [_field(value(column), snapshot.columns[column].type) for column in columns]
        fields += [_field(half, "long") for half in (FILE, ROW)]
        schema = StructType.fromJson({"type": "struct", "fields": fields})
        return self._session.createDataFrame([], schema)

    def _view(self, relation: DataFrame) -> str:
        name = f"row_lineage_{uuid4().hex}"
        relation.createOrReplaceTempView(name)
        return name


def _local_session() -> SparkSession:
    builder = SparkSession.builder.master("local[*]").appName("row-lineage")
    return builder.config("spark.ui.enabled", "false").getOrCreate()


def _copy(session: SparkSession) -> SparkSession:
    """Return a session with the settings that `session` has now, and views of its own."""
    copy = SparkSession(session.sparkContext, session._jsparkSession.cloneSession())
    # Of the old meaning of patterns nothing is computed again.
    copy.conf.set("spark.sql.legacy.timeParserPolicy", "CORRECTED")
    return copy


def _make_active(session: SparkSession) -> None:
    """Make `session` the active one again, which others are as soon as they are used."""
    jvm = session.sparkContext._jvm
    assert jvm is not None
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
    SparkSession._activeSession = session


def _schema(snapshot: Snapshot, count: int) -> StructType:
    fields = [_field(column.name, column.type) for column in snapshot.columns[:count]]
    return StructType.fromJson({"type": "struct", "fields": fields})


def _field(name: str, type: str) -> dict[str, object]:
    known = json.loads(type) if type.startswith("{") else types.canonical(type)
    return {"name": name, "type": known, "nullable": True, "metadata": {}}


def _pattern(uri: str) -> str:
    """Return the pattern that matches just the file at `uri`: Hadoop takes paths as patterns."""
    scheme, separator, path = uri.partition("://")
    raw = unquote(path, errors="surrogateescape")
    return f"{scheme}{separator}{''.join(f'{chr(92)}{c}' if c in _GLOB else c for c in raw)}"


def _check_files(snapshot: Snapshot, read: DataFrame) -> None:
    """Raise unless Spark reads each file of the snapshot, and no other, once."""
    expected = sorted(canonical(file.path) for file in snapshot.files)
    if sorted(map(canonical, read.inputFiles())) != expected:
        raise UnsupportedError(
            f"Spark does not read the files of {snapshot.dataset} one by one",
            hint="ask with engine='duckdb'",
        )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
