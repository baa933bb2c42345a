"""What is known of the indexes of one output of a run: the file that is written after all others.

runs/<run id>/index/<output>.json                        the record, replaced at once
runs/<run id>/index/<output>-<place>-<direction>.rlx     an index
"""

from __future__ import annotations

from dataclasses import dataclass

from lineage_core import codec
from lineage_core.errors import CorruptError

VERSION = 1


@dataclass(frozen=True, slots=True)
class IndexPart:
    """An index file: its path in the store, and size in bytes; it holds checksums itself."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The two indexes between an output and one place where its plan reads a source.

    Attributes:
        at: that place.
        source: which of the run's inputs it is.
        dataset: its name.
        snapshot: id of its snapshot.
        pairs: how many pairs of rows are related.
        backward: looked up by output row.
        forward: looked up by source row.
    """

    at: int
    source: int
    dataset: str
    snapshot: str
    pairs: int
    backward: IndexPart
    forward: IndexPart


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """The indexes of one output.

    Attributes:
        version: of this form.
        dataset: the output's name.
        snapshot: id of its snapshot.
        entries: an entry for each place that reads rows with ids.
    """

    version: int
    dataset: str
    snapshot: str
    entries: tuple[IndexEntry, ...]


def folder(run_path: str) -> str:
    """Return where the indexes of a run are."""
    return f"{run_path}/index"


def path(run_path: str, output: int) -> str:
    """Return where the record of the indexes of a run's output is."""
    return f"{folder(run_path)}/{output}.json"


def subject(output: str, source: str, at: int, direction: str) -> str:
    """Return what an index file says it is of: two snapshots, a place and a direction."""
    return f"{direction} {output} {source} {at}"


def dumps(record: IndexRecord) -> bytes:
    """Return the bytes of a record."""
    return codec.dumps(record).encode()


def loads(data: bytes, uri: str) -> IndexRecord:
    """Return the record that was written.

    Raises:
        CorruptError: it is none, or of another version.
    """
    record = codec.loads(data, IndexRecord)
    if record.version != VERSION:
        raise CorruptError(
            f"{uri} has version {record.version}; this is for version {VERSION}",
            hint="build the indexes again: row-lineage index",
        )
    return record
