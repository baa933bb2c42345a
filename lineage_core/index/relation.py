"""Relations between the cells of two arrays, as sorted columns of coordinates (DSLog III-B).

Rows of a dataset are the cells of an array of one axis, numbered by rid. A relation has *keys*, by
which it is looked up, and *values*, what is found; the inverse relation swaps them. It is a set: no
row is there twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]

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
    columns = columns[:, distinct(columns)]
    return Relation(columns[: len(keys)], columns[len(keys) :])


def distinct(columns: Integers) -> npt.NDArray[np.intp] | slice:
    """Return which places make `columns`, an axis each, increase: each row of them once."""
    if columns.shape[1] < 2:
        return slice(None)
    codes = packed(columns)
    if codes is None:
        order = np.lexsort(columns[::-1])
        return order[starts(columns[:, order])]
    steps = np.diff(codes)
    if (steps > 0).all():
        return slice(None)
    order = np.argsort(codes, kind="stable")
    return order[starts(codes[order][None])]


def packed(columns: Integers) -> Integers | None:
    """Return one number a row, in the order of the rows; None if the numbers would not fit."""
    low, high = columns.min(axis=1), columns.max(axis=1)
    extents = [int(b) - int(a) + 1 for a, b in zip(low, high, strict=True)]
    most = 1
    for extent in extents:
        most *= extent
    if most > _MOST:
        return None
    codes: Integers = columns[0] - low[0]
    for column, least, extent in zip(columns[1:], low[1:], extents[1:], strict=True):
        codes = codes * extent + (column - least)
    return codes


def order_of(columns: Integers) -> npt.NDArray[np.intp] | slice:
    """Return the places that put the rows of `columns` in order; equal ones stay as they are."""
    if columns.shape[1] < 2:
        return slice(None)
    codes = packed(columns)
    if codes is None:
        return np.lexsort(columns[::-1])
    if (np.diff(codes) >= 0).all():
        return slice(None)
    return np.argsort(codes, kind="stable")


def starts(columns: Integers) -> npt.NDArray[np.bool_]:
    """Return where a row differs from the one before it."""
    differs = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    return np.concatenate(([True], differs))[: columns.shape[1]]
