"""The files a write added, as a snapshot of its output.

Spark gives every file a name of its own, so what a write added is what is there after it and was
not before, in every mode and for every kind of partitioning.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

import pyarrow.fs as pafs
import pyarrow.parquet as pq

from lineage_core import snapshot
from lineage_core.capture.writes import Write
from lineage_core.snapshot import ColumnType, Snapshot

_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class Folder:
    """What is in a folder: URIs of its data files; `exists` even when there are none."""

    exists: bool
    files: frozenset[str]


NOTHING = Folder(False, frozenset())


def look(uri: str) -> Folder:
    """Return what is in the folder at `uri` now."""
    filesystem, root = pafs.FileSystem.from_uri(uri)
    exists = filesystem.get_file_info(root).type != pafs.FileType.NotFound
    selector = pafs.FileSelector(root, allow_not_found=True, recursive=True)
    files = (
        info.path.removeprefix(root).lstrip("/")
        for info in filesystem.get_file_info(selector)
        if info.type == pafs.FileType.File
    )
    return Folder(exists, frozenset(_join(uri, path) for path in files if _is_data(path)))


def take(write: Write, columns: tuple[ColumnType, ...], before: Folder) -> Snapshot:
    """Return the snapshot of the files that `write` added.

    Args:
        write: the write, done.
        columns: the written columns, in the order of the query's.
        before: its target before it.
    """
    partition = [column for name in write.partitions for column in columns if column.name == name]
    data = [column for column in columns if column not in partition]
    added = look(write.dataset).files - before.files
    return snapshot.take(
        write.dataset,
        write.format,
        (*data, *partition),
        [(path, _partition(path.removeprefix(write.dataset), write.partitions)) for path in added],
        partition_columns=len(partition),
        alias=write.alias,
    )


def count(output: Snapshot) -> int:
    """Return the rows in the files of a snapshot; -1 where that takes reading them."""
    if output.format != "parquet":
        return -1
    rows = 0
    for file in output.files:
        filesystem, path = pafs.FileSystem.from_uri(file.path)
        with filesystem.open_input_file(path) as opened:
            rows += pq.ParquetFile(opened).metadata.num_rows
    return rows


def _is_data(path: str) -> bool:
    """Whether Spark would read a file at this path below the dataset's folder."""
    return not any(
        part.startswith(".") or (part.startswith("_") and "=" not in part)
        for part in path.split("/")
    )


def _join(uri: str, path: str) -> str:
    return f"{uri}/{quote(path, safe=_SAFE, errors='surrogateescape')}"


_SAFE = "/-_.!~*'():@&=+$,;"  # as in canonical dataset names


def _partition(path: str, names: tuple[str, ...]) -> tuple[str | None, ...]:
    """Return the partition values in the folder names of a file's path below its dataset."""
    folders = dict(part.split("=", 1) for part in unquote(path).split("/")[:-1] if "=" in part)
    values = {unquote(name): unquote(value) for name, value in folders.items()}
    return tuple(None if values.get(name, _NULL) == _NULL else values[name] for name in names)


def clear_empty(uri: str) -> None:
    """Delete the folder at `uri` if a write that failed left it there without data."""
    if look(uri) == Folder(True, frozenset()):
        filesystem, root = pafs.FileSystem.from_uri(uri)
        filesystem.delete_dir(root)
