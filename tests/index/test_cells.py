"""Sets of cells as boxes, against Python's sets."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_core.errors import CorruptError
from lineage_core.index.cells import Cells, boxes, cells

Box = tuple[tuple[int, int], ...]
Set = set[tuple[int, ...]]


def made_of(drawn: list[Box], axes: int) -> Cells:
    ends = np.array(drawn, dtype=np.int64).reshape(-1, axes, 2)
    return boxes(ends[:, :, 0].T, ends[:, :, 1].T)


def cells_of(drawn: list[Box]) -> Set:
    return {cell for box in drawn for cell in product(*(range(a, b + 1) for a, b in box))}


def listed(found: Cells) -> list[tuple[int, ...]]:
    return [tuple(cell) for cell in found.to_numpy().T.tolist()]


@st.composite
def two_sets(draw: st.DrawFn) -> tuple[int, list[Box], list[Box]]:
    axes = draw(st.integers(1, 3))
    ends = st.tuples(st.integers(0, 6), st.integers(0, 3)).map(lambda e: (e[0], e[0] + e[1]))
    cell = st.integers(0, 6).map(lambda at: (at, at))
    long = draw(st.sampled_from([{0}, {axes - 1}, set(), set(range(axes))]))
    box = st.tuples(*[ends if axis in long else cell for axis in range(axes)])
    return axes, draw(st.lists(box, max_size=6)), draw(st.lists(box, max_size=6))


@given(two_sets())
def test_sets_are_sets(case: tuple[int, list[Box], list[Box]]) -> None:
    axes, one, other = case
    mine, theirs = made_of(one, axes), made_of(other, axes)
    here, there = cells_of(one), cells_of(other)
    for found, expected in [
        (mine, here),
        (mine | theirs, here | there),
        (mine & theirs, here & there),
        (mine - theirs, here - there),
    ]:
        assert listed(found) == sorted(expected)
        assert found.count == len(expected)
    assert mine.same(theirs) == (here == there)
    assert mine.same(cells(list(mine.to_numpy())))


def test_what_lies_side_by_side_is_one_box() -> None:
    grid: list[Box] = [((i, i), (j, j + 1)) for i in range(4) for j in (0, 2)]
    found = made_of(grid, 2)
    assert (found.low.tolist(), found.high.tolist()) == ([[0], [0]], [[3], [3]])


def test_rids_are_intervals() -> None:
    found = cells([[9, 3, 1, 2, 3]])
    assert (found.low.tolist(), found.high.tolist()) == ([[1, 9]], [[3, 9]])
    with pytest.raises(CorruptError, match="more than 3"):
        found.to_numpy(most=3)
