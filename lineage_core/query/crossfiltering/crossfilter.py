"""Crossfilter: views of one source that show each other's selections (Smoke 6.5.1, BT+FT).

Each view is an output of a captured run, typically of a group-by; its rows are its *bars*. Brushing
selects bars in some views. The rows of the source that went into them are found by the views' rid
indexes backward, and counted by the bars of every other view by the indexes forward. Nothing is
scanned or grouped again.

As in the tools of that name, a view is cut down by the brushes in all *other* views and not by its
own, so its user can go on choosing among all its bars: after a single brush, the brushed view shows
what it showed before. Where there are several brushes, a view counts the rows that are in all of
those that count for it.

Open, a crossfilter holds dense arrays: about 5 to 8 bytes a source row and view (`bars`), 8 a
row for each measure, and the rows of the views themselves. A brush looks once, for each view, at
the rows it selects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lineage_core.datasets import display
from lineage_core.errors import NotFoundError, PredicateError, UnsupportedError
from lineage_core.plan.types import is_comparable
from lineage_core.plan.unique import keys
from lineage_core.query.chain import Path
from lineage_core.query.columns import close_matches, find_column
from lineage_core.query.crossfiltering.bars import Bars, Numbers, Rows
from lineage_core.query.crossfiltering.measures import Measure, measure
from lineage_core.query.crossfiltering.views import Written, common_source, numbering, unpack
from lineage_core.query.reader import Reader
from lineage_core.query.selection import EVERYTHING, Where
from lineage_core.query.values import distinguished
from lineage_core.query.where import parse_where
from lineage_core.snapshot import Snapshot

BRUSHED = "brushed"

Chosen: TypeAlias = str | Sequence[int] | pa.Array | pa.ChunkedArray
"""Bars: those for which a condition on the view's columns holds, or those of rids."""


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """A view, unpacked: its rows' rids, the rows, and which source rows went into them."""

    written: Written
    rids: Numbers
    rows: pa.Table
    bars: Bars


@dataclass(frozen=True, slots=True, eq=False)
class _Brush:
    """Bars chosen in a view, and how many source rows went into them (twice, if into two)."""

    view: str
    chosen: Numbers
    size: int


class Crossfilter:
    """Views of one source, to be brushed; made by `LineageStore.crossfilter`.

    It is of the views and the source as they were when they were written: nothing is read after it
    was opened but what conditions are about, which has to be what it was. Safe to use from several
    threads.

    Attributes:
        source: the snapshot that all views were made from.
    """

    def __init__(
        self,
        views: Sequence[Written],
        source: Snapshot,
        measures: Sequence[str],
        reader: Callable[[], Reader],
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.source = source
        self._reader = reader  # a new one for each question: a reader verifies a snapshot once
        self._numbering = numbering(views, source)
        self._views: dict[str, _View] = {}
        for written in views:
            progress(display(written.snapshot.dataset))
            self._views[written.name] = self._opened(written)
        if measures:
            progress(display(source.dataset))
        self._measures = self._read(views[0], measures)
        self._check_names()
        self._unbrushed = {name: self._shown(view, None) for name, view in self._views.items()}

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the views, as they were given."""
        return tuple(self._views)

    @property
    def reasons(self) -> Mapping[str, tuple[str, ...]]:
        """Why counts of a view may be too high: its lineage is a superset; none where exact."""
        return {name: _reasons(view, self.source) for name, view in self._views.items()}

    @property
    def nbytes(self) -> int:
        """Bytes held, but for the rows of the views themselves."""
        arrays = sum(view.bars.nbytes + view.rids.nbytes for view in self._views.values())
        return arrays + sum(found.values.nbytes for found in self._measures)

    def brush(self, brushes: Mapping[str, Chosen]) -> dict[str, pa.Table]:
        """Return what each view shows while bars are selected.

        Args:
            brushes: what is selected, by view: a condition on its columns, or rids of its rows. No
                brush shows everything.

        Returns:
            For each view its rows, in the order of their rids, with `brushed`: how many of the
            source's rows that are in all brushes of other views went into it; and
            `brushed_<measure>`: the sum of that column over them, 0 for none. A source row that
            went into several rows of a view counts in each.

        Raises:
            NotFoundError: there is no such view, or a rid is none of its rows.
            PredicateError: a condition is not valid for its view.
            ChangedError: a view with a condition is not what it was.
        """
        made = [self._brush(name, chosen) for name, chosen in brushes.items()]
        met: dict[frozenset[str], Rows | None] = {}
        shown = {}
        for name, view in self._views.items():
            others = [brush for brush in made if brush.view != name]
            key = frozenset(brush.view for brush in others)
            if key not in met:
                met[key] = self._met(others)
            rows = met[key]
            shown[name] = self._unbrushed[name] if rows is None else self._shown(view, rows)
        return shown

    def _opened(self, written: Written) -> _View:
        columns = tuple(range(len(written.snapshot.columns)))
        table = self._reader().rows(Path(written.relations, (0,), EVERYTHING), columns, rids=True)
        rids = table.column(0).combine_chunks()
        found = unpack(written, self.source, rids, self._numbering)
        # By position: a column of the view may be called like that of rids.
        rows = table.select(list(range(1, table.num_columns)))
        return _View(written, rids.to_numpy(), rows, found)

    def _read(self, view: Written, names: Sequence[str]) -> tuple[Measure, ...]:
        if not names:
            return ()
        columns = tuple(find_column(self.source, name) for name in names)
        own = [self.source.columns[column].name for column in columns]
        if len(set(columns)) < len(columns):
            raise UnsupportedError(f"one of {', '.join(own)} is given twice as a measure")
        step = view.from_source(self.source)[0]
        path = Path(view.relations, (step,), EVERYTHING)
        table = self._reader().rows(path, columns, rids=True)
        rids = table.column(0).to_numpy()
        known = self._numbering.has(rids)
        numbers = self._numbering.numbers(rids[known])
        kept = table.filter(pa.array(known))
        return tuple(
            measure(
                name,
                self.source.columns[column].type,
                kept.column(place),
                numbers,
                self._numbering.rows,
            )
            for place, (name, column) in enumerate(zip(own, columns, strict=True), start=1)
        )

    def _check_names(self) -> None:
        """Raise an error where a view has a column that is called like what is counted."""
        added = [BRUSHED, *(_column(found) for found in self._measures)]
        for view in self._views.values():
            taken = set(added).intersection(view.rows.column_names)
            if taken:
                raise UnsupportedError(
                    f"{display(view.written.snapshot.dataset)} has a column {min(taken)!r}, "
                    "which is what counts are called",
                    hint="write the view with another name for it",
                )

    def _brush(self, name: str, chosen: Chosen) -> _Brush:
        if name not in self._views:
            raise NotFoundError(
                f"there is no view {name!r} in this crossfilter",
                hint=close_matches(name, list(self._views)),
            )
        view = self._views[name]
        found = self._selected(view, chosen) if isinstance(chosen, str) else _given(view, chosen)
        size = int((view.bars.begins[found + 1] - view.bars.begins[found]).sum())
        return _Brush(name, found, size)

    def _selected(self, view: _View, where: str) -> Numbers:
        """Return the bars for which a condition holds."""
        selection = Where(parse_where(where, view.written.snapshot))
        rids = self._reader().rids(Path(view.written.relations, (0,), selection))
        found: Numbers = np.searchsorted(view.rids, rids.to_numpy())
        return found

    def _met(self, brushes: Iterable[_Brush]) -> Rows | None:
        """Return the source rows that are in all of some brushes; None for all rows."""
        rows = None
        for brush in sorted(brushes, key=lambda brush: brush.size):
            bars = self._views[brush.view].bars
            rows = bars.rows_of(brush.chosen) if rows is None else bars.within(rows, brush.chosen)
        return rows

    def _shown(self, view: _View, rows: Rows | None) -> pa.Table:
        table = view.rows.append_column(BRUSHED, pa.array(view.bars.counts(rows), pa.int64()))
        for found in self._measures:
            sums = found.to_arrow(view.bars.sums(rows, found.values))
            table = table.append_column(_column(found), sums)
        return table


def crossfilter(
    views: Sequence[Written],
    source: str | None,
    measures: Sequence[str],
    reader: Callable[[], Reader],
    progress: Callable[[str], None] = lambda _: None,
) -> Crossfilter:
    """Return the crossfilter of some views.

    Args:
        views: outputs of captured runs, at least one.
        source: name of the dataset that they have in common; None where there is only one.
        measures: columns of it that are added up.
        reader: makes what reads the views, and the measures.
        progress: is told which dataset is unpacked next.

    Raises:
        UnsupportedError: a view has no index, or they were not made from one state of a dataset.
        AmbiguousError: they have several datasets in common.
        NotFoundError: the source is not one of them, or has no such column.
    """
    for view in views:
        if not any(edge.indexes for edge in view.edges.values()):
            raise UnsupportedError(
                f"what run {view.run_id} wrote to {display(view.snapshot.dataset)} has no index",
                hint=f"build it: row-lineage index {view.run_id}",
            )
    return Crossfilter(views, common_source(views, source), measures, reader, progress)


def _given(view: _View, chosen: Sequence[int] | pa.Array | pa.ChunkedArray) -> Numbers:
    """Return the bars of rids."""
    try:
        rids = np.unique(np.asarray(chosen))
        if len(rids) and rids.dtype.kind not in "iu":
            raise TypeError(rids.dtype)
        rids = rids.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        raise PredicateError(
            "rids must be 64-bit integers", hint="take them from an answer's rids()"
        ) from None
    found = np.searchsorted(view.rids, rids)
    inside = np.minimum(found, len(view.rids) - 1)
    wrong = rids if not len(view.rids) else rids[view.rids[inside] != rids]
    if len(wrong):
        raise NotFoundError(
            f"{wrong[0]} is no rid of {display(view.written.snapshot.dataset)} "
            f"as run {view.written.run_id} wrote it",
            hint="rids belong to one snapshot; take them from an answer about the same run",
        )
    return found


def _reasons(view: _View, source: Snapshot) -> tuple[str, ...]:
    relations = view.written.relations
    steps = relations.program.steps
    found = [why for leaf in view.written.from_source(source) for why in steps[leaf].superset]
    if not (relations.plan and keys(relations.plan)) and _has_twins(view):
        found.append("rows equal in every column share what they were made of")
    return tuple(dict.fromkeys(found))


def _has_twins(view: _View) -> bool:
    """Whether rows of a view are equal in all columns that can be compared."""
    columns = enumerate(view.written.snapshot.columns)
    compared = {
        str(place): distinguished(view.rows.column(place))
        for place, column in columns
        if is_comparable(column.type)
    }
    found = pa.table(compared).group_by(list(compared)).aggregate([]).num_rows if compared else 1
    return int(found) < len(view.rids)


def _column(found: Measure) -> str:
    return f"{BRUSHED}_{found.name}"
