"""Relations between the cells of two arrays, as sorted columns of coordinates (DSLog III-B).

Rows of a dataset are the cells of an array of one axis, numbered by rid. A relation has *keys*, by
which it is looked up, and *values*, what is found; the inverse relation swaps them. It is a set: no
row is there twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]

Order: TypeAlias = npt.NDArray[np.intp] | slice
"""Places in an order; the slice of all of them where they have that order already."""

_MOST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """A set of pairs of cells, in the order of their coordinates.

    Attributes:
        keys: shape (axes, pairs), the coordinates of the key cells.
        values: shape (axes, pairs), those of the value cells.
    """

    keys: Integers
    values: Integers

    def __len__(self) -> int:
        return int(self.keys.shape[1])

    @property
    def inverse(self) -> Relation:
        """The same pairs, looked up by what were the values."""
        return relation(self.values, self.keys)


def relation(
    keys: Sequence[Integers] | Integers, values: Sequence[Integers] | Integers
) -> Relation:
    """Return the relation of the pairs given, in any order and any of them several times.

    Args:
        keys: an array an axis, all as long as there are pairs; none is negative.
        values: likewise.
    """
    columns = np.array([*keys, *values], dtype=np.int64)
    columns = at(columns, distinct(columns))
    return Relation(columns[: len(keys)], columns[len(keys) :])


def at(columns: Integers, places: Order) -> Integers:
    """Return some places of columns below each other."""
    return columns[:, places] if isinstance(places, slice) else columns.take(places, axis=1)


def distinct(columns: Sequence[Integers] | Integers) -> Order:
    """Return which places make `columns`, an axis each, increase: each row of them once."""
    if len(columns[0]) < 2:
        return slice(None)
    codes = packed(columns)
    if codes is None:
        order = np.lexsort(columns[::-1])
        return order[starts([column[order] for column in columns])]
    if (codes[1:] > codes[:-1]).all():
        return slice(None)
    order = _sorting(codes)
    return order[starts([codes[order]])]


def packed(columns: Sequence[Integers] | Integers) -> Integers | None:
    """Return one number a row, in the order of the rows; None if the numbers would not fit."""
    ends = [(int(column.min()), int(column.max())) for column in columns]
    extents = [high - low + 1 for low, high in ends]
    if math.prod(extents) > _MOST:
        return None
    codes: Integers = columns[0] - ends[0][0]
    for column, (low, _), extent in zip(columns[1:], ends[1:], extents[1:], strict=True):
        if extent > 1:
            codes *= extent
            codes += column - low if low else column
    return codes


def order_of(columns: Sequence[Integers] | Integers) -> Order:
    """Return the places that put the rows of `columns` in order; equal ones stay as they are."""
    if len(columns[0]) < 2:
        return slice(None)
    codes = packed(columns)
    if codes is None:
        return np.lexsort(columns[::-1])
    if (codes[1:] >= codes[:-1]).all():
        return slice(None)
    return _sorting(codes)


def starts(columns: Sequence[Integers] | Integers) -> npt.NDArray[np.bool_]:
    """Return where a row differs from the one before it."""
    first = np.ones(len(columns[0]), dtype=bool)
    first[1:] = False
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    return first


def _sorting(codes: Integers) -> npt.NDArray[np.intp]:
    """Return the places that put numbers from 0 on in order; equal ones stay as they are.

    Places are sorted as the lower bits of the numbers where there is room for them: that is several
    times as fast as to sort places by the numbers.
    """
    bits = len(codes).bit_length()
    if int(codes.max()).bit_length() + bits > 63:
        return np.argsort(codes, kind="stable")
    tagged = codes << bits
    tagged |= np.arange(len(codes))
    tagged.sort()
    tagged &= (1 << bits) - 1
    return tagged
