"""Snapshots: the files a dataset consisted of at one moment, and the row ids they give (DESIGN
4.2).

A **rid** names a row of a snapshot: `file_number << 40 | row_index`, where `file_number` counts the
snapshot's files in their order and `row_index` the rows of one Parquet file from 0. A snapshot is
only good for answering as long as every file is still what it was: `verify` compares size and a
digest of the file's end and raises `ChangedError` naming the first file that differs. A Parquet
footer holds the place and the statistics of every column chunk, so any ordinary rewrite shows in
it; the digest takes in more than the footer because in a small file the same values in another
order can leave the footer as it was. What it does not see is a byte flipped in the middle of a big
file: that is for Parquet's own page checksums.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter

import pyarrow.fs as pafs

from lineage_core.errors import ChangedError
from lineage_core.filesystems import locate
from lineage_core.plan.expr import DataType

RID_SHIFT = 40
"""Bits of a rid that count rows; the rest count files."""

_END = 1 << 16  # bytes at a file's end that one read fetches and the digest takes in
_BLOCK = 1 << 20
_MAGIC = (b"PAR1", b"PARE")  # PARE: with an encrypted footer
_READERS = 16  # threads: they wait for the filesystem, not for a processor
_FEW = 4  # as many files are read sooner than threads are started


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A dataset column as stored: its name and Spark type."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a snapshot.

    Attributes:
        path: absolute URI (`file:///...`, `s3://...`). size: bytes. modified: last modification,
        milliseconds since the epoch. digest: SHA-256 of a Parquet file's end, at least its footer;
        of all of it for other formats. partition: values of the partition columns as text, in the
        order of the snapshot's partition columns.
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
        """Digest of what the files hold: two snapshots of the same bytes at the same paths have one
        id."""
        digest = hashlib.sha256(self.dataset.encode("utf-8", "surrogateescape"))
        for file in self.files:
            digest.update(
                f"\0{file.path}\0{file.size}\0{file.digest}".encode("utf-8", "surrogateescape")
            )
        return digest.hexdigest()[:32]


def data_file(
    path: str, partition: tuple[str | None, ...] = (), *, whole: bool = False
) -> DataFile:
    """Return the record of the file at URI `path` as it is now.

    Args:
        path: an absolute URI.
        partition: the file's partition values.
        whole: digest the whole content, for formats without a footer.

    Raises:
        ChangedError: the file is not there, or cannot be read.
    """
    [(filesystem, inner)] = locate([path])
    return _data_file(filesystem, inner, path, partition, whole)


def verify(snapshot: Snapshot, *, what: str = "dataset") -> None:
    """Check that every file of `snapshot` is still what it was.

    Raises:
        ChangedError: one is not; the first in order is named.
    """
    hint = "ask about a run whose files are still there (row-lineage runs), or restore the file"
    now = _data_files([(file.path, file.partition) for file in snapshot.files], snapshot.format)
    try:
        for recorded, current in zip(snapshot.files, now, strict=True):
            if (current.size, current.digest) != (recorded.size, recorded.digest):
                raise ChangedError(f"file {recorded.path} was changed since it was recorded")
    except ChangedError as error:
        raise ChangedError(f"{what} {snapshot.dataset}: {error.what}", hint=hint) from None


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
    """Return the snapshot of the files at `paths` (URI and partition values), as they are now.

    Raises:
        ChangedError: a file is not there.
    """
    files = tuple(_data_files(sorted(paths, key=itemgetter(0)), format))
    return Snapshot(dataset, format, tuple(columns), files, partition_columns, options, alias)


def _data_files(
    paths: Sequence[tuple[str, tuple[str | None, ...]]], format: str
) -> Iterator[DataFile]:
    """Return the records of files as they are now, in order; of many, read by several threads."""
    whole = format != "parquet"
    places = locate(path for path, _ in paths)
    if len(paths) <= _FEW:
        for (filesystem, inner), (path, partition) in zip(places, paths, strict=True):
            yield _data_file(filesystem, inner, path, partition, whole)
        return
    with ThreadPoolExecutor(_READERS) as pool:
        waiting = [
            pool.submit(_data_file, filesystem, inner, path, partition, whole)
            for (filesystem, inner), (path, partition) in zip(places, paths, strict=True)
        ]
        try:
            for future in waiting:
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _data_file(
    filesystem: pafs.FileSystem,
    inner: str,
    path: str,
    partition: tuple[str | None, ...],
    whole: bool,
) -> DataFile:
    try:
        info = filesystem.get_file_info(inner)
        if info.type != pafs.FileType.File:
            raise FileNotFoundError(inner)
        modified = (info.mtime_ns or 0) // 1_000_000
        digest = _digest(filesystem, inner, info.size, whole)
    except FileNotFoundError:
        raise ChangedError(f"file {path} was removed") from None
    except OSError as error:
        raise ChangedError(f"file {path} cannot be read: {error}") from error
    return DataFile(path, info.size, modified, digest, partition)


def _digest(filesystem: pafs.FileSystem, path: str, size: int, whole: bool) -> str:
    """Return the SHA-256 of the file's last bytes, of all of it when it has no sound Parquet
    footer."""
    with filesystem.open_input_file(path) as file:
        end = file.read_at(min(size, _END), max(0, size - _END))
        footer = int.from_bytes(end[-8:-4], "little") + 8  # its length and the magic follow it
        start = max(0, size - max(footer, _END))
        if whole or end[-4:] not in _MAGIC or footer > size:
            start = 0
        if start >= size - len(end):
            return hashlib.sha256(end).hexdigest()
        file.seek(start)
        digest = hashlib.sha256()
        while block := file.read(_BLOCK):
            digest.update(block)
        return digest.hexdigest()
