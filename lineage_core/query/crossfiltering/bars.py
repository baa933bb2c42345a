"""Bars: which rows of a source went into which rows of a view, as dense arrays (Smoke 6.5.1).

Source rows and bars are numbered from 0. Either way round a relation is held as lists one after the
other: for each bar its source rows, and for each source row its bars. Where every row went into one
bar at the most, the latter is a single array, of the smallest type that holds the bars' numbers.

A view takes 4 bytes a source row for the one direction, 1, 2 or 4 for the other; where rows went
into several bars, 4 bytes a pair for the one, 8 a row and 1 to 4 a pair for the other. Counting a
selection takes one pass over its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lineage_core.errors import UnsupportedError
from lineage_core.index.ranges import spread

Rows: TypeAlias = npt.NDArray[np.uint32]
"""Numbers of source rows."""

Numbers: TypeAlias = npt.NDArray[np.int64]

_CHUNK = 1 << 18
"""How many rows are looked at together: their bars fit a processor's cache."""

_MOST_ROWS = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """The relation of the bars of a view and the rows of its source; make one with `bars`.

    Attributes:
        count: how many bars there are.
        rows: how many source rows.
        members: the source rows of each bar, one bar's after the other's.
        begins: where in `members` each bar's begin; one more than bars.
        of_row: the bar of each row, `count` where it has none; or, where `lists` is given, the
            bars of the rows one after the other.
        lists: where in `of_row` each row's bars begin, one more than rows; None where no row has
            several.
    """

    count: int
    rows: int
    members: Rows
    begins: Numbers
    of_row: npt.NDArray[np.unsignedinteger[Any]]
    lists: Numbers | None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.members, self.begins, self.of_row, self.lists)
        return sum(array.nbytes for array in arrays if array is not None)

    def rows_of(self, chosen: Numbers) -> Rows:
        """Return the rows that went into any of some distinct bars, each once, in no order."""
        begins, sizes = self.begins[chosen], self.begins[chosen + 1] - self.begins[chosen]
        if len(chosen) == 1:
            return self.members[begins[0] : begins[0] + sizes[0]]
        _, places = spread(begins, sizes)
        found: Rows = self.members[places]
        if self.lists is None:
            return found
        once = np.zeros(self.rows, dtype=bool)
        once[found] = True
        return np.flatnonzero(once).astype(np.uint32)

    def within(self, rows: Rows, chosen: Numbers) -> Rows:
        """Return those of some rows that went into any of some bars."""
        flags = np.zeros(self.count + 1, dtype=bool)
        flags[chosen] = True
        if self.lists is None:
            inside = flags[self.of_row[rows]]
        else:
            inside = np.zeros(len(rows), dtype=bool)
            for begin, row, bar in self._met(rows):
                inside[begin + row[flags[bar]]] = True
        found: Rows = rows[inside]
        return found

    def counts(self, rows: Rows | None) -> Numbers:
        """Return how many of some distinct rows went into each bar; of all, if None."""
        if rows is None:
            return np.diff(self.begins)
        total = np.zeros(self.count + 1, dtype=np.int64)
        for _, _, bar in self._met(rows):
            total += np.bincount(bar, minlength=len(total))
        return total[: self.count]

    def sums(self, rows: Rows | None, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return, for each bar, the sum of `values` (by source row) over those of some rows in it.

        Integers (int64) are added as such, and wrap; doubles in the order of the rows.
        """
        every = np.arange(self.rows, dtype=np.uint32) if rows is None else rows
        total = np.zeros(self.count + 1, dtype=values.dtype)
        for begin, row, bar in self._met(every):
            added = values[every[begin : begin + _CHUNK]]
            added = added if self.lists is None else added[row]
            if values.dtype == np.int64:
                np.add.at(total, bar.astype(np.intp), added)
            else:
                total += np.bincount(bar, weights=added, minlength=len(total))
        return total[: self.count]

    def _met(self, rows: Rows) -> Iterator[tuple[int, Any, Any]]:
        """Yield, chunk by chunk, where it begins, and pairs of a place in it and the row's bar.

        Where no row has several bars, the places are all of the chunk's, and not given (None).
        """
        for begin in range(0, len(rows), _CHUNK):
            part = rows[begin : begin + _CHUNK]
            if self.lists is None:
                # All are within bounds; without looking, twice as many are taken a second.
                yield begin, None, np.take(self.of_row, part, mode="clip")
                continue
            first = self.lists[part]
            row, places = spread(first, self.lists[part.astype(np.int64) + 1] - first)
            yield begin, row, self.of_row[places]


def bars(members: Rows, begins: Numbers, rows: int) -> Bars:
    """Return the relation in which bar `i` has the source rows `members[begins[i]:begins[i + 1]]`.

    Args:
        members: numbers of rows, below `rows`; none is there twice for one bar.
        begins: int64, one more than there are bars.
        rows: how many source rows there are.

    Raises:
        UnsupportedError: there are more rows than can be numbered in 32 bits.
    """
    if rows > _MOST_ROWS:
        raise UnsupportedError(
            f"a source of {rows:,} rows is too large to be held in memory",
            hint="ask forward or backward, which read the index where they need it",
        )
    count = len(begins) - 1
    # A numpy integer that holds `count`, which stands for no bar.
    of_row = np.full(rows, count, dtype=np.min_scalar_type(count))
    bar = np.repeat(np.arange(count, dtype=of_row.dtype), np.diff(begins))
    of_row[members] = bar
    if len(members) == rows - int(np.count_nonzero(of_row == count)):
        return Bars(count, rows, members, begins, of_row, None)
    sizes = np.bincount(members, minlength=rows)
    lists = np.concatenate(([0], np.cumsum(sizes)))
    return Bars(count, rows, members, begins, bar[np.argsort(members, kind="stable")], lists)
