"""Folded terms mean what z3's own operators mean."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import z3

from lineage_core.verify.terms import (
    FALSE,
    TRUE,
    ZERO,
    all_of,
    any_of,
    applied,
    either,
    equal,
    function,
    less,
    negation,
    number,
    total,
    truth,
    zero,
)

P, Q = z3.Bools("p q")
X, Y = z3.Ints("x y")
TRUTHS = (TRUE, FALSE, P, Q)
NUMBERS = (ZERO, number(1), X, Y)


def agree(made: Any, meant: Any) -> bool:
    solver = z3.Solver()
    solver.add(made != meant)
    return bool(solver.check() == z3.unsat)


@pytest.mark.parametrize(
    ("fast", "meant"),
    [(all_of, z3.And), (any_of, z3.Or), (equal, lambda a, b: a == b)],
)
def test_two_truth_values(fast: Callable[..., Any], meant: Callable[..., Any]) -> None:
    assert all(agree(fast(a, b), meant(a, b)) for a, b in product(TRUTHS, TRUTHS))


def test_none_and_many_truth_values() -> None:
    assert all_of() is TRUE and any_of() is FALSE
    assert agree(all_of(P, TRUE, Q, negation(P)), z3.BoolVal(False))
    assert agree(any_of(P, FALSE, Q, negation(P)), z3.BoolVal(True))


def test_negation_and_choice() -> None:
    assert all(agree(negation(a), z3.Not(a)) for a in TRUTHS)
    for values in (TRUTHS, NUMBERS):
        for c, a, b in product(TRUTHS, values, values):
            assert agree(either(c, a, b), z3.If(c, a, b))


def test_numbers() -> None:
    for a, b in product(NUMBERS, NUMBERS):
        assert agree(equal(a, b), a == b)
        assert agree(less(a, b), a < b)
        assert agree(total(a, b), a + b)
    assert total() is ZERO and number(0) is ZERO and truth(False) is FALSE
    assert zero(P) is FALSE and zero(X) is ZERO


def test_functions_give_equal_values_for_equal_inputs_and_any_for_others() -> None:
    for is_bool in (True, False):
        declared = function(f"f{is_bool}", [X, P], is_bool=is_bool)
        one, other = (applied(declared, inputs, is_bool=is_bool) for inputs in ([X, P], [Y, P]))
        solver = z3.Solver()
        solver.add(one != other)
        assert solver.check() == z3.sat
        solver.add(X == Y)
        assert solver.check() == z3.unsat
    constant = function("none", [], is_bool=True)
    assert agree(applied(constant, [], is_bool=True), applied(constant, [], is_bool=True))
