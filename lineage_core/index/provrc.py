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

from lineage_core.index.ranges import expand, merged, runs_of
from lineage_core.index.relation import Integers, Order, Relation, at, order_of, relation, starts

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
            if moves.any():
                low += np.where(moves, self.key_low[axis], 0)
                high += np.where(moves, self.key_high[axis], 0)
        beyond = (self.key_high >= shape[:keys, None]).any() or (high >= shape[keys:, None]).any()
        return not beyond and not (low < 0).any()

    def take(self, places: Order) -> Ranges:
        """Return the rows at some places."""
        parts = (self.key_low, self.key_high, self.value_low, self.value_high, self.base)
        return Ranges(*(at(part, places) for part in parts))


def encode(pairs: Relation) -> Ranges:
    """Return the encoding of a relation; equal relations have equal encodings."""
    made = _value_ranges(pairs)
    # Keys of one row each have disjoint ranges to the end: where they begin tells the rows.
    single = bool(starts(made.key_low).all())
    for axis in reversed(range(len(pairs.keys))):
        made = _merged_along(made, axis, single)
        if not single:
            made = made.take(order_of(_telling(made)))
    return made


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
    keys = len(pairs.keys)
    low = high = np.concatenate((pairs.keys, pairs.values))
    if not starts(pairs.keys).all():
        for axis in reversed(range(keys, len(low))):
            low, high = merged(low, high, axis)
    values = low[keys:]
    base = np.broadcast_to(np.int64(ABSOLUTE), values.shape)
    return Ranges(low[:keys], low[:keys], values, values if high is low else high[keys:], base)


def _merged_along(ranges: Ranges, axis: int, single: bool) -> Ranges:
    """Merge rows that follow each other on a key axis, in which none has been merged yet."""
    order = _lined_up(ranges, axis, single)
    patterns = _patterns(ranges, axis, order)
    joined = _joined(patterns)
    if not joined.any():
        return ranges
    runs = runs_of(joined, order)
    found = ranges.take(runs.kept)
    found.key_high[axis, runs.place] = ranges.key_high[axis][runs.last]
    pattern = patterns[joined & ~np.concatenate(([False], joined[:-1]))]
    for number in range(len(found.base)):
        moving = (pattern >> number & 2).astype(bool)
        place, offset = runs.place[moving], ranges.key_low[axis][runs.first[moving]]
        found.base[number, place] = axis
        found.value_low[number, place] -= offset
        found.value_high[number, place] -= offset
    return found


def _lined_up(ranges: Ranges, axis: int, single: bool) -> Order:
    """Return the order in which rows to be merged along an axis follow each other.

    Of the rows of a key, the first are put beside the first ones of its neighbour, and so on; there
    is nothing to put where every key has a `single` one.
    """
    keys = _keys(ranges)
    columns = keys[:axis] + keys[axis + 1 :]
    if not single:
        first = starts(keys)
        places = np.arange(len(first))
        columns.append(places - np.maximum.accumulate(np.where(first, places, 0)))
    return order_of([*columns, keys[axis]])


def _keys(ranges: Ranges) -> list[Integers]:
    """Return columns that tell the keys of rows: where they begin, and how long they are."""
    if ranges.key_high is ranges.key_low:
        return list(ranges.key_low)
    return [*ranges.key_low, *(ranges.key_high - ranges.key_low)]


def _telling(ranges: Ranges) -> list[Integers]:
    """Return columns that tell the rows, in the order of all columns: rows share no corner."""
    return [*_keys(ranges), *ranges.base, *ranges.value_low]


def _patterns(ranges: Ranges, axis: int, order: Order) -> Integers:
    """Return how each row but the last, in an order, agrees with the next one.

    That is 0 if they are no neighbours on the axis, or a value range neither stays nor moves along;
    else 1, and 2 more for the first value axis if that moves, 4 for the second, and so on.
    """
    agree = ranges.key_low[axis][order][1:] == ranges.key_high[axis][order][:-1] + 1
    keys = _keys(ranges)
    for column in keys[:axis] + keys[axis + 1 :]:
        agree &= _steps(column, order) == 0
    patterns = np.ones(len(agree), dtype=np.int64)
    for number, (low, high, base) in enumerate(
        zip(ranges.value_low, ranges.value_high, ranges.base, strict=True)
    ):
        step = _steps(low, order)
        moves = (step == 1) & (base[order][1:] == ABSOLUTE)
        agree &= (step == 0) | moves
        agree &= _steps(base, order) == 0
        if ranges.value_high is not ranges.value_low:
            agree &= step == _steps(high, order)
        patterns |= moves.astype(np.int64) << (number + 1)
    patterns *= agree
    return patterns


def _steps(column: Integers, order: Order) -> Integers:
    steps: Integers = np.diff(column[order])
    return steps


def _joined(patterns: Integers) -> npt.NDArray[np.bool_]:
    """Return which rows are merged with the next, given the pattern of each; 0 is none.

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
