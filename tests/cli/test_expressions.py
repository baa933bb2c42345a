"""Predicates as text: brackets where they matter, names of both rows."""

from __future__ import annotations

import pytest

from lineage_core.cli.expressions import describe
from lineage_core.plan.expr import (
    Anchor,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    IsIn,
    IsNull,
    Literal,
    Not,
    conj,
    disj,
)

A, B = Column(1, "long"), Column(2, "long")
KEY = Anchor(1, "long")
SEVEN = Literal(7, "long")


def call(name: str, *args: Expr) -> Expr:
    return Call(name, args, "long")


def less(left: Expr, right: Expr) -> Expr:
    return Compare(Comparison.LT, left, right)


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (Compare(Comparison.SAME, A, KEY), "a <=> anchor.key"),
        (
            conj([less(A, B), disj([less(A, SEVEN), IsNull(B)])]),
            "(a < b) AND ((a < 7) OR (b IS NULL))",
        ),
        (Not(conj([less(A, B), less(B, A)])), "NOT ((a < b) AND (b < a))"),
        (IsIn(A, (SEVEN, Literal(None, "long"))), "a IN (7, NULL)"),
        (less(call("add", A, call("multiply", B, SEVEN)), A), "(a + (b * 7)) < a"),
        (call("starts_with", A, Literal("o'clock", "string")), "starts_with(a, 'o''clock')"),
        (Call("cast", (A,), "decimal(15,2)"), "cast(a AS decimal(15,2))"),
        (Compare(Comparison.GE, A, Literal("1994-01-01", "date")), "a >= date '1994-01-01'"),
        (Column(9, "long"), "#9"),
    ],
)
def test_text(predicate: Expr, text: str) -> None:
    assert describe(predicate, {1: "a", 2: "b"}, {1: "key"}) == text


def test_depth_is_no_error() -> None:
    deep: Expr = less(A, B)
    for _ in range(5000):
        deep = Call("coalesce", (deep,), "boolean")
    assert describe(deep, {1: "a", 2: "b"}, {}).startswith("coalesce(coalesce(")
