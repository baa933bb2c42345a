"""Views over one source: outputs of captured runs, related to the same rows by their rid indexes.

What a crossfilter is made of. The indexes are unpacked into dense arrays (`bars`), for which
the source's rows get numbers: those of its files follow each other, each as far as any row of it
went into any view. The source itself is not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage_core.datasets import display
from lineage_core.errors import AmbiguousError, CorruptError, NotFoundError, UnsupportedError
from lineage_core.index.file import MOST_PAIRS, Index
from lineage_core.index.provrc import ABSOLUTE, decode
from lineage_core.index.record import Direction
from lineage_core.query.columns import close_matches
from lineage_core.query.crossfiltering.bars import Bars, Numbers, bars
from lineage_core.query.edges import Edge
from lineage_core.query.relations import Relations
from lineage_core.snapshot import RID_SHIFT, Snapshot

_ROW = (1 << RID_SHIFT) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """An output of a run, with its program and its indexes by place in the plan.

    Attributes:
        name: what the user calls it.
        run_id: the run that wrote it.
        relations: its lineage program.
        edges: its indexes.
    """

    name: str
    run_id: str
    relations: Relations
    edges: Mapping[int, Edge]

    @property
    def snapshot(self) -> Snapshot:
        return self.relations.snapshots[0]

    @property
    def leaves(self) -> Sequence[int]:
        """The steps of the program that read rows to which there is an index."""
        steps = self.relations.program.steps
        return [n for n in self.relations.program.sources if steps[n].at in self.edges]

    def read(self, dataset: str) -> list[Snapshot]:
        """Return the snapshots of a dataset that it was made from, each once."""
        snapshots = (self.relations.snapshots[leaf] for leaf in self.leaves)
        return list({s.id: s for s in snapshots if s.dataset == dataset}.values())

    def from_source(self, source: Snapshot) -> list[int]:
        """Return the steps that read a snapshot."""
        return [n for n in self.leaves if self.relations.snapshots[n].id == source.id]


@dataclass(frozen=True, slots=True)
class Numbering:
    """Numbers for the rows of a snapshot, from 0, by their rids.

    Attributes:
        offsets: for each file, the number of its first row, and at last how many rows there are.
    """

    offsets: Numbers

    @property
    def rows(self) -> int:
        return int(self.offsets[-1])

    def numbers(self, rids: Numbers) -> npt.NDArray[np.uint32]:
        """Return the numbers of rows that have one."""
        numbers: Numbers = self.offsets[rids >> RID_SHIFT] + (rids & _ROW)
        return numbers.astype(np.uint32)

    def has(self, rids: Numbers) -> npt.NDArray[np.bool_]:
        """Return which rows have a number: others went into no view."""
        known: npt.NDArray[np.bool_] = (rids & _ROW) < np.diff(self.offsets)[rids >> RID_SHIFT]
        return known


def common_source(views: Sequence[Written], dataset: str | None) -> Snapshot:
    """Return the snapshot that all views were made from: of `dataset`, if that is given.

    Raises:
        UnsupportedError: they have no dataset in common, or were made from different states of it.
        AmbiguousError: they have several in common.
        NotFoundError: `dataset` is none of them.
    """
    shared = set.intersection(*(_datasets(view) for view in views))
    if not shared:
        raise UnsupportedError(
            f"{_names(views)} have no source in common that is indexed",
            hint="filter views across each other that were made from one dataset",
        )
    if dataset is None and len(shared) > 1:
        raise AmbiguousError(
            f"{_names(views)} have {len(shared)} sources in common",
            hint=f"name one (source=...): {', '.join(sorted(map(display, shared)))}",
        )
    if dataset is not None and dataset not in shared:
        names = sorted(map(display, shared))
        raise NotFoundError(
            f"{display(dataset)} is not a source of all of {_names(views)}",
            hint=close_matches(display(dataset), names),
        )
    name = dataset if dataset is not None else shared.pop()
    read = [{snapshot.id: snapshot for snapshot in view.read(name)} for view in views]
    states = set.intersection(*(set(snapshots) for snapshots in read))
    if len(states) == 1:
        return read[0][states.pop()]
    if states:
        raise AmbiguousError(
            f"{_names(views)} were each made from {len(states)} states of {display(name)}",
            hint="make views that read it in one state",
        )
    other = next(n for n in range(1, len(views)) if not set(read[n]) & set(read[0]))
    one, two = views[0], views[other]
    raise UnsupportedError(
        f"{display(one.snapshot.dataset)} (run {one.run_id}) and {display(two.snapshot.dataset)} "
        f"(run {two.run_id}) were made from different states of {display(name)}",
        hint="run the jobs again over one state, or name older runs (runs=...)",
    )


def numbering(views: Iterable[Written], source: Snapshot) -> Numbering:
    """Return numbers for all rows of a snapshot that went into any of some views."""
    widths = np.zeros(max(len(source.files), 1), dtype=np.int64)
    for view in views:
        for edge in _edges(view, source):
            for last in _last_rids(edge):
                np.maximum.at(widths, last >> RID_SHIFT, (last & _ROW) + 1)
    return Numbering(np.concatenate(([0], np.cumsum(widths))))


def unpack(view: Written, source: Snapshot, rids: pa.Int64Array, numbered: Numbering) -> Bars:
    """Return which rows of a snapshot went into which rows of a view.

    Args:
        view: the view.
        source: a snapshot that it was made from.
        rids: those of its rows, in order: the bars.
        numbered: numbers of the snapshot's rows.

    Raises:
        CorruptError: an index is not as it was written, or not of these rows.
    """
    edges = _edges(view, source)
    own = rids.to_numpy()
    ordered = len(edges) == 1 and Direction.BACKWARD in edges[0].indexes
    pairs = sum(_index(edge)[1].pairs for edge in edges)
    members = np.empty(pairs, dtype=np.uint32)
    sizes = np.zeros(len(own), dtype=np.int64)
    place = 0
    bar_of = [np.empty(0, dtype=np.int64)]
    for outs, ins in chain.from_iterable(map(_blocks, edges)):
        if place + len(outs) > pairs:
            raise _other(view)
        members[place : place + len(outs)] = numbered.numbers(ins)
        place += len(outs)
        bar, size = _bars(view, own, outs)
        if ordered:
            np.add.at(sizes, bar, size)
        else:
            bar_of.append(np.repeat(bar, size))
    if place != pairs:
        raise _other(view)
    if not ordered:
        members, sizes = _united(members, np.concatenate(bar_of), len(own), numbered.rows)
    return bars(members, np.concatenate(([0], np.cumsum(sizes))), numbered.rows)


def _edges(view: Written, source: Snapshot) -> list[Edge]:
    steps = view.relations.program.steps
    found = [view.edges[steps[leaf].at] for leaf in view.from_source(source)]
    for edge in found:
        if (edge.output, edge.source) != (view.snapshot.id, source.id):
            raise _other(view)
    return found


def _index(edge: Edge) -> tuple[Direction, Index]:
    """Return an index of an edge to be read whole: the one in the order of bars, if there is."""
    direction = min(edge.indexes, key=lambda direction: direction is not Direction.BACKWARD)
    return direction, edge.indexes[direction]


def _blocks(edge: Edge) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield all pairs of an edge: rids of the output and of the source."""
    direction, index = _index(edge)
    for ranges in index.ranges():
        found = decode(ranges, MOST_PAIRS)
        ends = found.keys[0], found.values[0]
        yield ends if direction is Direction.BACKWARD else ends[::-1]


def _last_rids(edge: Edge) -> Iterator[Numbers]:
    """Yield where ranges of an edge's source rows end; none goes from one file into the next."""
    direction, index = _index(edge)
    for ranges in index.ranges():
        if direction is Direction.BACKWARD:
            moves = ranges.base[0] != ABSOLUTE
            yield ranges.value_high[0] + np.where(moves, ranges.key_high[0], 0)
        else:
            yield ranges.key_high[0]


def _bars(view: Written, own: Numbers, keys: Numbers) -> tuple[Numbers, Numbers]:
    """Return, for each run of pairs of one bar, its number and how many they are."""
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    sizes = np.diff(np.append(first, len(keys)))
    found = np.searchsorted(own, keys[first])
    if len(found) and (found.max() >= len(own) or (own[found] != keys[first]).any()):
        raise _other(view)
    return found, sizes


def _united(
    members: npt.NDArray[np.uint32], bar: Numbers, count: int, rows: int
) -> tuple[npt.NDArray[np.uint32], Numbers]:
    """Return the pairs of several places, each once: the rows by bar, and how many each has."""
    codes = np.sort(bar * rows + members)
    codes = codes[np.concatenate(([True], codes[1:] != codes[:-1]))[: len(codes)]]
    bar, row = np.divmod(codes, max(rows, 1))
    return row.astype(np.uint32), np.bincount(bar, minlength=count)


def _datasets(view: Written) -> set[str]:
    return {view.relations.snapshots[leaf].dataset for leaf in view.leaves}


def _names(views: Iterable[Written]) -> str:
    return " and ".join(display(view.snapshot.dataset) for view in views)


def _other(view: Written) -> CorruptError:
    return CorruptError(
        f"an index of {display(view.snapshot.dataset)} is of other rows",
        hint=f"build it again: row-lineage index {view.run_id}",
    )
