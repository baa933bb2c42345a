"""Columns of integers: every one comes back, in few bytes where it has a form; bad bytes do not."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lineage_core.errors import CorruptError
from lineage_core.index.columns import Form, read, write

BIG = 1 << 61
numbers = st.integers(-3, 3) | st.integers(-BIG, BIG)
columns = st.lists(numbers, max_size=60) | st.lists(st.integers(0, 2), max_size=200).map(sorted)


@given(columns)
@example([])
@example([BIG, -BIG, BIG])
@example([0, (1 << 57) - 1])
@example([0, 1 << 57])
@example([7] * 30 + [8] * 30)
def test_a_column_comes_back(values: list[int]) -> None:
    written = write(np.array(values, dtype=np.int64))
    found, size = read(memoryview(written + b"rest"), len(values))
    assert (found.tolist(), size) == (values, len(written))
    assert found.dtype == np.int64


HEAD = 22


@pytest.mark.parametrize(
    ("values", "form", "size"),
    [
        ([5] * 1000, Form.CONSTANT, HEAD),
        (range(5, 5000, 7), Form.LINEAR, HEAD),
        ([3, 0, 1, 2] * 100, Form.PACKED, HEAD + 4 + 100),
        ([10**12 + i * i for i in range(64)], Form.DELTA, HEAD + 4 + 56),
        (sorted(range(0, 6000, 60)) * 3, Form.ZIGZAG, None),
        ([1] * 500 + [2] * 300 + [9] * 200, Form.RUNS, None),
    ],
)
def test_what_has_a_form_is_small(values: list[int], form: Form, size: int | None) -> None:
    written = write(np.array(values, dtype=np.int64))
    assert written[0] == form
    assert len(written) == size if size else len(written) < 400


def test_bad_bytes_are_refused_or_are_columns_of_that_length() -> None:
    choose = random.Random(1)
    made = [
        np.array(values, dtype=np.int64)
        for values in (
            [1, 2, 3],
            [5, 1, 9, 2],
            [0] * 40 + [1] * 40 + [7],
            [i * i for i in range(30)],
        )
    ]
    refused = 0
    for _ in range(2000):
        values = choose.choice(made)
        data = bytearray(write(values))
        for _ in range(choose.randint(1, 4)):
            data[choose.randrange(len(data))] = choose.randrange(256)
        data = data[: choose.randint(0, len(data))] if choose.random() < 0.3 else data
        try:
            found, size = read(memoryview(bytes(data)), len(values))
        except CorruptError:
            refused += 1
        else:
            assert len(found) == len(values) and size <= len(data)
    assert refused > 500
