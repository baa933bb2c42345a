"""What a scan of a plan reads: which dataset, and its files as they were when it was read.

Spark lists a dataset's files once, when it is first named, and reads those. That list is taken
before the write (`list_files`), and held against the disk after it (`take`): a file that changed in
between makes the lineage worthless, and is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from posixpath import commonpath
from typing import Any

from pyspark.sql import SparkSession

from lineage_core import snapshot
from lineage_core.capture.literals import read_type
from lineage_core.datasets import canonical
from lineage_core.errors import ChangedError, UnsupportedError
from lineage_core.execute.jvm import items, option, seq, simple_name
from lineage_core.snapshot import ColumnType, DataFile, Snapshot

_ROW_OPTIONS = frozenset(
    [
        "allowbackslashescapinganycharacter",
        "allowcomments",
        "allowsinglequotes",
        "allowunquotedfieldnames",
        "chartoescapequoteescaping",
        "columnnameofcorruptrecord",
        "comment",
        "datetimerebasemode",
        "delimiter",
        "dateformat",
        "dropfieldifallnull",
        "emptyvalue",
        "enabledatetimeparsingfallback",
        "encoding",
        "charset",
        "enforceschema",
        "escape",
        "header",
        "ignoreleadingwhitespace",
        "ignoretrailingwhitespace",
        "inferschema",
        "lineterminator",
        "linesep",
        "locale",
        "maxcharspercolumn",
        "maxcolumns",
        "mergeschema",
        "mode",
        "multiline",
        "nanvalue",
        "negativeinf",
        "nullvalue",
        "positiveinf",
        "prefersdate",
        "primitivesasstring",
        "quote",
        "recursivefilelookup",
        "pathglobfilter",
        "modifiedafter",
        "modifiedbefore",
        "rowtag",
        "samplingratio",
        "sep",
        "timestampformat",
        "timestampntzformat",
        "timezone",
        "unescapedquotehandling",
        "wholetext",
    ]
)
"""Reader options that change what the rows are. No other is recorded: it may be a secret."""


@dataclass(frozen=True, slots=True)
class Source:
    """The dataset behind a scan; two scans of the same one are two occurrences of one source.

    Attributes:
        dataset: its canonical URI, or a made-up name where nothing identifies it.
        format: `parquet`, `csv`, ...; empty when its identity is unknown.
        alias: the table name it was reached by; empty for a path.
        roots: the paths given, as URIs; one, or several that make one dataset.
        options: reader options that change what the rows are.
        schema: the columns and types it was read with, as Spark prints them.
    """

    dataset: str
    format: str = ""
    alias: str = ""
    roots: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files Spark reads for a scan, by its own list: each without digest.

    Attributes:
        columns: the dataset's columns, partition columns last.
        files: ordered by path.
        partition_columns: how many of `columns` are partition columns.
    """

    columns: tuple[ColumnType, ...]
    files: tuple[DataFile, ...] = ()
    partition_columns: int = 0


def identify(leaf: Any, kind: str, number: int) -> Source:
    """Return the dataset that a Java leaf of an optimised plan scans.

    Args:
        leaf: any leaf operator; what is not a file relation has no known identity.
        kind: the name of its class.
        number: makes the name of a source that has none unlike other names.
    """
    if kind != "LogicalRelation":
        return Source(_table_name(leaf, kind) or f"spark:{kind}/{number}")
    relation = leaf.relation()
    if simple_name(relation) != "HadoopFsRelation":
        return Source(_jdbc_name(relation) or f"spark:{simple_name(relation)}/{number}")
    roots = tuple(sorted(uri(path) for path in items(relation.location().rootPaths())))
    table = option(leaf.catalogTable())
    return Source(
        _common(roots),
        file_format(relation.fileFormat()),
        qualified_name(table.identifier()) if table is not None else "",
        roots,
        row_options(_entries(relation.options())),
        str(relation.schema().simpleString()),
    )


def list_files(spark: SparkSession, source: Source, leaf: Any) -> Listing:
    """Return the files that a Java leaf of an optimised plan scans; none if it scans no files.

    Args:
        source: what `identify` says of it.
    """
    if not source.format:
        return Listing(column_types(leaf.schema()))
    relation = leaf.relation()
    data = column_types(relation.dataSchema())
    partition = column_types(relation.partitionSchema())
    names = {column.name for column in partition}
    types = [field.dataType() for field in relation.partitionSchema().fields()] if names else []
    files = [
        _data_file(status, values)
        for directory in items(relation.location().listFiles(seq(spark, []), seq(spark, [])))
        for values in [_partition(directory.values(), partition, types)]
        for status in items(directory.files())
    ]
    columns = (*(column for column in data if column.name not in names), *partition)
    files.sort(key=lambda file: file.path)
    return Listing(columns, tuple(files), len(partition))


def list_all(
    spark: SparkSession, found: Sequence[Source], leaves: Iterable[tuple[int, Any]]
) -> tuple[Listing, ...]:
    """Return the files that each of the sources `found` is read from.

    Args:
        spark: the session of the plan.
        found: the sources of a plan.
        leaves: source number and Java node of each of its scans.

    Raises:
        UnsupportedError: two scans of one source read different files.
    """
    listings: dict[int, Listing] = {}
    for number, leaf in leaves:
        listing = list_files(spark, found[number], leaf)
        if listings.setdefault(number, listing) != listing:
            name = found[number].dataset
            raise UnsupportedError(f"{name} is read twice, with different files each time")
    return tuple(listings[number] for number in sorted(listings))


def take(source: Source, listing: Listing) -> Snapshot:
    """Return the snapshot of `source` as Spark listed it.

    Raises:
        ChangedError: a file is not what it was when Spark listed it.
    """
    found = snapshot.take(
        source.dataset,
        source.format,
        listing.columns,
        [(file.path, file.partition) for file in listing.files],
        partition_columns=listing.partition_columns,
        options=source.options,
        alias=source.alias,
    )
    for now, before in zip(found.files, listing.files, strict=True):
        if now.size != before.size or not _same_time(now.modified, before.modified):
            raise ChangedError(f"file {now.path} was changed while the run read it")
    return found


def take_all(found: Sequence[Source], listings: Sequence[Listing]) -> tuple[Snapshot, ...]:
    """Return the snapshots of the sources `found` as Spark listed them.

    Raises:
        ChangedError: a file is not what it was when Spark listed it.
    """
    return tuple(take(source, listing) for source, listing in zip(found, listings, strict=True))


def column_types(schema: Any) -> tuple[ColumnType, ...]:
    """Return the columns of a Java `StructType`."""
    fields = json.loads(schema.json())["fields"]
    return tuple(
        ColumnType(field["name"], _declared(field) or read_type(field["type"])) for field in fields
    )


def _declared(field: dict[str, Any]) -> str:
    """Return `char(n)` where a string was declared so: such columns compare padded."""
    declared = str(field.get("metadata", {}).get("__CHAR_VARCHAR_TYPE_STRING", ""))
    return declared if declared.startswith("char(") else ""


def uri(path: Any) -> str:
    """Return the canonical URI of a Hadoop `Path`."""
    return canonical(str(path.toUri()))


def file_format(java: Any) -> str:
    """Return the short name of a Java `FileFormat` (`parquet`)."""
    name = simple_name(java)
    return name.removesuffix("FileFormat").lower()


def qualified_name(identifier: Any) -> str:
    """Return a table's full name, unquoted (`spark_catalog.default.orders`)."""
    parts = (option(identifier.catalog()), option(identifier.database()), identifier.table())
    return ".".join(str(part) for part in parts if part)


def row_options(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return those of a reader's options that change what the rows are, in order of their names."""
    kept = {k.lower(): v for k, v in options.items() if k.lower() in _ROW_OPTIONS}
    return tuple(sorted(kept.items()))


def _entries(java_map: Any) -> dict[str, str]:
    pairs = items(java_map.toSeq())
    return {str(pair._1()): str(pair._2()) for pair in pairs}


def _common(roots: tuple[str, ...]) -> str:
    if len(roots) == 1:
        return roots[0]
    scheme, _, _ = roots[0].partition("://")
    shared = commonpath([root.partition("://")[2] for root in roots])
    return canonical(f"{scheme}://{shared}")


def _table_name(leaf: Any, kind: str) -> str:
    """Return the name of the table behind a data source v2 relation; empty for anything else."""
    if not kind.startswith(("DataSourceV2", "StreamingDataSourceV2")):
        return ""
    return table_name(leaf.relation() if kind == "DataSourceV2ScanRelation" else leaf)


def table_name(relation: Any) -> str:
    """Return the made-up dataset name of a Java data source v2 relation."""
    return f"table:{relation.table().name()}"


def _jdbc_name(relation: Any) -> str:
    if simple_name(relation) != "JDBCRelation":
        return ""
    options = relation.jdbcOptions()
    return without_secrets(str(options.url()), str(options.tableOrQuery()))


def without_secrets(url: str, table: str) -> str:
    """Return the name of a database table: its URL without user, password and parameters."""
    place = re.sub(r"(//|thin:).*@", r"\1", re.split(r"[?;]", url)[0])
    return f"{place}/{table}" if _is_name(table) else place


def _is_name(table: str) -> bool:
    return re.fullmatch(r"[\w.\"`]+", table) is not None


def _data_file(status: Any, partition: tuple[str | None, ...]) -> DataFile:
    return DataFile(
        uri(status.getPath()), status.getLen(), status.getModificationTime(), "", partition
    )


def _same_time(now: int, listed: int) -> bool:
    # Object stores keep whole seconds, and clients differ in rounding the rest.
    return now == listed or (0 in (now % 1000, listed % 1000) and now // 1000 == listed // 1000)


def _partition(
    row: Any, columns: tuple[ColumnType, ...], types: list[Any]
) -> tuple[str | None, ...]:
    """Return the partition values of a Java row of Catalyst's internal values, as text."""
    values = (row.get(i, type) for i, type in enumerate(types))
    return tuple(_text(value, c.type) for value, c in zip(values, columns, strict=True))


def _text(value: Any, type: str) -> str | None:
    if value is None:
        return None
    match type:
        case "date":
            return str(date(1970, 1, 1) + timedelta(days=value))
        case "timestamp" | "timestamp_ntz":
            return str(datetime(1970, 1, 1) + timedelta(microseconds=value))
        case "boolean":
            return "true" if value else "false"
        case _:
            return str(value)
