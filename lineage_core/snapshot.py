"""Snapshots: the files a dataset consisted of at one moment, and the row ids they give (DESIGN 4.2).

A **rid** names a row of a snapshot: `file_number << 40 | row_index`, where `file_number` counts the
snapshot's files in their order and `row_index` the rows of one Parquet file from 0. A snapshot is only
good for answering as long as every file is still what it was: `verify` compares size and a digest of the
Parquet footer and raises `ChangedError` naming the first file that differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow.fs as pafs

from lineage_core.errors import ChangedError
from lineage_core.plan.expr import DataType

RID_SHIFT = 40
"""Bits of a rid that count rows; the rest count files."""

_FOOTER_LENGTH = 8  # a Parquet file ends with the footer's length (4 bytes) and the magic "PAR1"


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A dataset column as stored: its name and Spark type."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a snapshot.

    Attributes:
        path: absolute URI (`file:///...`, `s3://...`).
        size: bytes.
        modified: last modification, milliseconds since the epoch.
        digest: SHA-256 of the Parquet footer, of the whole file for other formats.
        partition: values of the partition columns as text, in the order of the snapshot's partition columns.
    """

    path: str
    size: int
    modified: int
    digest: str
    partition: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a dataset that a run read or wrote.

    Attributes:
        dataset: the dataset's canonical name, a URI without trailing slash (`file:///data/orders`).
        format: `parquet`, `csv`, ...; only Parquet has rids. Empty when nothing is known about it.
        columns: all columns with their types, partition columns last.
        files: the files, ordered by path.
        partition_columns: how many of `columns`, from the end, are partition columns.
        options: reader options that change what the rows are (a CSV header, a delimiter).
        alias: the table name it was reached by (`spark_catalog.default.orders`); empty for a path.
    """

    dataset: str
    format: str
    columns: tuple[ColumnType, ...]
    files: tuple[DataFile, ...]
    partition_columns: int = 0
    options: tuple[tuple[str, str], ...] = ()
    alias: str = ""

    @property
    def has_rids(self) -> bool:
        return self.format == "parquet"

    @property
    def id(self) -> str:
        """Digest of what the files hold: two snapshots of the same bytes at the same paths have one id."""
        digest = hashlib.sha256(self.dataset.encode())
        for file in self.files:
            digest.update(f"\0{file.path}\0{file.size}\0{file.digest}".encode())
        return digest.hexdigest()[:32]


def data_file(path: str, partition: tuple[str | None, ...] = (), *, whole: bool = False) -> DataFile:
    """Return the record of the file at URI `path` as it is now.

    Args:
        path: an absolute URI.
        partition: the file's partition values.
        whole: digest the whole content, for formats without a footer.

    Raises:
        ChangedError: the file is not there.
    """
    filesystem, inner = pafs.FileSystem.from_uri(path)
    info = filesystem.get_file_info(inner)
    if info.type != pafs.FileType.File:
        raise ChangedError(f"file {path} is not there any more")
    modified = int(info.mtime_ns // 1_000_000) if info.mtime_ns is not None else 0
    return DataFile(path, info.size, modified, _digest(filesystem, inner, info.size, whole), partition)


def verify(snapshot: Snapshot, *, what: str = "dataset") -> None:
    """Check that every file of `snapshot` is still what it was; raise `ChangedError` otherwise."""
    for file in snapshot.files:
        hint = "ask about a run whose files are still there (row-lineage runs), or restore the file"
        try:
            now = data_file(file.path, whole=snapshot.format != "parquet")
        except ChangedError:
            raise ChangedError(
                f"{what} {snapshot.dataset}: file {file.path} was removed since it was recorded", hint=hint
            ) from None
        if (now.size, now.digest) != (file.size, file.digest):
            raise ChangedError(
                f"{what} {snapshot.dataset}: file {file.path} was changed since it was recorded", hint=hint
            )


def take(
    dataset: str,
    format: str,
    columns: Iterable[ColumnType],
    paths: Iterable[tuple[str, tuple[str | None, ...]]],
    *,
    partition_columns: int = 0,
    options: tuple[tuple[str, str], ...] = (),
    alias: str = "",
) -> Snapshot:
    """Return the snapshot of the files at `paths` (URI and partition values), as they are now."""
    whole = format != "parquet"
    files = tuple(data_file(path, partition, whole=whole) for path, partition in sorted(paths))
    return Snapshot(dataset, format, tuple(columns), files, partition_columns, options, alias)


def _digest(filesystem: pafs.FileSystem, path: str, size: int, whole: bool) -> str:
    with filesystem.open_input_file(path) as file:
        if whole:
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
            return digest.hexdigest()
        tail = file.read_at(min(size, _FOOTER_LENGTH), max(0, size - _FOOTER_LENGTH))
        length = int.from_bytes(tail[:4], "little") + _FOOTER_LENGTH
        return hashlib.sha256(file.read_at(min(length, size), max(0, size - length))).hexdigest()
