"""ProvRC in any number of axes: a relation as products of ranges (DSLog IV-A, dissertation 4).

A row of the encoding stands for every pair of a key cell in its key ranges and a value cell in its
value ranges. A value range is absolute, or relative to one key axis: then it is added to the key's
coordinate. Rows do not overlap, so the encoding is as lossless as the relation is a set.

Step 1 merges value cells into ranges, axis by axis. Step 2 merges rows along each key axis where,
value axis by value axis, either the range stays or it moves along with the key. Two rows next to
each other on an axis agree in at most one of these ways, so what a pair of neighbours allows is one
*pattern*, and rows merge as long as the pattern stays. All of it is linear passes and sorts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lineage_core.index.ranges import expand, lasts, merged
from lineage_core.index.relation import Integers, Relation, order_of, relation, starts

ABSOLUTE = -1
"""Base of a value range that is relative to no key axis."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """An encoded relation: for each row, ranges whose ends belong to them.

    Attributes:
        key_low: shape (key axes, rows), where the ranges of keys begin.
        key_high: likewise, where they end.
        value_low: shape (value axes, rows), where the ranges of values begin.
        value_high: likewise, where they end.
        base: shape (value axes, rows), the key axis that each is relative to, or `ABSOLUTE`.
    """

    key_low: Integers
    key_high: Integers
    value_low: Integers
    value_high: Integers
    base: Integers

    def __len__(self) -> int:
        return int(self.key_low.shape[1])

    @property
    def columns(self) -> Integers:
        """All that tells the rows, below each other, in the order in which rows are sorted."""
        parts = (self.key_low, self.key_high, self.base, self.value_low, self.value_high)
        return np.concatenate(parts)

    def within(self, shape: Integers) -> bool:
        """Whether all cells are cells of arrays of a shape, the axes of keys first."""
        keys = len(self.key_low)
        low, high = self.value_low.copy(), self.value_high.copy()
        for axis in range(keys):
            moves = self.base == axis
            low += np.where(moves, self.key_low[axis], 0)
            high += np.where(moves, self.key_high[axis], 0)
        beyond = (self.key_high >= shape[:keys, None]).any() or (high >= shape[keys:, None]).any()
        return not beyond and not (low < 0).any()

    def take(self, places: npt.NDArray[np.bool_] | npt.NDArray[np.intp] | slice) -> Ranges:
        """Return the rows at some places."""
        return Ranges(
            self.key_low[:, places],
            self.key_high[:, places],
            self.value_low[:, places],
            self.value_high[:, places],
            self.base[:, places],
        )


def encode(pairs: Relation) -> Ranges:
    """Return the encoding of a relation; equal relations have equal encodings."""
    made = _value_ranges(pairs)
    # Keys of one row each have disjoint ranges to the end, so those alone tell the rows.
    single = bool(starts(made.key_low).all())
    for axis in reversed(range(len(pairs.keys))):
        made = _merged_along(made, axis, single)
    return made.take(order_of(made.key_low if single else made.columns))


def decode(ranges: Ranges, most: int) -> Relation:
    """Return the relation that was encoded.

    Args:
        ranges: the encoding.
        most: how many pairs there may be.

    Raises:
        CorruptError: it stands for more pairs.
    """
    keys, values = len(ranges.key_low), len(ranges.value_low)
    low = np.concatenate((ranges.key_low, ranges.value_low))
    high = np.concatenate((ranges.key_high, ranges.value_high))
    row, cells = expand(low, high, most)
    for axis in range(values):
        for base in range(keys):
            moves = ranges.base[axis][row] == base
            cells[keys + axis][moves] += cells[base][moves]
    return relation(cells[:keys], cells[keys:])


def _value_ranges(pairs: Relation) -> Ranges:
    """Merge the value cells of each key cell into products of ranges (step 1)."""
    low = high = np.concatenate((pairs.keys, pairs.values))
    keys = len(pairs.keys)
    for axis in reversed(range(keys, len(low))):
        low, high = merged(low, high, axis, ordered=axis == len(low) - 1)
    base = np.full_like(low[keys:], ABSOLUTE)
    return Ranges(low[:keys], low[:keys], low[keys:], high[keys:], base)


def _merged_along(ranges: Ranges, axis: int, single: bool) -> Ranges:
    """Merge rows that follow each other on a key axis, in which none has been merged yet."""
    ranges = ranges.take(_lined_up(ranges, axis, single))
    here = ranges.key_low[axis]
    neighbours = _neighbours(ranges, axis)
    stays = (
        (ranges.base[:, 1:] == ranges.base[:, :-1])
        & (ranges.value_low[:, 1:] == ranges.value_low[:, :-1])
        & (ranges.value_high[:, 1:] == ranges.value_high[:, :-1])
    )
    free = ranges.base == ABSOLUTE
    moves = (
        (free[:, 1:] & free[:, :-1])
        & (np.diff(ranges.value_low, axis=1) == 1)
        & (np.diff(ranges.value_high, axis=1) == 1)
    )
    neighbours &= (stays | moves).all(axis=0)
    pattern = np.zeros(len(neighbours), dtype=np.int64)
    for number, moving in enumerate(moves):
        pattern |= moving.astype(np.int64) << number
    joined = _runs(np.where(neighbours, pattern + 1, 0))
    first = np.concatenate(([True], ~joined))[: len(here)]
    several = first & ~lasts(first)
    found = ranges.take(first)
    key_high = found.key_high.copy()
    key_high[axis] = ranges.key_high[axis][lasts(first)]
    moving = np.zeros(ranges.base.shape, dtype=bool)
    moving[:, :-1] = moves
    moving = (moving & several)[:, first]
    offset = np.where(moving, here[first], 0)
    return Ranges(
        found.key_low,
        key_high,
        found.value_low - offset,
        found.value_high - offset,
        np.where(moving, axis, found.base),
    )


def _lined_up(ranges: Ranges, axis: int, single: bool) -> npt.NDArray[np.intp] | slice:
    """Return the order in which rows to be merged along an axis follow each other.

    Of the rows of a key, the first are put beside the first ones of its neighbour, and so on; there
    is nothing to put where every key has a `single` one.
    """
    if single:
        low, high = np.delete(ranges.key_low, axis, 0), ranges.key_high[axis + 1 :]
        return order_of(np.concatenate((low, high, ranges.key_low[axis : axis + 1])))
    order = np.arange(len(ranges))[order_of(ranges.columns)]
    keys = np.concatenate((ranges.key_low, ranges.key_high))[:, order]
    first = starts(keys)
    begins = np.flatnonzero(first)
    sizes = np.diff(np.append(begins, len(first)))
    rank = np.arange(len(first)) - np.repeat(begins, sizes)
    others = np.delete(keys, (axis, axis + len(ranges.key_low)), axis=0)
    columns = np.concatenate((others, rank[None], keys[axis : axis + 1]))
    lined_up: npt.NDArray[np.intp] = order[order_of(columns)]
    return lined_up


def _neighbours(ranges: Ranges, axis: int) -> npt.NDArray[np.bool_]:
    """Return whether each row but the last is followed by one next to it on an axis alone."""
    near: npt.NDArray[np.bool_] = ranges.key_low[axis][1:] == ranges.key_high[axis][:-1] + 1
    for other in range(len(ranges.key_low)):
        if other != axis:
            for ends in (ranges.key_low[other], ranges.key_high[other]):
                near = near & (ends[1:] == ends[:-1])
    return near


def _runs(patterns: Integers) -> npt.NDArray[np.bool_]:
    """Return which pairs of neighbours are merged, given the pattern of each; 0 is none.

    Rows merge from the first on, as long as the pattern stays. Where it changes, the row between
    belongs to what came before, unless only that row would have been left of it.
    """
    joined: npt.NDArray[np.bool_] = patterns != 0
    if not joined.any():
        return joined
    before = np.concatenate(([0], patterns[:-1]))
    begins = np.flatnonzero(joined & (patterns != before))
    ends = np.append(joined[1:] & (patterns[1:] == patterns[:-1]), False)
    long = ends[begins]  # more than two rows
    follows = before[begins] != 0
    after_long = np.concatenate(([False], long[:-1])) & follows
    # Where one of two rows is taken away, nothing is left to take the next one's first.
    known = ~follows | after_long
    places = np.arange(len(begins))
    since = np.maximum.accumulate(np.where(known, places, 0))
    taken = after_long[since] ^ ((places - since) % 2 == 1)
    joined[begins[taken]] = False
    return joined
