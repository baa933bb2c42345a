"""Edges: the rid indexes between an output and its sources, opened for questions (DESIGN 4.7).

An index says end to end which rows of two snapshots are related. Nothing between them is read when
it is asked, so what changes afterwards cannot make it wrong.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as LocalPath
from threading import Lock
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq

from lineage_core.datasets import local_path
from lineage_core.errors import CorruptError
from lineage_core.index import record
from lineage_core.index.cells import Cells
from lineage_core.index.file import Index, IndexFile
from lineage_core.index.record import (
    Direction,
    IndexEntry,
    IndexPart,
    IndexRecord,
    IndexSums,
    IndexTable,
)
from lineage_core.query.chain import Path
from lineage_core.query.pairing import SCHEMA, sorted_pairs
from lineage_core.store.filesystem import ArtifactStore

_KEPT = 32
"""Outputs whose indexes stay open."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """An index of some of the rows, or of parts of them, which a workload asks for.

    Attributes:
        part: what it is of.
        index: looked up by rid; and by the number of the values of `part.by`, where there are any.
        values: these values, as `v<i>`, with their `number`.
    """

    part: IndexPart
    index: Index
    values: pa.Table | None


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Aggregates of parts of the rows: what they are of, and the table `IndexSums` tells of."""

    part: IndexSums
    table: pa.Table


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """What a workload made ready between an output and a source, opened when first asked for.

    Attributes:
        output: id of the output's snapshot.
        entry: what there is.
    """

    output: str
    entry: IndexEntry
    _store: ArtifactStore
    _kept: dict[str, View | Sums] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[IndexPart, ...]:
        """The indexes of some of the rows, or of parts of them."""
        return tuple(part for part in self.entry.parts if not part.is_plain)

    @property
    def sums(self) -> tuple[IndexSums, ...]:
        """The aggregates."""
        return self.entry.sums

    def view(self, part: IndexPart) -> View:
        """Return one of the indexes.

        Raises:
            CorruptError: it is not as it was written.
        """
        if part.path not in self._kept:
            subject = _subject(self.output, self.entry, part)
            values = self._table(part.values) if part.values is not None else None
            self._kept[part.path] = View(part, _open(self._store, part.path, subject), values)
        return cast(View, self._kept[part.path])

    def summed(self, part: IndexSums) -> Sums:
        """Return some of the aggregates.

        Raises:
            CorruptError: they are not as they were written.
        """
        if part.table.path not in self._kept:
            self._kept[part.table.path] = Sums(part, self._table(part.table))
        return cast(Sums, self._kept[part.table.path])

    def _table(self, table: IndexTable) -> pa.Table:
        data = self._store.read(table.path)
        if len(data) != table.size or hashlib.sha256(data).hexdigest() != table.digest:
            raise CorruptError(
                f"{self._store.uri(table.path)} is not as it was written",
                hint="build the index again",
            )
        return pq.read_table(pa.BufferReader(data))


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """The indexes between an output and a source.

    Attributes:
        output: id of the snapshot whose rows are the one end.
        source: id of that of the other.
        indexes: the index of all rows of each direction that there is one of.
        ready: what else there is.
    """

    output: str
    source: str
    indexes: Mapping[Direction, Index]
    ready: Ready | None = None

    def rows(self, asked: Cells, direction: Direction) -> Cells:
        """Return the rids at the other end of the rows `asked`."""
        return self.indexes[direction].related(asked)

    def pairs(self, asked: Cells, direction: Direction) -> pa.Table:
        """Return the pairs (`out_rid`, `in_rid`) of the rows `asked` and those at the other end."""
        found = self.indexes[direction].pairs_of(asked)
        if direction is Direction.BACKWARD:  # in the order of the keys, as pairs are
            return pa.table([found.keys[0], found.values[0]], schema=SCHEMA)
        return sorted_pairs(pa.table([found.values[0], found.keys[0]], schema=SCHEMA))


class Indexes:
    """The indexes of a store, opened when first asked; safe to use from several threads."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store
        self._open: OrderedDict[tuple[str, int], tuple[bytes, Mapping[int, Edge]]] = OrderedDict()
        self._lock = Lock()

    def workload(self, run_id: str, output: int) -> tuple[str, ...] | None:
        """Return what the indexes of a run's output were built for; None if there are none."""
        path = record.path(self._store.run_path(run_id), output)
        if not self._store.exists(path):
            return None
        return record.loads(self._store.read(path), self._store.uri(path)).workload

    def edges(self, run_id: str, output: int) -> Mapping[int, Edge]:
        """Return the edges of a run's output, by place in its plan; none if there is no index.

        Raises:
            CorruptError: an index is not as it was written.
        """
        path = record.path(self._store.run_path(run_id), output)
        if not self._store.exists(path):
            return {}
        data = self._store.read(path)
        key = (run_id, output)
        with self._lock:
            known, edges = self._open.get(key, (b"", {}))
            if known != data:
                found = record.loads(data, self._store.uri(path))
                edges = {entry.at: self._edge(found, entry) for entry in found.entries}
                self._open[key] = data, edges
            self._open.move_to_end(key)
            if len(self._open) > _KEPT:
                self._open.popitem(last=False)
            return edges

    def _edge(self, found: IndexRecord, entry: IndexEntry) -> Edge:
        indexes = {
            part.direction: _open(self._store, part.path, _subject(found.snapshot, entry, part))
            for part in entry.parts
            if part.is_plain
        }
        ready = Ready(found.snapshot, entry, self._store)
        return Edge(found.snapshot, entry.snapshot, indexes, ready)


def _subject(output: str, entry: IndexEntry, part: IndexPart) -> str:
    view = record.view(part.where, part.by)
    return record.subject(output, entry.snapshot, entry.at, part.direction, view)


def _open(store: ArtifactStore, path: str, subject: str) -> Index:
    local = local_path(store.uri(path))
    if local is None:
        return Index(memoryview(store.read(path)), subject)
    try:
        return IndexFile(LocalPath(local), subject)
    except FileNotFoundError:
        raise CorruptError(f"{store.uri(path)} is gone", hint="build the index again") from None


def edge_of(path: Path) -> Edge | None:
    """Return the edge whose index of all rows leads from one end of a path to the other, if any."""
    edge = edge_between(path)
    return edge if edge is not None and path.direction in edge.indexes else None


def edge_between(path: Path) -> Edge | None:
    """Return the edge between the ends of a path; None if none was built of them."""
    ends = path.steps[0], path.steps[-1]
    top, leaf = min(ends), max(ends)
    edge = path.relations.indexes.get(leaf) if top == 0 else None
    if edge is None or len(path.steps) == 1:
        return None
    output, source = (path.relations.snapshots[step].id for step in (top, leaf))
    return edge if (edge.output, edge.source) == (output, source) else None
