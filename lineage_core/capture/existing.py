"""Data that is there already, as the output that a query is said to have given.

Nothing is run to compare them: what must agree are the columns. Those of Parquet files are told by
their footers, in Spark's own words where Spark wrote them; those of partitions by the names of
folders.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_type

from lineage_core.capture import outputs
from lineage_core.capture.literals import is_nested, read_type
from lineage_core.capture.writes import Write
from lineage_core.datasets import canonical, display
from lineage_core.errors import NotFoundError, UnsupportedError
from lineage_core.snapshot import ColumnType, Snapshot

Types: TypeAlias = tuple[str, ...]
"""Names of the types that a column may be of."""

_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"


def take(path: str, columns: tuple[ColumnType, ...], query: Any) -> tuple[Write, Snapshot]:
    """Return the write that would have left what is at `path`, and the snapshot of that.

    Args:
        path: a path or URI of a folder of Parquet files, which may be partitioned.
        columns: the columns it has to have.
        query: the analysed Java plan that is said to have given it.

    Raises:
        NotFoundError: there is no data.
        UnsupportedError: it is no folder of Parquet files, or has other columns than `columns`.
    """
    dataset = canonical(path)
    files = _files(dataset)
    partitions = _partitions(dataset, files)
    data = {column.name: column.type for column in columns if column.name not in partitions}
    if len(data) + len(partitions) != len(columns):
        given = {column.name for column in columns}
        missing = [name for name in partitions if name not in given]
        raise _differs(
            dataset,
            f"its folders are named for {', '.join(missing)}, which the query does not give"
            if missing
            else "the query gives two columns of one name",
        )
    for file in files:
        _compare(dataset, _schema(file), data)
    names = tuple(column.name for column in columns)
    write = Write(query, names, dataset, "overwrite", "parquet", partitions)
    return write, outputs.take(write, columns, outputs.NOTHING)


def _files(dataset: str) -> list[str]:
    try:
        found = outputs.look(dataset)
    except (OSError, pa.ArrowInvalid) as error:
        raise UnsupportedError(
            f"{display(dataset)} is no folder that can be read: {type(error).__name__}",
            hint="give the folder that the job wrote",
        ) from error
    if not found.files:
        state = "holds no data" if found.exists else "does not exist"
        raise NotFoundError(
            f"the output {display(dataset)} {state}",
            hint="a past run is recorded with the data it wrote; restore it, or run the job again",
        )
    return sorted(found.files)


def _partitions(dataset: str, files: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the partition columns, outermost first."""
    found = {
        tuple(
            unquote(unquote(folder).split("=", 1)[0])
            for folder in file.removeprefix(dataset).split("/")[:-1]
            if "=" in unquote(folder)
        )
        for file in files
    }
    if len(found) > 1:
        raise _differs(dataset, "its files are partitioned in different ways")
    return found.pop()


def _compare(dataset: str, found: Mapping[str, Types], wanted: Mapping[str, str]) -> None:
    """Raise an error that names what differs."""
    for name, types in found.items():
        if name not in wanted:
            raise _differs(dataset, f"it has the column {name!r}, which the query does not give")
        if _plain(wanted[name]) not in types:
            kind = " or ".join(types) or "of a type that Spark does not have"
            how = f"its column {name!r} is {kind}, the query's is {_plain(wanted[name])}"
            raise _differs(dataset, how)
    missing = [name for name in wanted if name not in found]
    if missing:
        raise _differs(dataset, f"it lacks the query's column {missing[0]!r}")


def _differs(dataset: str, how: str) -> UnsupportedError:
    return UnsupportedError(
        f"{display(dataset)} was not written by this query: {how}",
        hint="give the query with the columns, names and types of the data",
    )


def _schema(file: str) -> dict[str, Types]:
    """Return the types that each column of a Parquet file may be of."""
    filesystem, path = pafs.FileSystem.from_uri(file)
    try:
        with filesystem.open_input_file(path) as opened:
            schema = pq.ParquetFile(opened).schema_arrow
    except (OSError, pa.ArrowInvalid):
        raise UnsupportedError(
            f"file {file} is not a Parquet file that can be read",
            hint="only outputs in Parquet can be recorded afterwards",
        ) from None
    own = (schema.metadata or {}).get(_SPARK_SCHEMA)
    if own is not None:
        return {field["name"]: (_type(field["type"]),) for field in json.loads(own)["fields"]}
    return {field.name: _of_arrow(field.type) for field in schema}


def _of_arrow(type: pa.DataType) -> Types:
    """Return the Spark types that an Arrow type may stand for."""
    if pa.types.is_dictionary(type):
        type = type.value_type
    if pa.types.is_timestamp(type) and type.tz is None:
        return "timestamp", "timestamp_ntz"  # 96 bits, as Spark writes moments, have no zone
    try:
        return (_type(from_arrow_type(type, prefer_timestamp_ntz=True).jsonValue()),)
    except PySparkException:
        return ()


def _plain(type: str) -> str:
    return _type(json.loads(type) if is_nested(type) else type)


def _type(tree: Any) -> str:
    """Return the name of a type, without what a file does not keep: what may be null, comments."""
    return read_type(_essential(tree))


def _essential(tree: Any) -> Any:
    match tree:
        case dict():
            kept = {key: value for key, value in tree.items() if key not in _INCIDENTAL}
            return {k: value if k == "name" else _essential(value) for k, value in kept.items()}
        case list():
            return [_essential(part) for part in tree]
        case str() if tree.startswith(("char(", "varchar(")):
            return "string"
    return tree


_INCIDENTAL = frozenset({"nullable", "containsNull", "valueContainsNull", "metadata"})
