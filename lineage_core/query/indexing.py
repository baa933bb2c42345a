"""Build the rid indexes of a captured output from its lineage program (DESIGN 4.7, *defer*).

The pairs of a source are spooled to files, or rode along with the rows of the write; then they are
sorted, and encoded piece by piece (`writing`). An index may be much larger than memory: of it two
gigabytes at most are DuckDB's, and some million pairs are being encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from lineage_core.datasets import display
from lineage_core.errors import UnsupportedError
from lineage_core.index import record
from lineage_core.index.record import Direction, IndexEntry, IndexRecord
from lineage_core.query.carried import check, pairs_of, relations_of
from lineage_core.query.chain import Path
from lineage_core.query.consuming.workload import Need, Workload
from lineage_core.query.engines.choice import Engines
from lineage_core.query.evaluate import IN_RID, OUT_RID
from lineage_core.query.reader import Reader
from lineage_core.query.relations import Computed, Relations
from lineage_core.query.selection import EVERYTHING
from lineage_core.query.spool import spool
from lineage_core.query.writing import Building, Found, Progress, Writer
from lineage_core.snapshot import Snapshot
from lineage_core.store.carried import Carried
from lineage_core.store.filesystem import ArtifactStore
from lineage_core.store.manifest import OutputRecord

Relate = Callable[[Callable[[Computed], int]], Relations]
"""Gives a lineage program, given what computes a plan of a single count."""


def build(
    store: ArtifactStore,
    run_id: str,
    output: int,
    relate: Relate,
    engine: str,
    progress: Progress = lambda _: None,
    *,
    carried: tuple[Carried, OutputRecord] | None = None,
    workload: Workload | None = None,
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
        workload: the queries that they are for; by default any question.

    Raises:
        UnsupportedError: the rows of the output have no ids.
        PredicateError: a query of the workload does not fit the columns it is about.
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
        writer = Writer(
            store, f"{record.folder(base)}/{output}", relations, reader, engines.duckdb()
        )
        find = _finding(relations, reader, carried, store)
        entries = tuple(_entries(relations, find, writer, workload, progress))
        texts = workload.texts if workload is not None else ()
        made = IndexRecord(record.VERSION, target.dataset, target.id, entries, texts)
        path = record.path(base, output)
        before = record.paths(store.read(path)) if store.exists(path) else ()
        store.write(path, record.dumps(made))
        for left in set(before) - {path for entry in entries for path in entry.paths}:
            store.remove(left)
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
    relations: Relations,
    find: Callable[[int], Found],
    writer: Writer,
    workload: Workload | None,
    progress: Progress,
) -> Iterator[IndexEntry]:
    target = relations.snapshots[0]
    for leaf in relations.program.sources:
        step, source = relations.program.steps[leaf], relations.snapshots[leaf]
        state = Building(display(target.dataset), display(source.dataset))
        needs = _needs(workload, target, source)
        if not any(needs.values()):
            progress(replace(state, left_out="no query of the workload is about it"))
            continue
        if not source.has_rids:
            progress(replace(state, left_out="its rows have no ids"))
            continue
        progress(state)
        made = writer.write(leaf, find(leaf), needs, state, progress)
        yield IndexEntry(step.at, step.source, source.dataset, source.id, *made)


def _needs(
    workload: Workload | None, target: Snapshot, source: Snapshot
) -> Mapping[Direction, tuple[Need, ...]]:
    """Return what is needed of the indexes between an output and a source, by direction."""
    ends = {Direction.BACKWARD: (target, source), Direction.FORWARD: (source, target)}
    return {
        direction: (
            workload.needs(direction, asked.dataset, other.dataset, _names(other))
            if workload is not None
            else (Need(),)
        )
        for direction, (asked, other) in ends.items()
    }


def _names(snapshot: Snapshot) -> frozenset[str]:
    return frozenset(column.name.lower() for column in snapshot.columns)
