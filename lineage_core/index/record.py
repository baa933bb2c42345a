"""What is known of the indexes of one output of a run: the file that is written after all others.

runs/<run id>/index/<output>.json                        the record, replaced at once
runs/<run id>/index/<output>-<place>-<direction>.rlx     an index
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from lineage_core import codec
from lineage_core.errors import CorruptError

VERSION = 2


class Direction(StrEnum):
    """Which way a question goes: to what rows came from, or to what they went into.

    An index of a direction is looked up by the rows that the question starts from.
    """

    BACKWARD = "backward"
    FORWARD = "forward"


@dataclass(frozen=True, slots=True)
class IndexTable:
    """A Parquet file of an index: its path in the store, size in bytes, and SHA-256."""

    path: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class IndexPart:
    """An index file; it holds checksums itself.

    Attributes:
        direction: by which rows it is looked up.
        path: its path in the store.
        size: its size in bytes.
        where: SQL conditions, all of which hold for the rows found; none for all rows.
        by: SQL expressions of the rows found, by whose values it is partitioned: it is looked up
            by the number of their values, too. None where it is not.
        values: the values of `by`, and their numbers.
    """

    direction: Direction
    path: str
    size: int
    where: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    values: IndexTable | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is of all rows, as they are."""
        return not (self.where or self.by)


@dataclass(frozen=True, slots=True)
class IndexSums:
    """Partial aggregates of the rows found, by row looked up and group.

    Attributes:
        direction: by which rows it is looked up.
        table: `key`, `d<i>` for each expression of `by`, `a<i>` for each aggregate of `of`.
        where: SQL conditions, all of which hold for the rows found.
        by: SQL expressions of the rows found, by whose values they are grouped.
        of: SQL aggregates of each group.
        disjoint: whether no row was found for two rows looked up, so that groups may be added up.
    """

    direction: Direction
    table: IndexTable
    where: tuple[str, ...]
    by: tuple[str, ...]
    of: tuple[str, ...]
    disjoint: bool


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The indexes between an output and one place where its plan reads a source.

    Attributes:
        at: that place.
        source: which of the run's inputs it is.
        dataset: its name.
        snapshot: id of its snapshot.
        pairs: how many pairs of rows are related.
        parts: the indexes.
        sums: the aggregates.
    """

    at: int
    source: int
    dataset: str
    snapshot: str
    pairs: int
    parts: tuple[IndexPart, ...]
    sums: tuple[IndexSums, ...] = ()

    @property
    def size(self) -> int:
        """How many bytes all that takes."""
        tables = [part.values for part in self.parts] + [sums.table for sums in self.sums]
        return sum(part.size for part in (*self.parts, *tables) if part is not None)

    @property
    def paths(self) -> tuple[str, ...]:
        """All files."""
        tables = [part.values for part in self.parts] + [sums.table for sums in self.sums]
        return tuple(part.path for part in (*self.parts, *tables) if part is not None)

    def part(self, direction: Direction) -> IndexPart | None:
        """Return the index of all rows of a direction, if there is one."""
        found = (p for p in self.parts if p.direction is direction and p.is_plain)
        return next(found, None)


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """The indexes of one output.

    Attributes:
        version: of this form.
        dataset: the output's name.
        snapshot: id of its snapshot.
        entries: an entry for each place that reads rows with ids, and is asked for.
        workload: the queries that they were built for; none if for any question.
    """

    version: int
    dataset: str
    snapshot: str
    entries: tuple[IndexEntry, ...]
    workload: tuple[str, ...] = ()


def folder(run_path: str) -> str:
    """Return where the indexes of a run are."""
    return f"{run_path}/index"


def path(run_path: str, output: int) -> str:
    """Return where the record of the indexes of a run's output is."""
    return f"{folder(run_path)}/{output}.json"


def subject(output: str, source: str, at: int, direction: Direction, view: str = "") -> str:
    """Return what an index file says it is of: two snapshots, a place, a direction, and a view."""
    return f"{direction} {output} {source} {at}{f' {view}' if view else ''}"


def view(where: Sequence[str], by: Sequence[str]) -> str:
    """Return what tells indexes of conditions and partitions from each other."""
    if not (where or by):
        return ""
    return hashlib.sha256(codec.dumps((tuple(where), tuple(by))).encode()).hexdigest()[:32]


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


def paths(data: bytes) -> tuple[str, ...]:
    """Return the files that a record tells of, which need not be one; none if it is not."""
    try:
        return tuple(path for entry in loads(data, "").entries for path in entry.paths)
    except CorruptError:
        return ()
