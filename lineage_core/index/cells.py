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

from lineage_core.index.provrc import expand
from lineage_core.index.relation import Integers, order_of, starts


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
    if len(low) == 1 and (low[0, 1:] > high[0, :-1]).all():
        return _followed(low[0], high[0])
    long = np.flatnonzero((low != high).any(axis=1))
    if len(low) > 1 and len(long) < 2:
        return _lines(low, high, int(long[0]) if len(long) else len(low) - 1)
    return _swept(low, high, np.zeros(low.shape[1], bool))


def overlapping(
    low: Integers, high: Integers, other_low: Integers, other_high: Integers
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the pairs of boxes, the one here and the other there, that have a cell in common.

    Those here are in the order of where they begin on the first axis. For each one there, those
    here are looked at that begin on the first axis before it ends, from the first on that may reach
    it: as many as overlap, unless long ranges cover many short ones.
    """
    reach = np.maximum.accumulate(high[0])
    begin = np.searchsorted(reach, other_low[0], side="left")
    end = np.searchsorted(low[0], other_high[0], side="right")
    sizes = np.maximum(end - begin, 0)
    theirs = np.repeat(np.arange(len(sizes)), sizes)
    offset = np.arange(len(theirs)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    mine = begin[theirs] + offset
    meet = np.ones(len(mine), dtype=bool)
    for axis in range(len(low)):
        meet &= low[axis][mine] <= other_high[axis][theirs]
        meet &= high[axis][mine] >= other_low[axis][theirs]
    return mine[meet], theirs[meet]


def _followed(low: Integers, high: Integers) -> Cells:
    """Join intervals that are in order and do not overlap, where one goes on with the next."""
    first = np.concatenate(([True], low[1:] != high[:-1] + 1))[: len(low)]
    last = np.append(first[1:], True)[: len(first)]
    return Cells(low[None, first], high[None, last])


def _lines(low: Integers, high: Integers, axis: int) -> Cells:
    """Return the set of the cells in boxes that are longer than a cell on one axis only."""
    order = order_of(np.concatenate((np.delete(low, axis, axis=0), low[axis : axis + 1])))
    low, high = low[:, order], high[:, order]
    first = starts(np.delete(low, axis, axis=0))
    line = np.cumsum(first) - 1
    out = np.zeros(low.shape[1], dtype=bool)
    begin, end, inside = _united(low[axis], high[axis], line, out)
    found = low[:, first][:, inside]
    high = found.copy()
    found[axis], high[axis] = begin, end
    return _joined(found, high)


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
    found = np.concatenate((slabs[0][:, inside], begin[None])), np.concatenate(
        (slabs[1][:, inside], end[None])
    )
    return _joined(*found)


def _cut(
    low: Integers,
    high: Integers,
    box: npt.NDArray[np.intp],
    slab: Integers,
    slabs: Integers,
) -> tuple[npt.NDArray[np.intp], Integers, Integers]:
    """Cut slabs along one more axis; return each part's box and slab, and the slabs' ranges."""
    marks = np.concatenate((low[box], high[box] + 1))
    cuts = np.stack((np.concatenate((slab, slab)), marks))
    cuts = cuts[:, order_of(cuts)]
    cuts = cuts[:, starts(cuts)] if cuts.shape[1] else cuts
    values = np.unique(marks)
    codes = cuts[0] * len(values) + np.searchsorted(values, cuts[1])
    first = np.searchsorted(codes, slab * len(values) + np.searchsorted(values, low[box]))
    last = np.searchsorted(codes, slab * len(values) + np.searchsorted(values, high[box] + 1))
    sizes = last - first
    part = np.repeat(np.arange(len(box)), sizes)
    place = np.repeat(first, sizes) + np.arange(len(part)) - np.repeat(
        np.cumsum(sizes) - sizes, sizes
    )
    ends = np.append(cuts[1][1:], 0) - 1
    ranges = np.stack((cuts[1], ends[: len(cuts[1])]))[:, None, :]
    before = slabs[:, :, cuts[0]] if slabs.shape[1] else np.empty((2, 0, cuts.shape[1]), np.int64)
    return box[part], place[None], np.concatenate((before, ranges), axis=1)


def _united(
    low: Integers, high: Integers, slab: Integers, out: npt.NDArray[np.bool_]
) -> tuple[Integers, Integers, npt.NDArray[np.intp]]:
    """Return the intervals of each slab that are in some interval and in none that is `out`."""
    marks = np.concatenate((low, high + 1))
    steps = np.concatenate((np.where(out, 0, 1), np.where(out, 0, -1)))
    outs = np.concatenate((np.where(out, 1, 0), np.where(out, -1, 0)))
    columns = np.stack((np.concatenate((slab, slab)), marks))
    order = np.arange(len(marks))[order_of(columns)]
    columns = columns[:, order]
    first = starts(columns)
    last = np.append(first[1:], True)[: len(first)]
    covered = (np.cumsum(steps[order]) > 0) & (np.cumsum(outs[order]) == 0)
    # After the last mark of a slab nothing is covered, so an interval ends where the next begins.
    at, covered = columns[:, last], covered[last]
    begins = covered & ~np.concatenate(([False], covered[:-1]))[: len(covered)]
    ends = ~covered & np.concatenate(([False], covered[:-1]))[: len(covered)]
    return at[1][begins], at[1][ends] - 1, at[0][begins].astype(np.intp)


def _joined(low: Integers, high: Integers) -> Cells:
    """Join boxes that lie next to each other and are alike on all other axes."""
    for axis in reversed(range(len(low) - 1)):
        others = np.concatenate((np.delete(low, axis, axis=0), np.delete(high, axis, axis=0)))
        columns = np.concatenate((others, low[axis : axis + 1]))
        order = order_of(columns)
        low, high, columns = low[:, order], high[:, order], columns[:, order]
        first = starts(columns[:-1])
        first[1:] |= low[axis][1:] != high[axis][:-1] + 1
        last = np.append(first[1:], True)[: len(first)]
        ends = high[axis][last]
        low, high = low[:, first], high[:, first]
        high[axis] = ends
    order = order_of(low)
    return Cells(low[:, order], high[:, order])
