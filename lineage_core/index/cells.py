"""Sets of cells as boxes that do not overlap: what is asked of an index, and what it answers.

A box is a product of ranges, whose ends belong to it. The rows of a dataset are cells of one axis,
so there a set is a sorted list of intervals of rids. Nothing is unpacked until someone asks for the
cells themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lineage_core.index.ranges import Places, expand, lasts, merged, overlapping, spread
from lineage_core.index.relation import Integers, at, order_of, starts


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A set of cells of one array; make one with `cells` or `boxes`.

    Attributes:
        low: shape (axes, boxes), where the ranges of each box begin; in order.
        high: likewise, where they end.
    """

    low: Integers
    high: Integers

    def __len__(self) -> int:
        """Return how many boxes there are."""
        return int(self.low.shape[1])

    @property
    def count(self) -> int:
        """How many cells there are."""
        return int((self.high - self.low + 1).prod(axis=0).sum())

    def __or__(self, other: Cells) -> Cells:
        """Return the cells of either."""
        low = np.concatenate((self.low, other.low), axis=1)
        return boxes(low, np.concatenate((self.high, other.high), axis=1))

    def __and__(self, other: Cells) -> Cells:
        """Return the cells of both."""
        mine, theirs = overlapping(self.low, self.high, other.low, other.high)
        low = np.maximum(self.low[:, mine], other.low[:, theirs])
        return boxes(low, np.minimum(self.high[:, mine], other.high[:, theirs]))

    def __sub__(self, other: Cells) -> Cells:
        """Return the cells of this set that are not of the other."""
        return _swept(
            np.concatenate((self.low, other.low), axis=1),
            np.concatenate((self.high, other.high), axis=1),
            np.concatenate((np.zeros(len(self), bool), np.ones(len(other), bool))),
        )

    def same(self, other: Cells) -> bool:
        """Whether both are the same set, however it is cut into boxes."""
        return self.count == other.count == (self & other).count

    def to_numpy(self, most: int = 1 << 30) -> Integers:
        """Return the coordinates of all cells, in order: shape (axes, cells).

        Raises:
            CorruptError: there are more than `most`.
        """
        _, found = expand(self.low, self.high, most)
        return found[:, order_of(found)]


def cells(coordinates: Sequence[npt.ArrayLike]) -> Cells:
    """Return the set of the cells given by their coordinates, an array an axis, in any order."""
    low = np.array([np.asarray(column) for column in coordinates], dtype=np.int64)
    return boxes(low, low)


def boxes(low: Integers, high: Integers) -> Cells:
    """Return the set of the cells in some boxes, which may overlap."""
    long = np.flatnonzero((low != high).any(axis=1))
    if len(long) < 2:
        return _lines(low, high, int(long[0]) if len(long) else len(low) - 1)
    return _swept(low, high, np.zeros(low.shape[1], bool))


def _lines(low: Integers, high: Integers, axis: int) -> Cells:
    """Return the set of the cells in boxes that are longer than a cell on one axis only."""
    others = [column for number, column in enumerate(low) if number != axis]
    order = order_of([*others, low[axis]])
    low, high = at(low, order), at(high, order)
    begin, end = low[axis], high[axis]
    first = np.ones(low.shape[1], dtype=bool)  # of its line
    first[1:] = False
    for number, column in enumerate(low):
        if number != axis:
            first[1:] |= column[1:] != column[:-1]
    if (~first[1:] & (end[1:] < end[:-1])).any():  # one reaches further than the next one does
        line = np.cumsum(first) - 1
        begin, end, inside = _united(begin, end, line, np.zeros(len(line), bool))
        low = low[:, first][:, inside]
    else:
        first[1:] |= begin[1:] > end[:-1] + 1
        low, begin, end = low[:, first], begin[first], end[lasts(first)]
    high = low.copy()
    low[axis], high[axis] = begin, end
    return _joined(low, high)


def _swept(low: Integers, high: Integers, out: npt.NDArray[np.bool_]) -> Cells:
    """Return the cells of the boxes that are not `out`, without those of the boxes that are.

    Axis by axis, space is cut into slabs wherever a box begins or ends; a box goes to the slabs it
    covers. On the last axis what is left are intervals, of which those of one slab are united.
    """
    axes = low.shape[0]
    slab = np.zeros((1, low.shape[1]), dtype=np.int64)
    slabs = np.empty((2, 0, 1), dtype=np.int64)
    box = np.arange(low.shape[1])
    for axis in range(axes - 1):
        box, slab, slabs = _cut(low[axis], high[axis], box, slab[0], slabs)
    begin, end, inside = _united(low[-1][box], high[-1][box], slab[0], out[box])
    low = np.concatenate((slabs[0][:, inside], begin[None]))
    return _joined(low, np.concatenate((slabs[1][:, inside], end[None])))


def _cut(
    low: Integers,
    high: Integers,
    box: Places,
    slab: Integers,
    slabs: Integers,
) -> tuple[Places, Integers, Integers]:
    """Cut slabs along one more axis; return each part's box and slab, and the slabs' ranges."""
    marks = np.concatenate((low[box], high[box] + 1))
    cuts = np.stack((np.concatenate((slab, slab)), marks))
    cuts = cuts[:, order_of(cuts)]
    cuts = cuts[:, starts(cuts)] if cuts.shape[1] else cuts
    values = np.unique(marks)
    codes = cuts[0] * len(values) + np.searchsorted(values, cuts[1])
    first = np.searchsorted(codes, slab * len(values) + np.searchsorted(values, low[box]))
    last = np.searchsorted(codes, slab * len(values) + np.searchsorted(values, high[box] + 1))
    part, place = spread(first, last - first)
    ends = np.append(cuts[1][1:], 0) - 1
    ranges = np.stack((cuts[1], ends[: len(cuts[1])]))[:, None, :]
    before = slabs[:, :, cuts[0]] if slabs.shape[1] else np.empty((2, 0, cuts.shape[1]), np.int64)
    return box[part], place[None], np.concatenate((before, ranges), axis=1)


def _united(
    low: Integers, high: Integers, slab: Integers, out: npt.NDArray[np.bool_]
) -> tuple[Integers, Integers, Places]:
    """Return the intervals of each slab that are in some interval and in none that is `out`."""
    marks = np.concatenate((low, high + 1))
    steps = np.concatenate((np.where(out, 0, 1), np.where(out, 0, -1)))
    outs = np.concatenate((np.where(out, 1, 0), np.where(out, -1, 0)))
    columns = np.stack((np.concatenate((slab, slab)), marks))
    order = np.arange(len(marks))[order_of(columns)]
    columns = columns[:, order]
    last = lasts(starts(columns))
    covered = (np.cumsum(steps[order]) > 0) & (np.cumsum(outs[order]) == 0)
    # After the last mark of a slab nothing is covered, so an interval ends where the next begins.
    at, covered = columns[:, last], covered[last]
    begins = covered & ~np.concatenate(([False], covered[:-1]))[: len(covered)]
    ends = ~covered & np.concatenate(([False], covered[:-1]))[: len(covered)]
    return at[1][begins], at[1][ends] - 1, at[0][begins].astype(np.intp)


def _joined(low: Integers, high: Integers) -> Cells:
    """Join boxes that lie next to each other and are alike on all other axes."""
    for axis in reversed(range(len(low) - 1)):
        low, high = merged(low, high, axis)
    order = order_of(low)
    return Cells(low[:, order], high[:, order])
