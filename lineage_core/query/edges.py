"""Edges: the rid indexes between an output and its sources, opened for questions (DESIGN 4.7).

An index says end to end which rows of two snapshots are related. Nothing between them is read when
it is asked, so what changes afterwards cannot make it wrong.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as LocalPath
from threading import Lock

import pyarrow as pa

from lineage_core.datasets import local_path
from lineage_core.index import record
from lineage_core.index.cells import Cells, cells
from lineage_core.index.file import Index, IndexFile
from lineage_core.index.record import Direction, IndexEntry, IndexRecord
from lineage_core.query.chain import Path
from lineage_core.query.pairing import SCHEMA, sorted_pairs
from lineage_core.store.filesystem import ArtifactStore

_KEPT = 32
"""Outputs whose indexes stay open."""


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """The indexes between an output and a source.

    Attributes:
        output: id of the snapshot whose rows are the one end.
        source: id of that of the other.
        indexes: the index of each direction that there is one of.
    """

    output: str
    source: str
    indexes: Mapping[Direction, Index]

    def rows(self, rids: pa.Int64Array, direction: Direction) -> Cells:
        """Return the rids at the other end of the rows `rids`, as ranges."""
        return self.indexes[direction].related(cells([rids]))

    def pairs(self, rids: pa.Int64Array, direction: Direction) -> pa.Table:
        """Return the pairs (`out_rid`, `in_rid`) of the rows `rids` and those at the other end."""
        found = self.indexes[direction].pairs_of(cells([rids]))
        if direction is Direction.BACKWARD:  # in the order of the keys, as pairs are
            return pa.table([found.keys[0], found.values[0]], schema=SCHEMA)
        return sorted_pairs(pa.table([found.values[0], found.keys[0]], schema=SCHEMA))


class Indexes:
    """The indexes of a store, opened when first asked; safe to use from several threads."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store
        self._open: OrderedDict[tuple[str, int], tuple[bytes, Mapping[int, Edge]]] = OrderedDict()
        self._lock = Lock()

    def has(self, run_id: str, output: int) -> bool:
        """Whether there are indexes of a run's output."""
        return self._store.exists(record.path(self._store.run_path(run_id), output))

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
            part.direction: self._index(
                part.path, record.subject(found.snapshot, entry.snapshot, entry.at, part.direction)
            )
            for part in entry.parts
        }
        return Edge(found.snapshot, entry.snapshot, indexes)

    def _index(self, path: str, subject: str) -> Index:
        local = local_path(self._store.uri(path))
        if local is None:
            return Index(memoryview(self._store.read(path)), subject)
        return IndexFile(LocalPath(local), subject)


def edge_of(path: Path) -> Edge | None:
    """Return the edge from one end of a path to the other; None if none was built of its ends."""
    ends = path.steps[0], path.steps[-1]
    top, leaf = min(ends), max(ends)
    edge = path.relations.indexes.get(leaf) if top == 0 else None
    if edge is None or len(path.steps) == 1:
        return None
    output, source = (path.relations.snapshots[step].id for step in (top, leaf))
    fits = (edge.output, edge.source) == (output, source) and path.direction in edge.indexes
    return edge if fits else None
