"""Run an answer's questions: check the snapshots, ask the engine, bring the results into one form.

One reader serves one answer. A snapshot is verified once, before anything of it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import pyarrow as pa

from lineage_core.errors import UnsupportedError
from lineage_core.plan.types import is_comparable
from lineage_core.query.engines.choice import Engines
from lineage_core.query.evaluate import RID, Path, Question, counted, pairs, reached
from lineage_core.query.pairing import sorted_pairs
from lineage_core.query.protocol import Engine
from lineage_core.query.types import arrow_type
from lineage_core.snapshot import ColumnType, Snapshot, verify


class Reader:
    """Evaluates paths for one answer; safe to use from several threads."""

    def __init__(self, engines: Engines, engine: str) -> None:
        self._engines = engines
        self._engine = engine
        self._verified: set[Snapshot] = set()
        self._lock = Lock()

    def rids(self, path: Path) -> pa.Int64Array:
        """Return the sorted, distinct rids of the path's last step."""
        need_rids(path.snapshots[-1])
        table = self._ask(path, lambda engine: reached(path, engine, (), rids=True))
        return table.column(RID).combine_chunks().cast(pa.int64()).sort()

    def count(self, path: Path) -> int:
        """Return how many rows of the path's last step there are; for formats without rids."""
        table = self._ask(path, lambda engine: counted(reached(path, engine, (), rids=False)))
        return int(table.column(0)[0].as_py())

    def rows(self, path: Path, columns: tuple[int, ...], *, rids: bool) -> pa.Table:
        """Return `columns` of the rows of the path's last step, by name, after `rid` if asked.

        With rids the rows come in their order.
        """
        table = self._ask(path, lambda engine: reached(path, engine, columns, rids=rids))
        fields = [path.snapshots[-1].columns[column] for column in columns]
        if rids:
            table = table.sort_by(RID)
            fields.insert(0, ColumnType(RID, "long"))
        table = table.select(table.column_names[: len(fields)])
        arrays = [_typed(*pair) for pair in zip(table.columns, fields, strict=True)]
        return pa.table(arrays, names=[field.name for field in fields])

    def pairs(self, path: Path) -> pa.Table:
        """Return the sorted, distinct pairs (`out_rid`, `in_rid`) between the path's ends."""
        for snapshot in (path.snapshots[0], path.snapshots[-1]):
            need_rids(snapshot)
        return sorted_pairs(self._ask(path, lambda engine: pairs(path, engine)))

    def _ask(self, path: Path, question: Callable[[Engine], Question]) -> pa.Table:
        self._verify(path)

        def answer(engine: Engine) -> pa.Table:
            asked = question(engine)
            return engine.run(asked.query, asked.tables)

        return self._engines.ask(self._engine, answer)

    def _verify(self, path: Path) -> None:
        for step, snapshot in zip(path.steps, path.snapshots, strict=True):
            need_files(snapshot)
            with self._lock:
                done = snapshot in self._verified
            if not done:
                verify(snapshot, what=path.relations.program.steps[step].kind.value)
                with self._lock:
                    self._verified.add(snapshot)


def _typed(values: pa.ChunkedArray, field: ColumnType) -> pa.ChunkedArray:
    """Return values as the one Arrow type that both engines' results have here."""
    return values.cast(arrow_type(field.type)) if is_comparable(field.type) else values


def need_files(snapshot: Snapshot) -> None:
    """Raise `UnsupportedError` when it is not known what the snapshot held."""
    if not snapshot.format:
        raise UnsupportedError(
            f"what {snapshot.dataset} held when it was used is not known, nor are its rows",
            hint="read it from files, or save it to files first and read those",
        )


def need_rids(snapshot: Snapshot) -> None:
    """Raise `UnsupportedError` when the snapshot's rows have no ids."""
    need_files(snapshot)
    if not snapshot.has_rids:
        raise UnsupportedError(
            f"{snapshot.dataset} has no row ids: {snapshot.format} files do not number their rows",
            hint="use to_arrow(), which gives the rows themselves",
        )
