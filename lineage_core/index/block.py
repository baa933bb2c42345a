"""Blocks: some rows of an encoded relation as bytes, checked when they are read.

A block holds the columns of `Ranges` one after the other, the ends of ranges as lengths. It knows
neither how many rows it has nor whether it is whole: the file's directory does.
"""

from __future__ import annotations

import numpy as np

from lineage_core.errors import CorruptError
from lineage_core.index import columns
from lineage_core.index.provrc import ABSOLUTE, Ranges
from lineage_core.index.relation import Integers, order_of

MOST_ROWS = 1 << 14
"""How many rows a block has at most: what one lookup reads, and what hostile bytes can claim."""

GREATEST = 1 << 62
"""No coordinate reaches it, so that sums of two of them are numbers."""


def write(ranges: Ranges) -> bytes:
    """Return the bytes of a block."""
    parts = (
        *ranges.key_low,
        *(ranges.key_high - ranges.key_low),
        *ranges.base,
        *ranges.value_low,
        *(ranges.value_high - ranges.value_low),
    )
    return b"".join(columns.write(part) for part in parts)


def read(data: memoryview, rows: int, keys: int, values: int) -> Ranges:
    """Return what a block of so many rows, key axes and value axes holds.

    Raises:
        CorruptError: the bytes are no such block.
    """
    if not 0 < rows <= MOST_ROWS:
        raise CorruptError(f"an index block has {rows} rows", hint="build the index again")
    found, place = [], 0
    for _ in range(2 * keys + 3 * values):
        column, size = columns.read(data[place:], rows)
        found.append(column)
        place += size
    sizes = (keys, keys, values, values, values)
    low, length, base, value_low, value_length = (
        np.array(part, dtype=np.int64) for part in _split(found, sizes)
    )
    whole = (
        place == len(data)
        and _within(low, 0, GREATEST)
        and _within(length, 0, GREATEST)
        and _within(base, ABSOLUTE, keys)
        and _within(value_low, -GREATEST, GREATEST)
        and _within(value_length, 0, GREATEST)
        and isinstance(order_of(low), slice)
    )
    if not whole:
        raise CorruptError("an index block holds no relation", hint="build the index again")
    return Ranges(low, low + length, value_low, value_low + value_length, base)


def _within(column: Integers, least: int, beyond: int) -> bool:
    return bool(((column >= least) & (column < beyond)).all())


def _split(parts: list[Integers], sizes: tuple[int, ...]) -> list[list[Integers]]:
    ends = np.cumsum(sizes)
    return [parts[end - size : end] for size, end in zip(sizes, ends, strict=True)]
