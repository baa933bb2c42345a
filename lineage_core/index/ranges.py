"""Boxes, which are products of ranges, as arrays: what encoding, lookups and sets of cells share.

A number of boxes are two arrays of shape (axes, boxes): where their ranges begin, and where they
end. The ends belong to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lineage_core.errors import CorruptError
from lineage_core.index.relation import Integers, Order, at, order_of, packed

Places = npt.NDArray[np.intp]


def expand(low: Integers, high: Integers, most: int) -> tuple[Places, Integers]:
    """Return each cell of some boxes: the number of its box, and its coordinates, an axis a row.

    Raises:
        CorruptError: there are more than `most`.
    """
    extents = high - low + 1
    # Not as integers: a hostile file may have boxes whose sizes do not fit.
    if extents.astype(np.float64).prod(axis=0).sum() > most:
        raise CorruptError(f"an index block stands for more than {most} pairs")
    box, place = spread(np.zeros(low.shape[1], dtype=np.int64), extents.prod(axis=0))
    cells = np.empty((len(low), len(box)), dtype=np.int64)
    for axis in reversed(range(len(low))):
        place, offset = np.divmod(place, extents[axis][box])
        cells[axis] = low[axis][box] + offset
    return box, cells


def spread(begin: npt.NDArray[np.integer], sizes: npt.NDArray[np.integer]) -> tuple[Places, Places]:
    """Return the numbers of runs of so many places each, and the places, `begin` the first."""
    run = np.repeat(np.arange(len(sizes)), sizes)
    before = np.cumsum(sizes) - sizes
    return run, np.arange(len(run)) + (begin - before)[run]


def merged(low: Integers, high: Integers, axis: int) -> tuple[Integers, Integers]:
    """Join boxes that follow each other on an axis and are alike on all others.

    What is left of them is in the order they were given in, each in the place of its first one.

    Args:
        low: where the boxes begin.
        high: where they end; the same array if they are cells.
        axis: the axis.
    """
    others = [column for number, column in enumerate(low) if number != axis]
    if high is not low:
        lengths = [b - a for n, (a, b) in enumerate(zip(low, high, strict=True)) if n != axis]
        others += [length for length in lengths if length.any()]
    order = order_of([*others, low[axis]])
    joined = low[axis][order][1:] == high[axis][order][:-1] + 1
    for other in others:
        joined &= np.diff(other[order]) == 0
    runs = runs_of(joined, order)
    if not len(runs.first):
        return low, high
    ends = at(high, runs.kept)
    ends[axis, runs.place] = high[axis][runs.last]
    return at(low, runs.kept), ends


class Runs(NamedTuple):
    """Rows that are joined to one, in the place of the first of them.

    Attributes:
        kept: the places of all rows that are left, in order.
        first: where the first of several that are joined was.
        last: where the last of them was.
        place: where the first of them is now.
    """

    kept: Places
    first: Places
    last: Places
    place: Places


def runs_of(joined: npt.NDArray[np.bool_], order: Order) -> Runs:
    """Return the runs of rows of which each but the last is `joined` to the next in an order."""
    pairs = np.flatnonzero(joined)
    cuts = np.flatnonzero(np.diff(pairs) > 1)
    first = pairs[np.concatenate(([0], cuts + 1))[: len(pairs)]]
    last = pairs[np.append(cuts, -1)[: len(pairs)]] + 1
    gone = pairs + 1
    if not isinstance(order, slice):
        first, last, gone = order[first], order[last], order[gone]
    stays = np.ones(len(joined) + 1, dtype=bool)
    stays[gone] = False
    return Runs(np.flatnonzero(stays), first, last, (np.cumsum(stays) - 1)[first])


def lasts(first: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return where the runs end that begin at `first`."""
    return np.append(first[1:], True)[: len(first)]


def overlapping(
    low: Integers, high: Integers, other_low: Integers, other_high: Integers
) -> tuple[Places, Places]:
    """Return the pairs of boxes, the one here and the other there, that have a cell in common.

    Those here are in the order of where they begin. For each one there, those here are looked at
    whose first cell is not behind its last one, from the first on whose last cell may not be before
    its first: as many as overlap, unless long ranges cover many short ones.
    """
    first, last, other_first, other_last = _corners(low, high, other_low, other_high)
    reach = np.maximum.accumulate(last)
    begin = np.searchsorted(reach, other_first, side="left")
    end = np.searchsorted(first, other_last, side="right")
    theirs, mine = spread(begin, np.maximum(end - begin, 0))
    meet = np.ones(len(mine), dtype=bool)
    for axis in range(len(low)):
        meet &= low[axis][mine] <= other_high[axis][theirs]
        meet &= high[axis][mine] >= other_low[axis][theirs]
    return mine[meet], theirs[meet]


def _corners(*ends: Integers) -> Sequence[Integers]:
    """Return one number for each first or last cell, in their order; or where it is on one axis."""
    if len(ends[0]) > 1 and ends[0].shape[1] and ends[-1].shape[1]:
        codes = packed(np.concatenate(ends, axis=1))
        if codes is not None:
            return np.split(codes, np.cumsum([part.shape[1] for part in ends])[:-1])
    return [part[0] for part in ends]
