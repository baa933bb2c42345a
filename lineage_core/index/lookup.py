"""Look cells up in an encoded relation, as it is: the join of DSLog V-B, on any number of axes.

The ranges of keys that meet the cells asked about are cut down to them; then values that are
relative to a key become absolute. One value axis that moves along with a key covers a range, too.
Several that move along with the same key cover a diagonal, which is no box: there the key's cells
are taken one by one.
"""

from __future__ import annotations

import numpy as np

from lineage_core.index.cells import Cells, boxes
from lineage_core.index.provrc import Ranges
from lineage_core.index.ranges import Places, expand, overlapping
from lineage_core.index.relation import Integers, at

MOST_CELLS = 1 << 26
"""How many cells of diagonals a lookup takes one by one; more are refused as corrupt."""


def related(ranges: Ranges, wanted: Cells) -> Cells:
    """Return the values of all the key cells `wanted`.

    Raises:
        CorruptError: a diagonal has more than `MOST_CELLS` cells.
    """
    return boxes(*matches(ranges, wanted))


def restricted(ranges: Ranges, wanted: Cells) -> Ranges:
    """Return the part of a relation that has the keys `wanted`; its rows do not overlap either."""
    row, low, high = _met(ranges, wanted)
    kept = ranges.take(row)
    return Ranges(low, high, kept.value_low, kept.value_high, kept.base)


def matches(ranges: Ranges, wanted: Cells) -> tuple[Integers, Integers]:
    """Return where the boxes of the values of all the key cells `wanted` begin and end.

    The boxes may overlap.

    Raises:
        CorruptError: a diagonal has more than `MOST_CELLS` cells.
    """
    row, low, high = _met(ranges, wanted)
    base = at(ranges.base, row)
    moves = base == np.arange(len(low))[:, None, None]  # key axes, value axes, rows
    if not moves.any():
        return at(ranges.value_low, row), at(ranges.value_high, row)
    diagonal = moves.sum(axis=1) > 1
    if diagonal.any():
        steps = np.where(diagonal, high - low, 0)
        part, offset = expand(np.zeros_like(steps), steps, MOST_CELLS)
        row, diagonal, moves = row[part], diagonal[:, part], moves[:, :, part]
        low, high = low[:, part] + offset, high[:, part]
        high = np.where(diagonal, low, high)
    return (
        ranges.value_low[:, row] + (moves * low[:, None]).sum(axis=0),
        ranges.value_high[:, row] + (moves * high[:, None]).sum(axis=0),
    )


def _met(ranges: Ranges, wanted: Cells) -> tuple[Places, Integers, Integers]:
    """Return the rows whose keys meet boxes that are wanted, and the keys that both have."""
    row, box = overlapping(ranges.key_low, ranges.key_high, wanted.low, wanted.high)
    low = np.maximum(at(ranges.key_low, row), at(wanted.low, box))
    return row, low, np.minimum(at(ranges.key_high, row), at(wanted.high, box))
