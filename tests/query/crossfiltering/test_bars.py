"""Dense relations of bars and rows, against Python sets of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lineage_core as lc
from lineage_core.query.crossfiltering import bars as module
from lineage_core.query.crossfiltering.bars import Bars, bars

Pairs = set[tuple[int, int]]


def made(pairs: Pairs, count: int, rows: int) -> Bars:
    ordered = sorted(pairs)
    sizes = [sum(bar == each for bar, _ in ordered) for each in range(count)]
    members = np.array([row for _, row in ordered], dtype=np.uint32)
    return bars(members, np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))), rows)


@st.composite
def relations(draw: st.DrawFn) -> tuple[Pairs, int, int]:
    """Draw pairs of bars and rows, functional or not, and how many there are of either."""
    count, rows = draw(st.integers(1, 6)), draw(st.integers(0, 12))
    if draw(st.booleans()):
        of_row = draw(st.lists(st.integers(0, count), min_size=rows, max_size=rows))
        return {(bar, row) for row, bar in enumerate(of_row) if bar < count}, count, rows
    pair = st.tuples(st.integers(0, count - 1), st.integers(0, max(rows - 1, 0)))
    return draw(st.sets(pair, max_size=40 if rows else 0)), count, rows


def as_array(values: set[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(sorted(values), dtype=np.int64)


@given(relations(), st.data(), st.sampled_from([1, 2, 5, 1 << 18]))
def test_bars_are_the_set_of_their_pairs(
    drawn: tuple[Pairs, int, int], data: st.DataObject, chunk: int
) -> None:
    pairs, count, rows = drawn
    found = made(pairs, count, rows)
    chosen = data.draw(st.sets(st.integers(0, count - 1)))
    kept = data.draw(st.sets(st.integers(0, rows - 1))) if rows else set()
    values = data.draw(st.lists(st.integers(-(2**40), 2**40), min_size=rows, max_size=rows))
    given_rows = as_array(kept).astype(np.uint32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", chunk)
        gone_in = found.rows_of(as_array(chosen))
        assert sorted(gone_in.tolist()) == sorted({row for bar, row in pairs if bar in chosen})
        inside = found.within(given_rows, as_array(chosen)).tolist()
        assert inside == sorted({row for bar, row in pairs if bar in chosen and row in kept})
        for some in (None, given_rows):
            met = [(bar, row) for bar, row in pairs if some is None or row in kept]
            counts = [sum(bar == each for bar, _ in met) for each in range(count)]
            assert found.counts(some).tolist() == counts
            sums = [sum(values[row] for bar, row in met if bar == each) for each in range(count)]
            assert found.sums(some, np.array(values, dtype=np.int64)).tolist() == sums
            doubles = found.sums(some, np.array(values, dtype=np.float64))
            assert doubles.tolist() == [float(total) for total in sums]


def test_a_functional_relation_takes_one_small_array_of_bars() -> None:
    rows = 1000
    small = made({(row % 200, row) for row in range(rows)}, 200, rows)
    assert small.lists is None and small.of_row.dtype == np.uint8
    large = made({(row, row) for row in range(rows)}, rows, rows)
    assert large.of_row.dtype == np.uint16
    twice = made({(row, row) for row in range(rows)} | {(0, 1)}, rows, rows)
    assert twice.lists is not None
    assert small.nbytes == rows * (4 + 1) + 201 * 8


def test_255_and_256_bars_have_a_number_for_none() -> None:
    for count in (255, 256):
        found = made({(bar, bar) for bar in range(count)}, count, count + 1)
        assert found.counts(np.array([count], dtype=np.uint32)).sum() == 0
        assert found.counts(np.array([count - 1], dtype=np.uint32))[-1] == 1


def test_more_rows_than_can_be_numbered_are_refused() -> None:
    with pytest.raises(lc.UnsupportedError, match="too large"):
        bars(np.empty(0, np.uint32), np.zeros(1, np.int64), (1 << 32) + 1)
