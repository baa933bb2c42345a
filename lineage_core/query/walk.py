"""Walk from run to run: one loop over answers about single runs (DESIGN 3, `hops`).

Going back, a source is followed when a captured run wrote its files; going forward, an output is
followed when a captured run read them. Files are the same when path, size and digest are, so a
dataset that several runs appended to is followed into each of them, with the rows that each
wrote. What was written by a run whose lineage is missing, or cannot be addressed by row, ends the
walk as a *gap* that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from lineage_core.catalog import Catalog, OutputRef
from lineage_core.errors import NotFoundError, UncapturedError
from lineage_core.query.answer import Part, SourceAnswer
from lineage_core.query.evaluate import Path
from lineage_core.query.pairing import carried, file_identity
from lineage_core.query.reader import Reader
from lineage_core.query.relations import Relations
from lineage_core.query.selection import Rids, Selection
from lineage_core.query.strategy import Strategy
from lineage_core.query.strategy import relations as relations_of
from lineage_core.snapshot import Snapshot
from lineage_core.store.filesystem import ArtifactStore
from lineage_core.store.manifest import OutputRecord, RunRecord

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
        reader: Reader,
        as_of: datetime | None,
        strategy: Strategy = Strategy.AUTO,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._reader = reader
        self._as_of = as_of
        self._strategy = strategy
        self._records: dict[str, RunRecord] = {}

    def backward(
        self, refs: Iterable[OutputRef], select: Select, hops: int | None
    ) -> list[SourceAnswer]:
        """Return where the selected rows of the writes `refs` came from."""
        start: list[_Reached] = []
        for ref in refs:
            relations = self._relations(self._output(ref))
            start += _down(relations, select(relations.snapshots[0]), ref, None, frozenset())
        return self._follow(start, hops, self._behind)

    def forward(
        self, refs: list[OutputRef], select: Select, hops: int | None
    ) -> list[SourceAnswer]:
        """Return what the selected rows went into, through the reads `refs`; newest first.

        The rows are selected among those that the newest of them read.
        """
        newest = next((ref for ref in refs if not ref.uncaptured), refs[0])
        relations = self._relations(self._output(newest))
        source = next(s for s in relations.program.sources if _reads(relations, s, newest))
        snapshot = relations.snapshots[source]
        selection = select(snapshot)
        selected = SourceAnswer(
            snapshot, [Part(Path(relations, (source,), selection))], self._reader
        )
        start: list[_Reached] = []
        for ref in refs:
            start += self._up(selected, ref, frozenset(), selection)
        return self._follow(start, hops, self._ahead)

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
        refs = [ref for ref in self._writers(at) if (ref.run_id, ref.index) not in at.trail]
        if not refs:
            return [at], []
        rest = set(range(len(at.snapshot.files)))
        further: list[_Reached] = []
        gap = ""
        for ref in refs:
            try:
                relations = self._relations(self._output(ref))
            except UncapturedError as error:
                gap = gap or f"written by run {ref.run_id}: {error.what}"
                continue
            target = relations.snapshots[0]
            shared = _shared(at.snapshot, target)
            if not shared:
                continue
            if not target.has_rids:
                gap = (
                    gap or f"written by run {ref.run_id} as {target.format}, whose rows have no ids"
                )
                continue
            rids = carried(answer.rids(), at.snapshot, target).drop_null()
            found = _down(relations, Rids(rids), ref, answer, at.trail)
            if found:  # what was made from no dataset ends here: it is an outermost one itself
                rest -= shared
            further += found
        return self._rest(at, answer, rest, gap), further

    def _rest(self, at: _Reached, answer: SourceAnswer, rest: set[int], gap: str) -> list[_Reached]:
        """Return what ends at a source: the rows of its files `rest` that no captured run wrote."""
        if not rest or (not gap and len(rest) < len(at.snapshot.files) and not _any(answer, rest)):
            return []
        files = None if len(rest) == len(at.snapshot.files) else frozenset(rest)
        return [_Reached(at.snapshot, at.parts, at.moment, at.trail, gap, files)]

    def _ahead(self, at: _Reached, answer: SourceAnswer) -> tuple[list[_Reached], list[_Reached]]:
        """Return where an output ends the walk, and what the runs that read it wrote."""
        if not at.snapshot.has_rids:
            return [at], []
        further: list[_Reached] = []
        for ref in self.current(self._catalog.readers(at.snapshot.dataset)):
            if (ref.run_id, ref.index) not in at.trail:
                further += self._up(answer, ref, at.trail, None)
        return ([], further) if further else ([at], [])

    def _up(
        self,
        answer: SourceAnswer,
        ref: OutputRef,
        trail: frozenset[Write],
        direct: Selection | None,
    ) -> list[_Reached]:
        """Return the output of the write `ref`, reached from the rows of `answer` it read."""
        behind = trail | {(ref.run_id, ref.index)}
        output = self._output(ref)
        try:
            relations = self._relations(output)
        except UncapturedError as error:
            if output.snapshot is None:
                raise
            gap = f"written by run {ref.run_id}: {error.what}"
            return [_Reached(output.snapshot, (), ref.ended, behind, gap)]
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
                rids = Rids(carried(answer.rids(), answer.snapshot, source).drop_null())
                parts.append(Part(Path(relations, steps, rids), reasons, answer))
        if not parts:
            return []
        return [_Reached(target, tuple(parts), ref.ended, behind)]

    def current(self, refs: Iterable[OutputRef]) -> list[OutputRef]:
        """Return those of `refs` that the present state of what they wrote is made of."""
        state: dict[str, set[Write]] = {}
        for ref in refs:
            if ref.dataset not in state:
                writers = self._catalog.writers(ref.dataset, as_of=self._as_of)
                state[ref.dataset] = {(writer.run_id, writer.index) for writer in writers}
        return [ref for ref in refs if (ref.run_id, ref.index) in state[ref.dataset]]

    def _writers(self, at: _Reached) -> tuple[OutputRef, ...]:
        """Return the writes that the snapshot may be made of, as far as runs know them."""
        dataset = at.snapshot.dataset
        try:
            state = self._catalog.writers(dataset, as_of=at.moment)
        except NotFoundError:
            return ()
        exact = next((ref for ref in state if ref.snapshot_id == at.snapshot.id), None)
        exact = exact or self._catalog.writer_of_snapshot(dataset, at.snapshot.id)
        return (exact,) if exact else state

    def _relations(self, output: OutputRecord) -> Relations:
        return relations_of(output, self._store.uri, self._strategy)

    def _output(self, ref: OutputRef) -> OutputRecord:
        if ref.run_id not in self._records:
            self._records[ref.run_id] = self._store.load(ref.run_id)
        return self._records[ref.run_id].outputs[ref.index]

    def _answer(self, at: _Reached) -> SourceAnswer:
        return SourceAnswer(at.snapshot, at.parts, self._reader, gap=at.gap, files=at.files)


def _down(
    relations: Relations,
    selection: Selection,
    ref: OutputRef,
    before: SourceAnswer | None,
    trail: frozenset[Write],
) -> list[_Reached]:
    """Return the sources of one write, reached from the rows that `selection` selects of it."""
    behind = trail | {(ref.run_id, ref.index)}
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


def _any(answer: SourceAnswer, files: set[int]) -> bool:
    from lineage_core.query.pairing import in_files

    return bool(in_files(answer.rids(), frozenset(files)).true_count)
