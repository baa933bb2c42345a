"""Write the index files between an output and a source: of all rows, and of what is needed of them.

Pairs come sorted from DuckDB, which puts aside what does not fit into its memory, and are encoded
piece by piece.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import BinaryIO, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lineage_core.errors import UnsupportedError
from lineage_core.index import record
from lineage_core.index.file import IndexWriter
from lineage_core.index.record import Direction, IndexPart, IndexSums, IndexTable
from lineage_core.index.relation import Integers, Relation, starts
from lineage_core.query.consuming.views import Views
from lineage_core.query.consuming.workload import Need, key, sql_of
from lineage_core.query.engines.duckdb import DuckDBEngine
from lineage_core.query.protocol import Given
from lineage_core.query.reader import Reader
from lineage_core.query.relations import Relations
from lineage_core.snapshot import RID_SHIFT, Snapshot
from lineage_core.store.filesystem import ArtifactStore

Found: TypeAlias = tuple[Given, str, str]
"""Pairs of rids in no order, some null or twice; and what `out_rid` and `in_rid` are called."""


@dataclass(frozen=True, slots=True)
class Building:
    """How far the indexes of one source are.

    Attributes:
        output: the dataset whose rows are indexed.
        source: the source.
        done: how many pairs are encoded, of all indexes together.
        total: how many there will be at most; 0 while they are still being found.
        left_out: why the source has no index; empty if it gets one.
    """

    output: str
    source: str
    done: int = 0
    total: int = 0
    left_out: str = ""


Progress = Callable[[Building], None]


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the indexes of one output.

    Attributes:
        store: where they go.
        path: what their names begin with.
        relations: the output's lineage program.
        reader: reads rows of its datasets.
        engine: puts pairs in order, and evaluates views of them.
        build: tells the files for a workload from those of another build, which stay good until
            the record is of these. Files of all pairs are the same in each.
    """

    store: ArtifactStore
    path: str
    relations: Relations
    reader: Reader
    engine: DuckDBEngine
    build: str = field(default_factory=lambda: token_hex(4))

    def write(
        self,
        leaf: int,
        found: Found,
        needs: Mapping[Direction, tuple[Need, ...]],
        state: Building,
        progress: Progress,
    ) -> tuple[int, tuple[IndexPart, ...], tuple[IndexSums, ...]]:
        """Write what is needed of the pairs of the output and a source.

        Args:
            leaf: the source's step.
            found: the pairs.
            needs: what is needed, by direction.
            state: how far it is.
            progress: is told.

        Returns:
            how many pairs there are at most in an index, the indexes, and the sums.
        """
        parts: list[IndexPart] = []
        sums: list[IndexSums] = []
        views = {d: {_view(need): need for need in each} for d, each in needs.items()}
        rows = found[0].num_rows if isinstance(found[0], pa.Table) else found[0].rows
        total, done, pairs = rows * sum(map(len, views.values())), 0, 0
        for direction, each in views.items():
            seen = self._views(leaf, found, direction)
            for number, need in enumerate(each.values()):

                def advance(given: int, before: int = done) -> None:
                    progress(replace(state, done=before + given, total=total))

                name = self._name(leaf, direction, number if need.where or need.by else None)
                part, given = self._part(leaf, seen, direction, name, need, advance)
                parts.append(part)
                pairs, done = max(pairs, given), done + rows
            added = {key(need): need for need in needs[direction] if need.of}
            for number, need in enumerate(added.values()):
                name = self._name(leaf, direction, number)
                # Else the rows are added up when they are asked for.
                with suppress(UnsupportedError):
                    sums.append(self._sums(seen, direction, f"{name}-sums.parquet", need))
        return pairs, tuple(parts), tuple(sums)

    def _views(self, leaf: int, found: Found, direction: Direction) -> Views:
        table, out, in_ = found
        backward = direction is Direction.BACKWARD
        ends = (out, in_) if backward else (in_, out)
        step = leaf if backward else 0
        return Views(self.engine, self.reader, self.relations, step, (table, *ends))

    def _part(
        self,
        leaf: int,
        views: Views,
        direction: Direction,
        name: str,
        need: Need,
        advance: Callable[[int], None],
    ) -> tuple[IndexPart, int]:
        """Write one index; return what is known of it, and how many pairs it has."""
        values, kept = self._values(views, name, need)
        if values is None:
            need = replace(need, by=())
        where, by = sql_of(need.where), sql_of(need.by)
        batches = views.partitioned(need.where, need.by, values)
        with self.store.writing(f"{name}.rlx") as sink:
            shape = self._shape(leaf, direction, values)
            subject = self._subject(leaf, direction, where, by)
            writer = IndexWriter(sink, shape, len(shape) - 1, subject)
            for part in _distinct(batches, len(shape) - 1):
                writer.add(part)
                advance(writer.given)
            writer.finish()
            size = sink.tell()
        return IndexPart(direction, f"{name}.rlx", size, where, by, kept), writer.given

    def _values(
        self, views: Views, name: str, need: Need
    ) -> tuple[pa.Table | None, IndexTable | None]:
        """Write the values that rows are partitioned by; none where they cannot be."""
        if not need.by:
            return None, None
        try:
            values = views.values(need.where, need.by)
            path = f"{name}-values.parquet"
            return values, self._table(path, values.schema, values.to_batches())
        except UnsupportedError:
            return None, None

    def _sums(self, views: Views, direction: Direction, name: str, need: Need) -> IndexSums:
        by = (*need.by, *need.groups)
        batches = iter(views.sums(need.where, by, need.of))
        first = next(batches)
        table = self._table(name, first.schema, [first, *batches])
        texts = sql_of(need.where), sql_of(by), sql_of(need.of)
        return IndexSums(direction, table, *texts, views.disjoint(need.where))

    def _table(self, path: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> IndexTable:
        with self.store.writing(path) as sink:
            summed = _Digested(sink)
            with _parquet(summed, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            return IndexTable(path, summed.size, summed.digest.hexdigest())

    def _name(self, leaf: int, direction: Direction, number: int | None) -> str:
        at = self.relations.program.steps[leaf].at
        return f"{self.path}-{at}-{direction}{'' if number is None else f'-{self.build}-{number}'}"

    def _subject(
        self, leaf: int, direction: Direction, where: Sequence[str], by: Sequence[str]
    ) -> str:
        output, source = self.relations.snapshots[0].id, self.relations.snapshots[leaf].id
        at = self.relations.program.steps[leaf].at
        return record.subject(output, source, at, direction, record.view(where, by))

    def _shape(self, leaf: int, direction: Direction, values: pa.Table | None) -> tuple[int, ...]:
        ends = [_extent(self.relations.snapshots[step]) for step in (0, leaf)]
        first, last = ends if direction is Direction.BACKWARD else ends[::-1]
        return (first, last) if values is None else (first, max(len(values), 1), last)


class _Digested:
    """Hands on what is written, and sums it up."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self.digest = hashlib.sha256()
        self.size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        self.size += len(data)
        self._sink.write(data)
        return len(data)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._sink.flush()

    def close(self) -> None:
        self.closed = True


def _parquet(sink: _Digested, schema: pa.Schema) -> pq.ParquetWriter:
    try:
        return pq.ParquetWriter(pa.PythonFile(sink, "w"), schema, compression="zstd")
    except pa.ArrowNotImplementedError:
        raise UnsupportedError(
            "Parquet files do not hold values of all types", hint="compare and group by others"
        ) from None


def _view(need: Need) -> object:
    return sql_of(need.where), sql_of(need.by)


def _distinct(batches: Iterable[pa.RecordBatch], keys: int) -> Iterator[Relation]:
    """Yield the pairs of batches that are in order, each once; the first columns are keys."""
    last: Integers | None = None
    for batch in batches:
        pairs = np.stack([column.to_numpy() for column in batch.columns])
        new = starts(pairs)
        if last is not None and len(new):
            new[0] = bool((pairs[:, 0] != last).any())
        if len(new):
            last = pairs[:, -1]
            pairs = pairs[:, new]
            yield Relation(pairs[:keys], pairs[keys:])


def _extent(snapshot: Snapshot) -> int:
    """Return a number above all rids of a snapshot."""
    return max(len(snapshot.files), 1) << RID_SHIFT
