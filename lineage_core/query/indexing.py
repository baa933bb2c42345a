"""Build the rid indexes of a captured output from its lineage program (DESIGN 4.7, *defer*)."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

from lineage_core.datasets import display
from lineage_core.errors import UnsupportedError
from lineage_core.index import record
from lineage_core.index.file import IndexWriter
from lineage_core.index.record import IndexEntry, IndexPart, IndexRecord
from lineage_core.index.relation import Relation
from lineage_core.query.chain import Path
from lineage_core.query.edges import BACKWARD, FORWARD
from lineage_core.query.pairing import SCHEMA
from lineage_core.query.reader import Reader
from lineage_core.query.relations import Relations
from lineage_core.query.selection import EVERYTHING
from lineage_core.snapshot import RID_SHIFT, Snapshot
from lineage_core.store.filesystem import ArtifactStore


def build(
    store: ArtifactStore,
    run_id: str,
    output: int,
    relations: Relations,
    reader: Reader,
    progress: Callable[[str], None],
) -> IndexRecord:
    """Build the indexes of a run's output, in place of older ones; return what is known of them.

    Args:
        store: where they go.
        run_id: the run.
        output: position of the output among the run's.
        relations: its lineage program.
        reader: evaluates it.
        progress: is told which source comes next, and which is left out.

    Raises:
        UnsupportedError: the rows of the output have no ids.
        ChangedError: a file that the program depends on is not what it was.
    """
    target = relations.snapshots[0]
    if not target.has_rids:
        raise UnsupportedError(
            f"{display(target.dataset)} cannot be indexed: "
            f"{target.format} files do not number their rows",
            hint="write it as Parquet",
        )
    base = store.run_path(run_id)
    entries = tuple(_entries(store, f"{record.folder(base)}/{output}", relations, reader, progress))
    made = IndexRecord(record.VERSION, target.dataset, target.id, entries)
    store.write(record.path(base, output), record.dumps(made))
    return made


def _entries(
    store: ArtifactStore,
    path: str,
    relations: Relations,
    reader: Reader,
    progress: Callable[[str], None],
) -> Iterator[IndexEntry]:
    for leaf in relations.program.sources:
        step, source = relations.program.steps[leaf], relations.snapshots[leaf]
        if not source.has_rids:
            progress(f"{display(source.dataset)} is left out: its rows have no ids")
            continue
        progress(display(source.dataset))
        pairs = reader.pairs(Path(relations, relations.program.chain(leaf), EVERYTHING))
        outs, ins = (pairs.column(name).to_numpy()[None] for name in SCHEMA.names)
        down = Relation(outs, ins)
        extents = _extent(relations.snapshots[0]), _extent(source)
        parts = []
        for direction, related, shape in (
            (BACKWARD, down, extents),
            (FORWARD, down.inverse, extents[::-1]),
        ):
            sink = io.BytesIO()
            subject = record.subject(relations.snapshots[0].id, source.id, step.at, direction)
            writer = IndexWriter(sink, shape, 1, subject)
            writer.add(related)
            writer.finish()
            file = f"{path}-{step.at}-{direction}.rlx"
            store.write(file, sink.getvalue())
            parts.append(IndexPart(file, len(sink.getvalue())))
        yield IndexEntry(
            step.at, step.source, source.dataset, source.id, len(pairs), parts[0], parts[1]
        )


def _extent(snapshot: Snapshot) -> int:
    """Return a number above all rids of a snapshot."""
    return max(len(snapshot.files), 1) << RID_SHIFT
