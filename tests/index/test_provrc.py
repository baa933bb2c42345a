"""ProvRC gives every relation back, and is small where lineage has a form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_core.errors import CorruptError
from lineage_core.index import Relation, decode, encode, relation

Pairs = set[tuple[int, ...]]


def made_of(pairs: Iterable[tuple[int, ...]], keys: int, values: int) -> Relation:
    rows = np.array(sorted(pairs), dtype=np.int64).reshape(-1, keys + values).T
    return relation(rows[:keys], rows[keys:])


def pairs_of(found: Relation) -> list[tuple[int, ...]]:
    return [tuple(row) for row in np.concatenate((found.keys, found.values)).T.tolist()]


@st.composite
def relations(draw: st.DrawFn) -> tuple[Pairs, int, int]:
    keys, values = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    cell = st.tuples(*[st.integers(0, 3)] * (keys + values))
    pairs = draw(st.sets(cell, max_size=30))
    for _ in range(draw(st.integers(0, 3))):
        # Boxes, moved along with the keys or not: what neighbours merge into.
        low = draw(cell)
        sizes = draw(st.tuples(*[st.integers(1, 3)] * (keys + values)))
        bases = draw(st.tuples(*[st.integers(-1, keys - 1)] * values))
        for steps in product(*map(range, sizes)):
            at = [begin + step for begin, step in zip(low, steps, strict=True)]
            for axis, base in enumerate(bases):
                at[keys + axis] += at[base] if base >= 0 else 0
            pairs.add(tuple(at))
    return pairs, keys, values


@given(relations())
def test_what_is_encoded_is_decoded(case: tuple[Pairs, int, int]) -> None:
    pairs, keys, values = case
    given_ = made_of(pairs, keys, values)
    encoded = encode(given_)
    assert pairs_of(decode(encoded, len(pairs))) == sorted(pairs)
    assert len(encoded) <= max(len(pairs), 1)
    if pairs:
        with pytest.raises(CorruptError, match=f"more than {len(pairs) - 1}"):
            decode(encoded, len(pairs) - 1)


@given(relations(), st.randoms(use_true_random=False))
def test_equal_relations_have_equal_encodings(case: tuple[Pairs, int, int], random: Random) -> None:
    pairs, keys, values = case
    shuffled = [*pairs, *list(pairs)[:3]]
    random.shuffle(shuffled)
    columns = np.array(shuffled, dtype=np.int64).reshape(-1, keys + values).T
    one = encode(made_of(pairs, keys, values))
    other = encode(relation(columns[:keys], columns[keys:]))
    assert (one.columns == other.columns).all()


def cells(*shape: int) -> list[tuple[int, ...]]:
    return list(product(*map(range, shape)))


FORMS: list[tuple[str, Callable[[], Pairs], int, int, int]] = [
    ("nothing", set, 1, 1, 0),
    ("one pair", lambda: {(5, 7)}, 1, 1, 1),
    ("one to one", lambda: {(i, i) for i in range(50)}, 1, 1, 1),
    ("shifted", lambda: {(i, i + 9) for i in range(50)}, 1, 1, 1),
    ("all to all", lambda: set(cells(9, 8)), 1, 1, 1),
    ("reversed", lambda: {(i, 49 - i) for i in range(50)}, 1, 1, 50),
    ("strided", lambda: {(i, 3 * i) for i in range(20)}, 1, 1, 20),
    ("negative, 2 axes", lambda: {(i, j, i, j) for i, j in cells(7, 9)}, 2, 2, 1),
    ("transposed", lambda: {(i, j, j, i) for i, j in cells(7, 9)}, 2, 2, 1),
    ("sum of an axis", lambda: {(i, i, j) for i, j in cells(7, 9)}, 1, 2, 1),
    ("matrix product", lambda: {(i, j, i, k) for i, j, k in cells(4, 5, 6)}, 2, 2, 1),
    ("broadcast", lambda: {(i, j, j) for i, j in cells(4, 5)}, 2, 1, 1),
    ("diagonal", lambda: {(i, i, i) for i in range(9)}, 1, 2, 1),
    (
        "window of 3 by 3",
        lambda: {(i, j, i + a, j + b) for i, j, a, b in cells(6, 7, 3, 3)},
        2,
        2,
        1,
    ),
    ("blocks", lambda: {(i, 10 * (i // 5) + j) for i, j in cells(20, 10)}, 1, 1, 4),
    ("two diagonals", lambda: {(i, i + d) for i in range(9) for d in (0, 20)}, 1, 1, 2),
    (
        "four axes of two",
        lambda: {(i, j, k, m, i, k, j, m) for i, j, k, m in cells(2, 3, 2, 3)},
        4,
        4,
        1,
    ),
]


@pytest.mark.parametrize(
    ("pairs", "keys", "values", "rows"),
    [form[1:] for form in FORMS],
    ids=[form[0] for form in FORMS],
)
def test_lineage_with_a_form_takes_few_rows(
    pairs: Callable[[], Pairs], keys: int, values: int, rows: int
) -> None:
    given_ = made_of(pairs(), keys, values)
    encoded = encode(given_)
    assert len(encoded) == rows
    assert pairs_of(decode(encoded, 10_000)) == sorted(pairs())


def test_a_pattern_that_changes_shares_no_row() -> None:
    """Rows 0 to 2 stay, 2 to 4 move, 4 and 5 stay: each row is in one run only."""
    values = [4, 4, 4, 5, 6, 6, 7]
    pairs = set(enumerate(values))
    encoded = encode(made_of(pairs, 1, 1))
    assert pairs_of(decode(encoded, 10)) == sorted(pairs)
    assert encoded.key_low.tolist() == [[0, 3, 5]]
    assert encoded.key_high.tolist() == [[2, 4, 6]]
