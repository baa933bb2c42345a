"""Build the rid indexes of a captured output from its lineage program (DESIGN 4.7, *defer*).

The pairs of a source are spooled to files, sorted both ways by DuckDB, which puts aside what does
not fit into its memory, and encoded piece by piece: an index may be much larger than memory. What
is in memory are two gigabytes at most for DuckDB, and some million pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from sqlglot import exp

from lineage_core.datasets import display
from lineage_core.errors import UnsupportedError
from lineage_core.index import record
from lineage_core.index.file import IndexWriter
from lineage_core.index.record import Direction, IndexEntry, IndexPart, IndexRecord
from lineage_core.index.relation import Integers, Relation, starts
from lineage_core.query import sql
from lineage_core.query.carried import check, pairs_of, relations_of
from lineage_core.query.chain import Path
from lineage_core.query.engines.choice import Engines
from lineage_core.query.engines.duckdb import DuckDBEngine
from lineage_core.query.evaluate import IN_RID, OUT_RID
from lineage_core.query.protocol import Given
from lineage_core.query.reader import Reader
from lineage_core.query.relations import Computed, Relations
from lineage_core.query.selection import EVERYTHING
from lineage_core.query.spool import spool
from lineage_core.snapshot import RID_SHIFT, Snapshot
from lineage_core.store.carried import Carried
from lineage_core.store.filesystem import ArtifactStore
from lineage_core.store.manifest import OutputRecord

_PAIRS = "pairs"


@dataclass(frozen=True, slots=True)
class Building:
    """How far the indexes of one source are.

    Attributes:
        output: the dataset whose rows are indexed.
        source: the source.
        done: how many pairs are encoded, of both directions together.
        total: how many there will be at most; 0 while they are still being found.
        left_out: why the source has no index; empty if it gets one.
    """

    output: str
    source: str
    done: int = 0
    total: int = 0
    left_out: str = ""


Progress = Callable[[Building], None]

Relate = Callable[[Callable[[Computed], int]], Relations]
"""Gives a lineage program, given what computes a plan of a single count."""

Found = tuple[Given, str, str]
"""Pairs of rids in no order, some null or twice; and what `out_rid` and `in_rid` are called."""


def build(
    store: ArtifactStore,
    run_id: str,
    output: int,
    relate: Relate,
    engine: str,
    progress: Progress = lambda _: None,
    *,
    carried: tuple[Carried, OutputRecord] | None = None,
) -> IndexRecord:
    """Build the indexes of a run's output, in place of older ones; return what is known of them.

    Args:
        store: where they go.
        run_id: the run.
        output: position of the output among the run's.
        relate: gives its lineage program.
        engine: evaluates it.
        progress: is told how far it is.
        carried: what the write left for it, and its record; then the program need not be evaluated.

    Raises:
        UnsupportedError: the rows of the output have no ids.
        ChangedError: a file that the program depends on is not what it was.
    """
    base = store.run_path(run_id)
    with spool(store, record.folder(base)) as aside:
        engines = Engines(aside.scratch)
        reader = Reader(engines, engine, aside)
        relations = relate(reader.compute_count)
        target = relations.snapshots[0]
        if not target.has_rids:
            raise UnsupportedError(
                f"{display(target.dataset)} cannot be indexed: "
                f"{target.format} files do not number their rows",
                hint="write it as Parquet",
            )
        writer = _Writer(store, f"{record.folder(base)}/{output}", target, engines.duckdb())
        find = _finding(relations, reader, carried, store)
        entries = tuple(_entries(relations, find, writer, progress))
        made = IndexRecord(record.VERSION, target.dataset, target.id, entries)
        store.write(record.path(base, output), record.dumps(made))
    return made


def _finding(
    relations: Relations,
    reader: Reader,
    carried: tuple[Carried, OutputRecord] | None,
    store: ArtifactStore,
) -> Callable[[int], Found]:
    """Return what finds the pairs of the output and a source, given the source's step."""
    program = relations.program

    def evaluated(leaf: int) -> Found:
        return reader.spooled(Path(relations, program.chain(leaf), EVERYTHING))

    if carried is None:
        return evaluated
    left, output = carried
    written = relations_of(left, output, store)
    check(written, output.rows, left.artifact.rows, reader)

    def decoded(leaf: int) -> Found:
        at, source = program.steps[leaf].at, relations.snapshots[leaf]
        if at not in left.files:
            return evaluated(leaf)
        return pairs_of(left, written, at, source, reader), OUT_RID, IN_RID

    return decoded


def _entries(
    relations: Relations, find: Callable[[int], Found], writer: _Writer, progress: Progress
) -> Iterator[IndexEntry]:
    for leaf in relations.program.sources:
        step, source = relations.program.steps[leaf], relations.snapshots[leaf]
        state = Building(display(relations.snapshots[0].dataset), display(source.dataset))
        if not source.has_rids:
            progress(replace(state, left_out="its rows have no ids"))
            continue
        progress(state)
        yield writer.entry(find(leaf), source, step.at, step.source, state, progress)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the indexes of one output.

    Attributes:
        path: what their names begin with.
        target: the snapshot of the output.
        sorter: puts pairs in order.
    """

    store: ArtifactStore
    path: str
    target: Snapshot
    sorter: DuckDBEngine

    def entry(
        self,
        found: Found,
        source: Snapshot,
        at: int,
        number: int,
        state: Building,
        progress: Progress,
    ) -> IndexEntry:
        """Write the indexes of one source, which the plan reads at `at`, both ways."""
        rows = found[0].num_rows if isinstance(found[0], pa.Table) else found[0].rows
        parts: list[IndexPart] = []
        pairs = 0
        for turn, direction in enumerate(Direction):
            backward = direction is Direction.BACKWARD
            shape = (_extent(self.target), _extent(source))
            file = f"{self.path}-{at}-{direction}.rlx"
            subject = record.subject(self.target.id, source.id, at, direction)
            with self.store.writing(file) as sink:
                writer = IndexWriter(sink, shape if backward else shape[::-1], 1, subject)
                for part in _distinct(self._sorted(found, backward)):
                    writer.add(part)
                    done = rows * turn + writer.given
                    progress(replace(state, done=done, total=2 * rows))
                writer.finish()
                parts.append(IndexPart(direction, file, sink.tell()))
                pairs = writer.given
        return IndexEntry(at, number, source.dataset, source.id, pairs, tuple(parts))

    def _sorted(self, found: Found, backward: bool) -> Iterator[pa.RecordBatch]:
        table, *names = found
        ends = [exp.column(name, table=_PAIRS) for name in names]
        columns = [exp.cast(end, "BIGINT") for end in (ends if backward else ends[::-1])]
        query = sql.select(
            [sql.as_(column, name) for column, name in zip(columns, "kv", strict=True)],
            sql.table(_PAIRS, _PAIRS),
        )
        null = [exp.Is(this=end.copy(), expression=exp.null()) for end in ends]
        query = sql.where(query, [exp.not_(one) for one in null])
        return self.sorter.stream(query.order_by(*map(exp.column, "kv")), {_PAIRS: table})


def _distinct(batches: Iterable[pa.RecordBatch]) -> Iterator[Relation]:
    """Yield the pairs of batches that are in order, each once."""
    last: Integers | None = None
    for batch in batches:
        pairs = np.stack([column.to_numpy() for column in batch.columns])
        new = starts(pairs)
        if last is not None and len(new):
            new[0] = bool((pairs[:, 0] != last).any())
        if len(new):
            last = pairs[:, -1]
            pairs = pairs[:, new]
            yield Relation(pairs[:1], pairs[1:])


def _extent(snapshot: Snapshot) -> int:
    """Return a number above all rids of a snapshot."""
    return max(len(snapshot.files), 1) << RID_SHIFT
