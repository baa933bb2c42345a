"""A dataset of Parquet files as it is now, captured or not: its snapshot, and its rows by number.

Rows are numbered from 0 in the order of their rids. Types are those that Spark gives the columns:
it wrote them into the footers itself, or they follow from Parquet's own. Columns that are told by
the names of folders (`day=3/`) are text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote, unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from sqlglot import exp

from lineage_core.datasets import display
from lineage_core.errors import NotFoundError, UnsupportedError
from lineage_core.filesystems import resolve
from lineage_core.query.engines.choice import Engines
from lineage_core.query.protocol import Engine
from lineage_core.snapshot import RID_SHIFT, ColumnType, Snapshot, take

Numbers: TypeAlias = npt.NDArray[np.int64]

_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_NULL = "__HIVE_DEFAULT_PARTITION__"
_SAFE = "/-_.!~*'():@&=+$,;"  # as in canonical dataset names

_SPARK = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.uint8(): "short",
    pa.uint16(): "integer",
    pa.uint32(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.date32(): "date",
}


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A dataset.

    Attributes:
        snapshot: its files, as they are.
        offsets: the number of each file's first row, and at last how many rows there are.
        engines: the engines there are.
        engine: the name of the one that reads it.
    """

    snapshot: Snapshot
    offsets: Numbers
    engines: Engines
    engine: str

    @property
    def rows(self) -> int:
        return int(self.offsets[-1])

    def rids(self, rows: Numbers) -> Numbers:
        """Return the rids of rows by their numbers."""
        file = np.searchsorted(self.offsets, rows, side="right") - 1
        return (file << RID_SHIFT) | (rows - self.offsets[file])

    def numbers(self, file: pa.ChunkedArray, row: pa.ChunkedArray) -> Numbers:
        """Return the numbers of rows by the two halves of their rids."""
        files, rows = (half.cast(pa.int64()).to_numpy() for half in (file, row))
        numbers: Numbers = self.offsets[files] + rows
        return numbers

    def ask(self, query: Callable[[Engine], exp.Query]) -> pa.Table:
        """Return the rows of a query, which is made for the engine that reads the dataset."""
        return self.engines.ask(self.engine, lambda engine: engine.run(query(engine), {}))


def holds_files(dataset: str) -> bool:
    """Whether there is a file that may be data at the canonical name `dataset`, or below it."""
    return bool(_found(dataset))


def table(dataset: str, engines: Engines, engine: str) -> Table:
    """Return the dataset of the canonical name `dataset`.

    Raises:
        NotFoundError: it holds no data.
        UnsupportedError: a file of it is no Parquet file.
    """
    paths = _found(dataset)
    if not paths:
        raise NotFoundError(
            f"{display(dataset)} holds no data", hint="give a Parquet file, or a folder of them"
        )
    columns: dict[str, str] = {}
    counts = []
    for path in paths:
        types, rows = _footer(path)
        columns = types | columns
        counts.append(rows)
    names = _partitions(dataset, paths)
    data = [ColumnType(*column) for column in columns.items() if column[0] not in names]
    parts = [(path, _values(path.removeprefix(dataset), names)) for path in paths]
    found = take(
        dataset,
        "parquet",
        [*data, *(ColumnType(name, "string") for name in names)],
        parts,
        partition_columns=len(names),
    )
    offsets = np.concatenate(([0], np.cumsum(np.array(counts, dtype=np.int64))))
    return Table(found, offsets, engines, engine)


def _found(dataset: str) -> list[str]:
    """Return the URIs of a dataset's files, in order."""
    filesystem, root = resolve(dataset)
    try:
        if filesystem.get_file_info(root).type == pafs.FileType.File:
            return [dataset]
        selector = pafs.FileSelector(root, allow_not_found=True, recursive=True)
        infos = filesystem.get_file_info(selector)
    except (OSError, pa.ArrowInvalid) as error:
        raise UnsupportedError(
            f"{display(dataset)} cannot be read: {type(error).__name__}",
            hint="give a Parquet file, or a folder of them",
        ) from error
    inner = (info.path.removeprefix(root).lstrip("/") for info in infos if info.is_file)
    return sorted(
        f"{dataset}/{quote(path, safe=_SAFE, errors='surrogateescape')}"
        for path in inner
        if _is_data(path)
    )


def _is_data(path: str) -> bool:
    """Whether Spark would read a file at this path below the dataset's folder."""
    return not any(
        part.startswith(".") or (part.startswith("_") and "=" not in part)
        for part in path.split("/")
    )


def _footer(uri: str) -> tuple[dict[str, str], int]:
    """Return the columns of a Parquet file, by name with Spark's type, and how many rows it has."""
    filesystem, path = resolve(uri)
    try:
        with filesystem.open_input_file(path) as opened:
            file = pq.ParquetFile(opened)
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except (OSError, pa.ArrowInvalid):
        raise UnsupportedError(
            f"file {uri} is not a Parquet file that can be read",
            hint="only the rows of Parquet files have ids",
        ) from None
    own = (schema.metadata or {}).get(_SPARK_SCHEMA)
    if own is not None:
        return {f["name"]: _text(f["type"]) for f in json.loads(own)["fields"]}, rows
    return {field.name: _of_arrow(field.type) for field in schema}, rows


def _text(type: object) -> str:
    return type if isinstance(type, str) else json.dumps(type)


def _of_arrow(type: pa.DataType) -> str:
    if pa.types.is_dictionary(type):
        type = type.value_type
    if pa.types.is_timestamp(type):
        return "timestamp_ntz" if type.tz is None else "timestamp"
    if pa.types.is_decimal(type):
        return f"decimal({type.precision},{type.scale})"
    return _SPARK.get(type, str(type))


def _partitions(dataset: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns that folders are named for, outermost first."""
    found = {tuple(name for name, _ in _folders(path.removeprefix(dataset))) for path in paths}
    if len(found) > 1:
        raise UnsupportedError(
            f"the files of {display(dataset)} are partitioned in different ways",
            hint="give a folder whose files have the same partition columns",
        )
    return found.pop()


def _values(path: str, names: Sequence[str]) -> tuple[str | None, ...]:
    values = dict(_folders(path))
    return tuple(None if values[name] == _NULL else values[name] for name in names)


def _folders(path: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of the partition columns in a file's path below its dataset."""
    for folder in unquote(path, errors="surrogateescape").split("/")[:-1]:
        name, equals, value = folder.partition("=")
        if equals:
            yield unquote(name), unquote(value)
