"""Walk from run to run: one loop over answers about single runs (DESIGN 3, `hops`).

Going back, a source is followed when a captured run wrote its files; going forward, an output is
followed when a captured run read them. Files are the same when path, size and digest are, so a
dataset that several runs added to, or wrote partitions of, is followed into each of them, with the
rows that each wrote, also when one run names a folder and another a folder in it. What was written
by a run whose lineage is missing, or cannot be addressed by row, or by nobody known into a dataset
that captured runs write, ends the walk as a *gap* that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from lineage_core.catalog import Catalog, OutputRef
from lineage_core.datasets import display
from lineage_core.errors import NotFoundError, UncapturedError, UnsupportedError
from lineage_core.query.answer import Part, SourceAnswer
from lineage_core.query.chain import Path
from lineage_core.query.edges import Edge, Indexes
from lineage_core.query.pairing import carried, file_identity, in_files
from lineage_core.query.reader import Reader
from lineage_core.query.relations import Relations
from lineage_core.query.selection import Rids, Selection
from lineage_core.query.strategy import Programs, Strategy
from lineage_core.snapshot import DataFile, Snapshot
from lineage_core.store.filesystem import ArtifactStore
from lineage_core.store.manifest import OVERWRITE_PARTITIONS, OutputRecord, RunRecord

Select: TypeAlias = Callable[[Snapshot], Selection]
"""Binds what the user selects to the snapshot it is of."""

Write: TypeAlias = tuple[str, int]
"""A run's id and the position of one of its outputs."""


@dataclass(frozen=True, slots=True, eq=False)
class _Reached:
    """A snapshot on the way: how and when it was reached, and the writes passed on the way."""

    snapshot: Snapshot
    parts: tuple[Part, ...]
    moment: datetime
    trail: frozenset[Write]
    gap: str = ""
    files: frozenset[int] | None = None


class Walk:
    """One question's way through the runs of a store."""

    def __init__(
        self,
        store: ArtifactStore,
        catalog: Catalog,
        programs: Programs,
        indexes: Indexes,
        reader: Reader,
        as_of: datetime | None,
        strategy: Strategy = Strategy.AUTO,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._programs = programs
        self._indexes = indexes
        self._reader = reader
        self._as_of = as_of
        self._strategy = strategy
        self._records: dict[str, RunRecord] = {}
        self._related: dict[Write, Relations] = {}
        self._looked_up: set[str] = set()
        self._written: set[str] = set()
        self._files_left: dict[Write, list[DataFile]] = {}

    def backward(
        self, refs: Iterable[OutputRef], select: Select, hops: int | None
    ) -> list[SourceAnswer]:
        """Return where the selected rows of the writes `refs` came from."""
        start: list[_Reached] = []
        for ref in self._left(refs):
            relations = self._bound(ref)
            start += _down(relations, select(relations.snapshots[0]), ref, None, frozenset())
        return self._follow(start, hops, self._behind)

    def forward(
        self,
        refs: list[OutputRef],
        select: Select,
        hops: int | None,
        also: Iterable[OutputRef] = (),
    ) -> list[SourceAnswer]:
        """Return what the selected rows went into, through the reads `refs`; newest first.

        The rows are selected among those that the newest of them read. They are looked for in what
        `also` read, too: folders above or below.
        """
        newest = next((ref for ref in refs if not ref.uncaptured), refs[0])
        relations = self._relations(newest)
        source = next(s for s in relations.program.sources if _reads(relations, s, newest))
        snapshot = relations.snapshots[source]
        selection = select(snapshot)
        selected = SourceAnswer(
            snapshot, [Part(Path(relations, (source,), selection))], self._reader
        )
        start: list[_Reached] = []
        for ref in [*refs, *also]:
            start += self._up(selected, ref, frozenset(), selection)
        return self._follow(start, hops, self._ahead)

    def linked(self, sources: Iterable[SourceAnswer], dataset: str) -> list[SourceAnswer]:
        """Return the rows of `dataset` that rows of `sources` went into, over any runs."""
        level: list[_Reached] = []
        for source in sources:
            readers = self.current(self._catalog.related_readers(source.dataset))
            for ref in readers:
                level += self._up(source, ref, frozenset(), None)
        found: list[_Reached] = []
        while level := _merged(level):
            found += (at for at in level if at.snapshot.dataset == dataset)
            self._note_written(level)
            further = (self._ahead(at, self._answer(at))[1] for at in level if not at.gap)
            level = [at for more in further for at in more]
        answers = [self._answer(at) for at in _merged(found)]
        return sorted(answers, key=lambda answer: answer.snapshot.id)

    def _follow(
        self,
        reached: list[_Reached],
        hops: int | None,
        expand: Callable[[_Reached, SourceAnswer], tuple[list[_Reached], list[_Reached]]],
    ) -> list[SourceAnswer]:
        ended: list[_Reached] = []
        frontier = _merged(reached)
        depth = 1
        while frontier and (hops is None or depth < hops):
            self._note_written(frontier)
            further: list[_Reached] = []
            for at in frontier:
                last, more = expand(at, self._answer(at)) if not at.gap else ([at], [])
                ended += last
                further += more
            frontier = _merged(further)
            depth += 1
        answers = [self._answer(at) for at in _merged([*ended, *frontier])]
        return sorted(answers, key=lambda answer: (answer.dataset, answer.snapshot.id))

    def _behind(self, at: _Reached, answer: SourceAnswer) -> tuple[list[_Reached], list[_Reached]]:
        """Return where a source ends the walk, and what the runs that wrote it read."""
        refs = [ref for ref in self._writers(at) if _write(ref) not in at.trail]
        rest = set(range(len(at.snapshot.files)))
        ends: dict[str, set[int]] = {}
        further: list[_Reached] = []
        for ref in refs:
            written = self._output(ref).snapshot
            shared = rest & _shared(at.snapshot, written) if written is not None else set()
            if shared or (written is not None and written.id == at.snapshot.id):
                rest -= shared
                gap, found = self._through(at, answer, ref, shared)
                further += found
                if not found:  # made from no dataset, it is an outermost one itself
                    ends.setdefault(gap, set()).update(shared)
            if not rest:
                break
        if rest:
            ends.setdefault(self._stranger(at, refs, bool(further or ends)), set()).update(rest)
        if not (ends or further):
            return [at], []
        return _ended(at, answer, ends, bool(further)), further

    def _through(
        self, at: _Reached, answer: SourceAnswer, ref: OutputRef, shared: set[int]
    ) -> tuple[str, list[_Reached]]:
        """Return what the write `ref` of the files `shared` of a source read, or why not that."""
        try:
            relations = self._relations(ref)
        except UncapturedError as error:
            return f"written by run {ref.run_id}: {error.what}", []
        target = relations.snapshots[0]
        if not target.has_rids:
            return f"written by run {ref.run_id} as {target.format}, whose rows have no ids", []
        files = {file_identity(at.snapshot.files[number]) for number in shared}
        relations = _only(relations, [f for f in target.files if file_identity(f) in files])
        rows = _carried(answer, relations.snapshots[0])
        return "", _down(relations, rows, ref, answer, at.trail)

    def _stranger(self, at: _Reached, refs: Iterable[OutputRef], partly: bool) -> str:
        """Return why files that no known write left are a gap; empty for an outermost dataset."""
        own = [r for r in refs if r.dataset == at.snapshot.dataset and r.ended <= at.moment]
        for ref in own:
            output = self._output(ref)
            if output.snapshot is None:
                return f"written by run {ref.run_id}: {ref.uncaptured or output.uncaptured}"
        if not (own or partly):
            return ""
        return "files of it were written by no captured run"

    def _ahead(self, at: _Reached, answer: SourceAnswer) -> tuple[list[_Reached], list[_Reached]]:
        """Return where an output ends the walk, and what the runs that read it wrote."""
        readers = self.current(self._catalog.related_readers(at.snapshot.dataset))
        further: list[_Reached] = []
        for ref in readers:
            if _write(ref) in at.trail:
                continue
            if not at.snapshot.has_rids:
                if any(_shared(at.snapshot, read) for read in self._read(ref)):
                    kind = at.snapshot.format or "something unknown"
                    gap = f"read by run {ref.run_id} as {kind}, whose rows have no ids"
                    return [_ended_at(at, gap)], []
                continue
            further += self._up(answer, ref, at.trail, None)
        return ([], further) if further else ([at], [])

    def _read(self, ref: OutputRef) -> list[Snapshot]:
        inputs = self._output(ref).inputs
        return [inputs[number] for number in ref.inputs]

    def _up(
        self,
        answer: SourceAnswer,
        ref: OutputRef,
        trail: frozenset[Write],
        direct: Selection | None,
    ) -> list[_Reached]:
        """Return the output of the write `ref`, reached from the rows of `answer` it read."""
        behind = trail | {_write(ref)}
        try:
            relations = self._bound(ref)
        except UncapturedError as error:
            read = self._read(ref)
            if not any(_same_or_shared(answer.snapshot, snapshot) for snapshot in read):
                return []
            gap = f"written by run {ref.run_id}: {error.what}"
            written = self._output(ref).snapshot or Snapshot(ref.dataset, "", (), ())
            return [_Reached(written, (), ref.ended, behind, gap)]
        target = relations.snapshots[0]
        parts = []
        for leaf in relations.program.sources:
            source = relations.snapshots[leaf]
            if not _reads(relations, leaf, ref) or not _same_or_shared(answer.snapshot, source):
                continue
            steps = tuple(reversed(relations.program.chain(leaf)))
            reasons = relations.program.steps[leaf].superset
            if direct is not None and source.id == answer.snapshot.id:
                parts.append(Part(Path(relations, steps, direct), reasons))
            else:
                rows = _carried(answer, source)
                parts.append(Part(Path(relations, steps, rows), reasons, answer))
        if not parts:
            return []
        return [_Reached(target, tuple(parts), ref.ended, behind)]

    def current(self, refs: Iterable[OutputRef]) -> list[OutputRef]:
        """Return those of `refs` that the present state of what they wrote is made of."""
        state: dict[str, set[Write]] = {}
        for ref in refs:
            if ref.dataset not in state:
                writers = self._catalog.writers(ref.dataset, as_of=self._as_of)
                state[ref.dataset] = {_write(writer) for writer in self._left(writers)}
        return [ref for ref in refs if _write(ref) in state[ref.dataset]]

    def _left(self, refs: Iterable[OutputRef]) -> list[OutputRef]:
        """Return the writes of one state of which something is left, and note what that is.

        Args:
            refs: the writes that the state is made of, newest first.
        """
        replaced: set[str] = set()
        left = []
        for ref in refs:
            snapshot = self._output(ref).snapshot if replaced or _replaces(ref) else None
            if snapshot is not None and replaced:
                files = [file for file in snapshot.files if _folder(file) not in replaced]
                self._files_left[_write(ref)] = files
                if not files:
                    continue
            left.append(ref)
            if snapshot is not None and _replaces(ref):
                replaced |= {_folder(file) for file in snapshot.files}
        return left

    def _bound(self, ref: OutputRef) -> Relations:
        """Return the program of a write over what is left of its output."""
        relations = self._relations(ref)
        files = self._files_left.get(_write(ref))
        return relations if files is None else _only(relations, files)

    def _note_written(self, frontier: Iterable[_Reached]) -> None:
        """Note which of the datasets reached anybody wrote: for most there is nothing to look up.

        One question to the catalog takes as long for all of them as for one.
        """
        new = {at.snapshot.dataset for at in frontier} - self._looked_up
        self._looked_up |= new
        self._written |= self._catalog.written_near(new)

    def _writers(self, at: _Reached) -> list[OutputRef]:
        """Return the writes that may have left files of the snapshot, the likeliest first.

        Files are told by their identity, so the times of runs only say where to look first.
        """
        dataset = at.snapshot.dataset
        if dataset not in self._written:
            return []
        try:
            exact = self._catalog.writer_of_snapshot(dataset, at.snapshot.id)
        except NotFoundError:
            return []
        if exact is not None and _write(exact) not in at.trail:
            return [exact]
        refs = self._catalog.related_writers(dataset)
        later = [ref for ref in refs if ref.ended > at.moment]
        return [ref for ref in refs if ref.ended <= at.moment] + later[::-1]

    def _relations(self, ref: OutputRef) -> Relations:
        """Return the program of a write, with the indexes that the strategy asks for."""
        write = _write(ref)
        if write not in self._related:
            indexed = self._strategy is Strategy.INDEX
            strategy = Strategy.AUTO if indexed else self._strategy
            count = self._reader.compute_count
            relations = self._programs.relations(self._output(ref), strategy, count)
            if strategy is Strategy.AUTO:
                edges = self._indexes.edges(ref.run_id, ref.index)
                relations = _with_indexes(relations, edges)
            if indexed and not relations.indexes:
                raise UnsupportedError(
                    f"what run {ref.run_id} wrote to {display(ref.dataset)} has no index",
                    hint=f"build it: row-lineage index {ref.run_id}; or use strategy='auto'",
                )
            self._related[write] = relations
        return self._related[write]

    def _output(self, ref: OutputRef) -> OutputRecord:
        if ref.run_id not in self._records:
            self._records[ref.run_id] = self._store.load(ref.run_id)
        return self._records[ref.run_id].outputs[ref.index]

    def _answer(self, at: _Reached) -> SourceAnswer:
        return SourceAnswer(at.snapshot, at.parts, self._reader, gap=at.gap, files=at.files)


def _carried(answer: SourceAnswer, target: Snapshot) -> Rids:
    """Return the rows of an answer that are rows of `target`, too."""
    if answer.snapshot.id == target.id:
        return Rids(answer.ranges())
    return Rids(carried(answer.rids(), answer.snapshot, target).drop_null())


def _down(
    relations: Relations,
    selection: Selection,
    ref: OutputRef,
    before: SourceAnswer | None,
    trail: frozenset[Write],
) -> list[_Reached]:
    """Return the sources of one write, reached from the rows that `selection` selects of it."""
    behind = trail | {_write(ref)}
    found = []
    for leaf in relations.program.sources:
        path = Path(relations, relations.program.chain(leaf), selection)
        part = Part(path, relations.program.steps[leaf].superset, before)
        found.append(_Reached(relations.snapshots[leaf], (part,), ref.ended, behind))
    return found


def _merged(reached: Iterable[_Reached]) -> list[_Reached]:
    """Join what was reached on several ways, as far as it is the same rows' answer."""
    groups: dict[object, _Reached] = {}
    for at in reached:
        key = (at.snapshot.dataset, at.snapshot.format, at.snapshot.id, at.gap, at.files)
        if key in groups:
            seen = groups[key]
            parts = seen.parts + at.parts
            at = _Reached(
                at.snapshot,
                parts,
                max(seen.moment, at.moment),
                seen.trail | at.trail,
                at.gap,
                at.files,
            )
        groups[key] = at
    return list(groups.values())


def _reads(relations: Relations, leaf: int, ref: OutputRef) -> bool:
    return relations.program.steps[leaf].source in ref.inputs


def _shared(source: Snapshot, target: Snapshot) -> set[int]:
    """Return the numbers of the files of `source` that `target` has, too."""
    known = {file_identity(file) for file in target.files}
    return {number for number, file in enumerate(source.files) if file_identity(file) in known}


def _same_or_shared(one: Snapshot, other: Snapshot) -> bool:
    return one.id == other.id or (one.has_rids and other.has_rids and bool(_shared(one, other)))


def _ended(
    at: _Reached, answer: SourceAnswer, ends: Mapping[str, set[int]], follows: bool
) -> list[_Reached]:
    """Return what ends at a source: for each reason, its rows in the files that have it."""
    if not at.snapshot.has_rids:
        return [_ended_at(at, next(filter(None, ends), ""))]
    found = []
    for gap, files in ends.items():
        if len(files) == len(at.snapshot.files):
            return [_ended_at(at, gap)]
        if _any(answer, files):
            found.append(
                _Reached(at.snapshot, at.parts, at.moment, at.trail, gap, frozenset(files))
            )
    return found if found or follows else [at]


def _ended_at(at: _Reached, gap: str) -> _Reached:
    return _Reached(at.snapshot, at.parts, at.moment, at.trail, gap)


def _only(relations: Relations, files: Iterable[DataFile]) -> Relations:
    """Return `relations` with nothing but `files` in the target."""
    target = replace(relations.snapshots[0], files=tuple(files))
    return replace(relations, snapshots={**relations.snapshots, 0: target})


def _with_indexes(relations: Relations, edges: Mapping[int, Edge]) -> Relations:
    """Return `relations` with the indexes that were built of its sources, by place in the plan."""
    steps = ((leaf, relations.program.steps[leaf].at) for leaf in relations.program.sources)
    indexes = {leaf: edges[at] for leaf, at in steps if at in edges}
    return replace(relations, indexes=indexes) if indexes else relations


def _write(ref: OutputRef) -> Write:
    return ref.run_id, ref.index


def _replaces(ref: OutputRef) -> bool:
    """Whether a write took the place of just those partitions that it wrote to."""
    return ref.mode == OVERWRITE_PARTITIONS


def _folder(file: DataFile) -> str:
    return file.path.rpartition("/")[0]


def _any(answer: SourceAnswer, files: set[int]) -> bool:
    return bool(in_files(answer.rids(), frozenset(files)).true_count)
