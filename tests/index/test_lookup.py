"""Lookups in encoded relations, both ways and over several hops, against sets of pairs."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_core.index import encode
from lineage_core.index.cells import Cells, cells
from lineage_core.index.lookup import related
from tests.index.test_provrc import FORMS, Pairs, made_of, relations


def asked(wanted: set[tuple[int, ...]], axes: int) -> Cells:
    return cells([[cell[axis] for cell in wanted] for axis in range(axes)])


def listed(found: Cells) -> list[tuple[int, ...]]:
    return [tuple(cell) for cell in found.to_numpy().T.tolist()]


def check(pairs: Pairs, keys: int, values: int, wanted: set[tuple[int, ...]]) -> None:
    made = made_of(pairs, keys, values)
    backward = related(encode(made), asked(wanted, keys))
    assert listed(backward) == sorted({p[keys:] for p in pairs if p[:keys] in wanted})
    sources = set(listed(backward))
    forward = related(encode(made.inverse), backward)
    assert listed(forward) == sorted({p[:keys] for p in pairs if p[keys:] in sources})


@given(relations(), st.data())
def test_what_is_related(case: tuple[Pairs, int, int], data: st.DataObject) -> None:
    pairs, keys, values = case
    known = sorted({pair[:keys] for pair in pairs})
    cell = st.tuples(*[st.integers(0, 6)] * keys)
    some = st.sampled_from(known) if known else cell
    check(pairs, keys, values, data.draw(st.sets(st.one_of(some, cell), max_size=8)))


@pytest.mark.parametrize(
    ("pairs", "keys", "values"), [form[1:4] for form in FORMS], ids=[form[0] for form in FORMS]
)
def test_lineage_with_a_form(pairs: Callable[[], Pairs], keys: int, values: int) -> None:
    made = pairs()
    known = sorted({pair[:keys] for pair in made})
    choose = random.Random(7)
    for size in {0, 1, len(known) // 2, len(known)}:
        check(made, keys, values, set(choose.sample(known, min(size, len(known)))))


def test_a_part_of_a_diagonal_is_no_box() -> None:
    diagonal = encode(made_of({(i, i, i) for i in range(9)}, 1, 2))
    found = related(diagonal, cells([[2, 3, 4]]))
    assert listed(found) == [(2, 2), (3, 3), (4, 4)]


def test_hops_stay_intervals() -> None:
    """A whole dataset through five operations, each with a form, is one interval all the way."""
    hops = [
        {(i, i) for i in range(1000)},
        {(i, i + 5) for i in range(1000)},
        {(i, j) for i, j in product(range(1010), range(3))},
        {(i, 0) for i in range(3)},
        {(0, j) for j in range(2000)},
    ]
    here = cells([range(1000)])
    for pairs in hops:
        here = related(encode(made_of(pairs, 1, 1)), here)
        assert len(here) == 1
    assert here.count == 2000
