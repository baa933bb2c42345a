"""What is known to be wrong in DSLog's published code (ProvRC), and is not here, on 2 to 4 axes.

There, ranges that begin alike are merged as if they were equal; forward answers of diagonals lack
their last cell; backward answers fail or are wrong; and arrays have two axes.
"""

from __future__ import annotations

from itertools import permutations, product
from random import Random

import pytest

from lineage_core.index import decode, encode
from lineage_core.index.lookup import related
from tests.index.test_file import all_pairs, opened, written
from tests.index.test_lookup import asked, check, listed
from tests.index.test_provrc import Pairs, made_of, pairs_of

AXES = (2, 3, 4)


def all_cells(*sides: int) -> list[tuple[int, ...]]:
    return list(product(*map(range, sides)))


@pytest.mark.parametrize("gap", [1, 3])
@pytest.mark.parametrize("axes", AXES)
def test_merging_loses_no_cells_of_ranges_that_begin_alike(axes: int, gap: int) -> None:
    """0 to 5 at one place and 0 to 9 at another were 0 to 5 at both: four cells were lost."""
    for long, other in permutations(range(axes), 2):
        pairs: Pairs = set()
        for at, length in ((0, 6), (gap, 10)):
            for step in range(length):
                cell = [0] * axes
                cell[long], cell[other] = step, at
                pairs.add((0,) * axes + tuple(cell))
        assert pairs_of(decode(encode(made_of(pairs, axes, axes)), 16)) == sorted(pairs)
        check(pairs, axes, axes, {(0,) * axes})


@pytest.mark.parametrize("axes", AXES)
def test_forward_answers_of_diagonals_have_their_last_cell(axes: int) -> None:
    """Every axis of the input depends on the same axis of the output."""
    side = 5
    for axis in range(axes):
        pairs = {cell + (cell[axis],) * axes for cell in all_cells(*[side] + [2] * (axes - 1))}
        pairs |= {cell + (cell[axis],) * axes for cell in all_cells(*[2] * (axes - 1) + [side])}
        forward = encode(made_of(pairs, axes, axes).inverse)
        last = max(pair[axes] for pair in pairs)
        for low, high in [(0, last), (last, last), (1, last), (0, last - 1)]:
            wanted = {(at,) * axes for at in range(low, high + 1)}
            expected = sorted({pair[:axes] for pair in pairs if pair[axes:] in wanted})
            assert listed(related(forward, asked(wanted, axes))) == expected


def small_arrays(axes: int) -> list[Pairs]:
    """Return the lineage of a few operations on arrays of so many axes."""
    cells = all_cells(*[3] * axes)
    return [
        {cell + cell for cell in cells},
        {cell + cell[::-1] for cell in cells},
        {cell + (0,) * axes for cell in cells},
        {(0,) * axes + cell for cell in cells},
        {(cell[0], *[0] * (axes - 1), *cell) for cell in cells},
        {(*cell, *cell[:-1], 2 - cell[-1]) for cell in cells},
        {(*cell, cell[0] + step, *cell[1:]) for cell in cells for step in range(2)},
        {cell + (cell[0],) * axes for cell in cells},
    ]


@pytest.mark.parametrize("axes", AXES)
def test_backward_answers_are_those_of_the_pairs(axes: int) -> None:
    """Single cells, some, and all of them: no answer fails, none is wrong."""
    choose = Random(axes)
    for pairs in small_arrays(axes):
        known = sorted({pair[:axes] for pair in pairs})
        questions = [{cell} for cell in choose.sample(known, min(5, len(known)))]
        questions += [set(known), set(choose.sample(known, (len(known) + 1) // 2))]
        backward = encode(made_of(pairs, axes, axes))
        for wanted in questions:
            expected = sorted({pair[axes:] for pair in pairs if pair[:axes] in wanted})
            assert listed(related(backward, asked(wanted, axes))) == expected


@pytest.mark.parametrize(("keys", "values"), list(product(range(1, 5), repeat=2)))
def test_arrays_need_not_have_two_axes(keys: int, values: int) -> None:
    """Neither is a scalar or a list made an array of two axes, nor is a batch of arrays refused."""
    pairs = {
        cell + tuple(cell[axis % keys] + 1 for axis in range(values))
        for cell in all_cells(*[3] * keys)
    }
    made = made_of(pairs, keys, values)
    encoded = encode(made)
    assert (len(encoded.key_low), len(encoded.value_low)) == (keys, values)
    assert len(encoded) == 1 if values <= keys else len(encoded) <= 3**keys
    assert all_pairs(opened(written(made, [5] * (keys + values)))) == sorted(pairs)
    check(pairs, keys, values, {(2,) * keys, (0,) * keys})
