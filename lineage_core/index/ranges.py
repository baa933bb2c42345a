"""Boxes, which are products of ranges, as arrays: what encoding, lookups and sets of cells share.

A number of boxes are two arrays of shape (axes, boxes): where their ranges begin, and where they
end. The ends belong to them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lineage_core.errors import CorruptError
from lineage_core.index.relation import Integers, order_of

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


def merged(
    low: Integers, high: Integers, axis: int, *, ordered: bool = False
) -> tuple[Integers, Integers]:
    """Join boxes that follow each other on an axis and are alike on all others.

    Args:
        low: where the boxes begin.
        high: where they end.
        axis: the axis.
        ordered: whether the boxes are in order of the other axes, then of this one.
    """
    begins, ends = np.delete(low, axis, axis=0), np.delete(high, axis, axis=0)
    long = (begins != ends).any(axis=1)  # the other axes are told by where they begin
    others = [*begins, *ends[long]]
    if not ordered:
        order = order_of(np.array([*others, low[axis]]))
        low, high, others = low[:, order], high[:, order], [other[order] for other in others]
    first = np.ones(low.shape[1], dtype=bool)
    first[1:] = low[axis][1:] != high[axis][:-1] + 1
    for other in others:
        first[1:] |= other[1:] != other[:-1]
    end = high[axis][lasts(first)]
    low, high = low[:, first], high[:, first]
    high[axis] = end
    return low, high


def lasts(first: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return where the runs end that begin at `first`."""
    return np.append(first[1:], True)[: len(first)]


def overlapping(
    low: Integers, high: Integers, other_low: Integers, other_high: Integers
) -> tuple[Places, Places]:
    """Return the pairs of boxes, the one here and the other there, that have a cell in common.

    Those here are in the order of where they begin on the first axis. For each one there, those
    here are looked at that begin on the first axis before it ends, from the first on that may reach
    it: as many as overlap, unless long ranges cover many short ones.
    """
    reach = np.maximum.accumulate(high[0])
    begin = np.searchsorted(reach, other_low[0], side="left")
    end = np.searchsorted(low[0], other_high[0], side="right")
    theirs, mine = spread(begin, np.maximum(end - begin, 0))
    meet = np.ones(len(mine), dtype=bool)
    for axis in range(len(low)):
        meet &= low[axis][mine] <= other_high[axis][theirs]
        meet &= high[axis][mine] >= other_low[axis][theirs]
    return mine[meet], theirs[meet]
