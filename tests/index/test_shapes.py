"""Relations of every shape that lineage is known to have, on 1 to 4 axes each side."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_core.index import Relation, decode, encode, relation
from tests.index.test_file import all_pairs, opened, written
from tests.index.test_lookup import check
from tests.index.test_provrc import Pairs, made_of, pairs_of

SIDE = {1: 40, 2: 7, 3: 4, 4: 3}
"""How long the axes of keys are, so that there are a few dozen cells."""

Cell = tuple[int, ...]
Make = Callable[[list[Cell], int, Random], Pairs]


def empty(keys: list[Cell], values: int, choose: Random) -> Pairs:
    return set()


def single(keys: list[Cell], values: int, choose: Random) -> Pairs:
    return {choose.choice(keys) + tuple(choose.randrange(9) for _ in range(values))}


def dense(keys: list[Cell], values: int, choose: Random) -> Pairs:
    low = choose.randrange(5)
    return {key + cell for key in keys for cell in product((low, low + 1), repeat=values)}


def diagonal(keys: list[Cell], values: int, choose: Random) -> Pairs:
    shift = choose.randrange(5)
    return {(at,) * len(keys[0]) + (at + shift,) * values for at in range(choose.randint(2, 12))}


def permuted(keys: list[Cell], values: int, choose: Random) -> Pairs:
    side = next(n for n in range(99) if n**values >= len(keys))
    cells = list(product(range(side), repeat=values))
    return {key + cell for key, cell in zip(keys, choose.sample(cells, len(keys)), strict=True)}


def backwards(keys: list[Cell], values: int, choose: Random) -> Pairs:
    """Reversed on one axis or on all of them."""
    last, turned = max(map(max, keys)), choose.choice([{0}, set(range(values))])
    return {
        key + tuple(last - at if n in turned else at for n, at in enumerate(drawn(key, values)))
        for key in keys
    }


def strided(keys: list[Cell], values: int, choose: Random) -> Pairs:
    stride, first = choose.randint(2, 4), choose.randrange(3)
    return {key + tuple(first + stride * at for at in drawn(key, values)) for key in keys}


def block(keys: list[Cell], values: int, choose: Random) -> Pairs:
    """Each block of keys is related to all cells of a block of values."""
    size = choose.randint(2, 3)
    return {
        key
        + tuple(
            size * (at // size) + step for at, step in zip(drawn(key, values), steps, strict=True)
        )
        for key in keys
        for steps in product(range(size), *[range(1)] * (values - 1))
    }


def random(keys: list[Cell], values: int, choose: Random) -> Pairs:
    cells = list(product(range(3), repeat=values))
    return {choose.choice(keys) + choose.choice(cells) for _ in range(choose.randint(2, 60))}


def drawn(key: Cell, values: int) -> Cell:
    """Return one coordinate of the key for each axis of values."""
    return tuple(key[axis % len(key)] for axis in range(values))


SHAPES: list[Make] = [
    empty,
    single,
    dense,
    diagonal,
    permuted,
    backwards,
    strided,
    block,
    random,
]


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 4), st.randoms(use_true_random=False))
def test_a_shape_on_any_axes(shape: Make, keys: int, values: int, choose: Random) -> None:
    cells = list(product(range(choose.randint(1, SIDE[keys])), repeat=keys))
    pairs = shape(cells, values, choose)
    made = made_of(pairs, keys, values)
    encoded = encode(made)
    assert pairs_of(decode(encoded, len(pairs))) == sorted(pairs)
    assert (encoded.columns == encode(mixed(pairs, keys, values, choose)).columns).all()
    known = sorted({pair[:keys] for pair in pairs})
    check(pairs, keys, values, set(choose.sample(known, choose.randint(0, len(known)))))
    sides = [1 + max((pair[axis] for pair in pairs), default=0) for axis in range(keys + values)]
    assert all_pairs(opened(written(made, sides))) == sorted(pairs)


def mixed(pairs: Pairs, keys: int, values: int, choose: Random) -> Relation:
    """Return the relation of the pairs in any order, some of them twice."""
    listed = [*pairs, *list(pairs)[:3]]
    choose.shuffle(listed)
    columns = np.array(listed, dtype=np.int64).reshape(-1, keys + values).T
    return relation(columns[:keys], columns[keys:])
