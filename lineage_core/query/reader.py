"""Run an answer's questions: check the snapshots, ask the engine, bring the results into one form.

One reader serves one answer. A snapshot is verified once, before anything of it is read, and the
rows of a computed step are found once for all the sources that hang from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import RLock

import pyarrow as pa
import pyarrow.compute as pc

from lineage_core.errors import UnsupportedError
from lineage_core.index.cells import Cells
from lineage_core.infer.links import Link
from lineage_core.plan.expr import Anchor, Column, Compare, Comparison
from lineage_core.plan.relation import is_rid
from lineage_core.plan.traverse import column_ids
from lineage_core.plan.types import is_comparable
from lineage_core.plan.unique import keys
from lineage_core.query.chain import ORIGIN, Path
from lineage_core.query.edges import edge_of
from lineage_core.query.engines.choice import Engines
from lineage_core.query.evaluate import (
    IN_RID,
    OUT_RID,
    RID,
    Question,
    computed_query,
    counted,
    found,
    pairs,
    reached,
)
from lineage_core.query.pairing import ordered, sorted_pairs
from lineage_core.query.protocol import Engine, Given, value
from lineage_core.query.refine import link_question, of_rids, refine
from lineage_core.query.relations import Computed, Relations
from lineage_core.query.selection import (
    EVERYTHING,
    Found,
    Rids,
    Rows,
    Selection,
    has_every_row,
)
from lineage_core.query.spool import Spool, Spooled
from lineage_core.query.types import arrow_type
from lineage_core.snapshot import ColumnType, Snapshot, verify


class Reader:
    """Evaluates paths for one answer; safe to use from several threads."""

    def __init__(self, engines: Engines, engine: str, spool: Spool | None = None) -> None:
        self._engines = engines
        self._engine = engine
        self._spool = spool
        self._verified: set[Snapshot] = set()
        self._found: dict[tuple[Relations, tuple[int, ...], int], Found] = {}
        self._twins: dict[tuple[Relations, int], int] = {}
        self._refined: dict[tuple[Relations, int], Mapping[int, pa.Table]] = {}
        self._selections: list[Selection] = []  # kept, for their identity is a key of both
        self._lock = RLock()

    def rids(self, path: Path) -> pa.Int64Array:
        """Return the sorted, distinct rids of the path's last step."""
        need_rids(path.last)
        if edge_of(path) is not None:
            return Rids(self.ranges(path)).rids
        if self._is_refined(path):
            return ordered(self._refine(path)[path.steps[-1]].column(RID))
        path = self._staged(path)
        carried = _carried(path)
        if carried is not None:
            return ordered(pc.unique(_column(path, carried)).drop_null())
        table = self._ask(path, lambda engine: reached(path, engine, (), rids=True))
        return ordered(table.column(RID))

    def ranges(self, path: Path) -> Cells:
        """Return what `rids` does, as ranges; where there is an index, they come from it so."""
        edge = edge_of(path)
        if edge is None:
            return Rids(self.rids(path)).ranges
        need_rids(path.last)
        return edge.rows(self.selected(path).ranges, path.direction)

    def count(self, path: Path) -> int:
        """Return how many rows of the path's last step there are; for formats without rids."""
        path = self._staged(path)
        table = self._ask(path, lambda engine: counted(reached(path, engine, (), rids=False)))
        return int(table.column(0)[0].as_py())

    def rows(self, path: Path, columns: tuple[int, ...], *, rids: bool) -> pa.Table:
        """Return `columns` of the rows of the path's last step, by name, after `rid` if asked.

        With rids the rows come in their order.
        """
        path = self._staged(path)
        table = self._ask(path, lambda engine: reached(path, engine, columns, rids=rids))
        fields = [path.last.columns[column] for column in columns]
        if rids:
            table = table.sort_by(RID)
            fields.insert(0, ColumnType(RID, "long"))
        table = table.select(table.column_names[: len(fields)])
        arrays = [_typed(*pair) for pair in zip(table.columns, fields, strict=True)]
        return pa.table(arrays, names=[field.name for field in fields])

    def relation(self, path: Path, columns: tuple[int, ...], *, rids: bool) -> Question:
        """Return the query of the rows of a path's one step, to be a part of others on DuckDB.

        Its columns are `rid`, if asked, and `k<i>`. All files it reads are verified.

        Raises:
            UnsupportedError: DuckDB cannot read the rows exactly as Spark does.
        """
        self._verify(path)
        if isinstance(path.selection, Rids) and has_every_row(path.selection.rids, path.last):
            path = replace(path, selection=EVERYTHING)
        return self._engines.ask("duckdb", lambda engine: reached(path, engine, columns, rids=rids))

    def pairs(self, path: Path) -> pa.Table:
        """Return the sorted, distinct pairs (`out_rid`, `in_rid`) between the path's ends."""
        for snapshot in (path.first, path.last):
            need_rids(snapshot)
        edge = edge_of(path)
        if edge is not None:
            return edge.pairs(self.selected(path).ranges, path.direction)
        if self._is_refined(path):
            rows = self._refine(path)[path.steps[-1]].select([RID])
            plain = Path(replace(path.relations, links=()), path.steps, path.selection)
            kept = self.pairs(plain).join(rows, keys=IN_RID, right_keys=RID, join_type="left semi")
            return sorted_pairs(kept)
        down = path.goes_down
        path = self._staged(path)
        carried = _carried(path)
        if carried is not None:
            ends = [_column(path, ORIGIN), _column(path, carried)]
            names = [OUT_RID, IN_RID] if down else [IN_RID, OUT_RID]
            return sorted_pairs(pa.table(ends, names=names).drop_null())
        return sorted_pairs(self._ask(path, lambda engine: pairs(path, engine)))

    def spooled(self, path: Path) -> tuple[Given, str, str]:
        """Return what `pairs` would, spooled, in no order, some pairs null or there twice.

        With it come the names of its columns that are `out_rid` and `in_rid`.
        """
        down = path.goes_down
        if self._is_refined(path):
            return self.pairs(path), OUT_RID, IN_RID
        for snapshot in (path.first, path.last):
            need_rids(snapshot)
        path = self._staged(path)
        carried = _carried(path)
        if carried is not None and isinstance(path.selection, Found):
            ends = (ORIGIN, carried)
            return path.selection.table, *(ends if down else ends[::-1])
        return self.put_aside(path, lambda engine: pairs(path, engine)), OUT_RID, IN_RID

    def selected(self, path: Path) -> Rids:
        """Return the rows that a path starts from."""
        if isinstance(path.selection, Rids):
            if path.selection.given:
                self._verify_one(path.first, "dataset")
            return path.selection
        return Rids(self.rids(Path(path.relations, path.steps[:1], path.selection)))

    def _is_refined(self, path: Path) -> bool:
        """Whether the rows of the path's last step are cut down by those of other sources."""
        return path.goes_down and any(
            link.step == path.steps[-1] for link in self._links(path.relations)
        )

    def _links(self, relations: Relations) -> tuple[Link, ...]:
        """Return the links between sources whose rows have rids."""
        numbered = {n for n in relations.program.sources if relations.snapshots[n].has_rids}
        return tuple(
            link for link in relations.links if link.step in numbered and link.other in numbered
        )

    def _refine(self, path: Path) -> Mapping[int, pa.Table]:
        """Return what refinement leaves of each source's rows, by step."""
        relations = path.relations
        with self._lock:
            key = (relations, id(path.selection))
            if key not in self._refined:
                links = self._links(relations)
                self._selections.append(path.selection)
                read = {link.step for link in links}
                read |= {link.other for link in links if not link.excludes}
                tables = {
                    step: self._superset(Path(relations, (0, step), path.selection), links)
                    for step in read
                }
                linked = partial(self._linked, relations)
                self._refined[key] = refine(tables, links, relations.ordinals, linked)
            return self._refined[key]

    def _superset(self, path: Path, links: Sequence[Link]) -> pa.Table:
        """Return the rids of a source's rows to begin with, and the columns that links compare."""
        ordinals = path.relations.ordinals[path.steps[-1]]
        ids = {id for link in links for id in column_ids(link.condition)}
        columns = tuple(sorted({at for id, at in ordinals.items() if id in ids}))
        table = self._ask(path, lambda engine: reached(path, engine, columns, rids=True))
        return table.set_column(0, RID, table.column(RID).cast(pa.int64()))

    def _linked(
        self, relations: Relations, link: Link, rows: pa.Table, partners: pa.Table | None
    ) -> pa.Table:
        """Return of `rows` those that a link holds for; all where no engine can tell."""
        self._verify_one(relations.snapshots[link.other], "source")

        def answer(engine: Engine) -> pa.Table:
            asked = link_question(link, relations, rows, partners, engine)
            return engine.run(asked.query, asked.tables)

        try:
            return of_rids(rows, self._engines.ask(self._engine, answer).column(0))
        except UnsupportedError:
            return rows

    def twins(self, path: Path) -> int:
        """Return how many rows are equal to rows that a path selects by rid, and not selected.

        Their lineage is in the answer as well: nothing tells an output row from one equal to it.
        """
        selection = path.selection
        plan = path.relations.plan
        if not isinstance(selection, Rids) or not path.goes_down or (plan and keys(plan)):
            return 0
        with self._lock:
            key = (path.relations, id(selection))
            if key not in self._twins:
                self._selections.append(selection)
                self._twins[key] = self._count_twins(path.relations, selection)
            return self._twins[key]

    def _count_twins(self, relations: Relations, selection: Rids) -> int:
        types = [column.type for column in relations.snapshots[0].columns]
        columns = tuple(i for i, type in enumerate(types) if is_comparable(type))
        selected = Path(relations, (0,), selection)
        values = self._ask(selected, lambda engine: reached(selected, engine, columns, rids=False))
        if not columns:
            everything = Path(relations, (0,), EVERYTHING)
            return self.count(everything) - len(selection.rids)
        distinct = values.group_by(values.column_names).aggregate([])
        equal = Path(relations, (0,), Rows(columns, distinct))
        return len(self.rids(equal)) - len(selection.rids)

    def compute_count(self, computed: Computed) -> int:
        """Return the one value that a plan of a single count gives."""
        for snapshot in computed.scans.values():
            self._verify_one(snapshot, "source")
        table = self._engines.ask(
            self._engine, lambda engine: engine.run(computed_query(computed, engine), {})
        )
        return int(table.column(0)[0].as_py())

    def _staged(self, path: Path) -> Path:
        """Return the path from its last computed step on, whose rows have been found."""
        places = range(len(path.steps) - 2, 0, -1)
        last = next((i for i in places if path.steps[i] in path.relations.computed), 0)
        if not last:
            return path
        with self._lock:
            key = (path.relations, path.steps[: last + 1], id(path.selection))
            if key not in self._found:
                self._selections.append(path.selection)
                self._found[key] = self._find(Path(path.relations, key[1], path.selection))
            return Path(path.relations, path.steps[last:], self._found[key])

    def _find(self, path: Path) -> Found:
        origin = isinstance(path.selection, Found) or path.first.has_rids
        path = self._staged(path)

        def question(engine: Engine) -> Question:
            return found(path, engine, origin=origin)

        return Found((self._ask if self._spool is None else self.put_aside)(path, question))

    def _ask(self, path: Path, question: Callable[[Engine], Question]) -> pa.Table:
        self._verify(path)

        def answer(engine: Engine) -> pa.Table:
            asked = question(engine)
            return engine.run(asked.query, asked.tables)

        return self._engines.ask(self._engine, answer)

    def put_aside(self, path: Path, question: Callable[[Engine], Question]) -> Spooled:
        """Return the answer to a question about a path, spooled."""
        assert self._spool is not None, "this reader has none"
        spool = self._spool
        self._verify(path)

        def answer(engine: Engine) -> Spooled:
            asked = question(engine)
            return engine.spool(asked.query, asked.tables, spool.place())

        return self._engines.ask(self._engine, answer)

    def _verify(self, path: Path) -> None:
        read = ((step, snapshot) for step in path.steps for snapshot in path.relations.read(step))
        for step, snapshot in read:
            self._verify_one(snapshot, path.relations.program.steps[step].kind.value)

    def _verify_one(self, snapshot: Snapshot, what: str) -> None:
        need_files(snapshot)
        with self._lock:
            done = snapshot in self._verified
        if not done:
            verify(snapshot, what=what)
            with self._lock:
                self._verified.add(snapshot)


def _carried(path: Path) -> str | None:
    """Return where the rows found of the path's first step hold the rids of its last one."""
    if len(path.steps) != 2 or not isinstance(path.selection, Found):
        return None
    first, last = path.steps
    match path.relations.program.steps[last].predicate:
        case Compare(Comparison.SAME, Column(rid), Anchor(same)) if rid == same and is_rid(rid):
            return value(path.relations.ordinals[first][rid])
    return None


def _column(path: Path, name: str) -> pa.ChunkedArray:
    """Return a column of rids of the rows found of a path's first step."""
    assert isinstance(path.selection, Found)
    table = path.selection.table
    assert isinstance(table, pa.Table), "what was spooled is read by an engine"
    return table.column(name).cast(pa.int64())


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
