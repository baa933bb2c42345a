"""Measures: columns of numbers that are added up, exactly where they are exact themselves.

Integers and decimals are held as 64-bit integers, of which no sum of some can be beyond the sum of
all their absolute values: where that does not fit, the column is refused. Doubles stay doubles.
Nulls add nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import DataType
from lineage_core.query.types import FLOATS, INTEGERS, decimal_of

_MAX_PRECISION = 38
_MORE_DIGITS = 10  # as Spark's sum of decimals has


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """The values of a column, by number of the source row; 0 where there is none.

    Attributes:
        name: the column's name.
        values: int64 for integers and the digits of decimals, float64 for floating point.
        type: Arrow type of sums.
    """

    name: str
    values: npt.NDArray[Any]
    type: pa.DataType

    def to_arrow(self, sums: npt.NDArray[Any]) -> pa.Array:
        """Return sums of values as values of the type of sums."""
        if not pa.types.is_decimal(self.type):
            return pa.array(sums, self.type)
        words = np.empty((len(sums), 2), dtype="<i8")
        words[:, 0], words[:, 1] = sums, sums >> 63
        return pa.Array.from_buffers(self.type, len(sums), [None, pa.py_buffer(words)])


def measure(
    name: str,
    type: DataType,
    column: pa.ChunkedArray,
    numbers: npt.NDArray[np.uint32],
    rows: int,
) -> Measure:
    """Return a column as a measure.

    Args:
        name: its name.
        type: its Spark type.
        column: values of it.
        numbers: the numbers of the rows that they are of.
        rows: how many rows are numbered.

    Raises:
        UnsupportedError: it holds no numbers, or its sums may not fit.
    """
    found = np.zeros(rows, dtype=np.float64 if type in FLOATS else np.int64)
    kind: pa.DataType = pa.float64() if type in FLOATS else pa.int64()
    decimal = decimal_of(type)
    if type in FLOATS:
        found[numbers] = column.cast(kind).fill_null(0).to_numpy()
        return Measure(name, found, kind)
    if type in INTEGERS:
        found[numbers] = column.cast(kind).fill_null(0).to_numpy()
    elif decimal is not None:
        precision = min(decimal[0] + _MORE_DIGITS, _MAX_PRECISION)
        kind = pa.decimal128(precision, decimal[1])
        found[numbers] = _digits(name, column)
    else:
        raise UnsupportedError(
            f"column {name} is {type}, and only numbers can be added up",
            hint="choose columns of integers, decimals or doubles",
        )
    # As doubles: they may be off by a little, and what fits is far below or far above.
    if np.abs(found.astype(np.float64)).sum() >= 2.0**62:
        raise _too_large(name)
    return Measure(name, found, kind)


def _digits(name: str, column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return decimals without their point, as integers; 0 for nulls."""
    parts = []
    for chunk in column.chunks:
        data = np.frombuffer(chunk.buffers()[1], dtype="<i8").reshape(-1, 2)
        words = data[chunk.offset : chunk.offset + len(chunk)]
        there = chunk.is_valid().to_numpy(zero_copy_only=False)
        low = np.where(there, words[:, 0], 0)
        if (np.where(there, words[:, 1], 0) != low >> 63).any():
            raise _too_large(name)
        parts.append(low)
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _too_large(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"sums of column {name} may not fit in 64 bits",
        hint="measure a smaller column, or one of doubles",
    )
