"""Predicates as text: brackets where they matter, names of both rows."""

from __future__ import annotations

import pytest

from lineage_core.cli.expressions import describe, identifier
from lineage_core.plan.expr import (
    AggregateCall,
    Anchor,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    Frame,
    FrameUnit,
    IsIn,
    IsNull,
    Literal,
    Not,
    WindowCall,
    conj,
    disj,
)

A, B = Column(1, "long"), Column(2, "long")
COUNTED = "count(DISTINCT a) FILTER (WHERE b < a)"
ALL = "the whole partition"
KEY = Anchor(1, "long")
SEVEN = Literal(7, "long")


def call(name: str, *args: Expr) -> Expr:
    return Call(name, args, "long")


def frame(
    lower: float | str | None, upper: float | str | None, unit: FrameUnit = FrameUnit.ROWS
) -> Frame:
    bounds = (None if bound is None else Literal(bound, "long") for bound in (lower, upper))
    return Frame(unit, *bounds)


def less(left: Expr, right: Expr) -> Expr:
    return Compare(Comparison.LT, left, right)


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (Compare(Comparison.SAME, A, KEY), "a <=> anchor.key"),
        (
            conj([less(A, B), disj([less(A, SEVEN), IsNull(B)])]),
            "a < b AND (a < 7 OR b IS NULL)",
        ),
        (disj([conj([less(A, B), IsNull(B)]), less(B, A)]), "(a < b AND b IS NULL) OR b < a"),
        (Not(conj([less(A, B), less(B, A)])), "NOT (a < b AND b < a)"),
        (Not(less(A, B)), "NOT a < b"),
        (Not(Not(IsNull(A))), "NOT a IS NOT NULL"),
        (Not(IsNull(less(A, B))), "(a < b) IS NOT NULL"),
        (Compare(Comparison.EQ, less(A, B), IsNull(A)), "(a < b) = (a IS NULL)"),
        (Compare(Comparison.EQ, Not(less(A, B)), A), "(NOT a < b) = a"),
        (IsIn(A, (SEVEN, Literal(None, "long"))), "a IN (7, NULL)"),
        (less(call("add", A, call("multiply", B, SEVEN)), A), "a + b * 7 < a"),
        (call("multiply", call("add", A, B), SEVEN), "(a + b) * 7"),
        (call("subtract", A, call("subtract", B, SEVEN)), "a - (b - 7)"),
        (call("subtract", call("subtract", A, B), SEVEN), "a - b - 7"),
        (call("divide", A, call("multiply", B, SEVEN)), "a / (b * 7)"),
        (call("starts_with", A, Literal("o'clock", "string")), "starts_with(a, 'o''clock')"),
        (call("like", A, Literal("x%", "string"), Literal("\\", "string")), "like(a, 'x%')"),
        (call("like", A, Literal("x%", "string"), Literal("!", "string")), "like(a, 'x%', '!')"),
        (Call("cast", (A,), "decimal(15,2)"), "cast(a AS decimal(15,2))"),
        (
            Call("zoned_cast", (A, Literal("Europe/Berlin", "string")), "date"),
            "cast(a AS date IN 'Europe/Berlin')",
        ),
        (Call("field", (A, Literal("city", "string")), "string"), "a.city"),
        (Compare(Comparison.GE, A, Literal("1994-01-01", "date")), "a >= date '1994-01-01'"),
        (Literal(0, "timestamp"), "timestamp '1970-01-01 00:00:00 UTC'"),
        (Literal(-1, "timestamp_ntz"), "timestamp_ntz '1969-12-31 23:59:59.999999'"),
        (Literal(10**18, "timestamp"), "timestamp '1000000000000000000 microseconds since 1970'"),
        (AggregateCall("count", (A,), "long", True, less(B, A)), COUNTED),
        (WindowCall("sum", (A,), "long", Frame(FrameUnit.ROWS, None, None)), f"sum(a) OVER {ALL}"),
        (
            WindowCall("lag", (A,), "long", frame(-1, -1), ignore_nulls=True),
            "lag(a) IGNORE NULLS OVER rows from 1 before to 1 before",
        ),
        (
            WindowCall("rank", (), "long", frame(None, 0)),
            "rank() OVER rows from the first to the row",
        ),
        (
            WindowCall("sum", (A,), "long", frame(-2.5, 0, FrameUnit.RANGE)),
            "sum(a) OVER range from 2.5 before to its peers",
        ),
        (
            WindowCall("sum", (A,), "long", frame("-1.50", "3.00", FrameUnit.RANGE)),
            "sum(a) OVER range from 1.50 before to 3.00 after",
        ),
        (Column(9, "long"), "#9"),
    ],
)
def test_text(predicate: Expr, text: str) -> None:
    assert describe(predicate, {1: "a", 2: "b"}, {1: "key"}) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("total", "total"),
        ("größe", "größe"),
        ("sum(price)", "`sum(price)`"),
        ("q4.total", "`q4.total`"),
        ("a`b", "`a``b`"),
        ("NULL", "`NULL`"),
        ("1", "`1`"),
        ("", "``"),
    ],
)
def test_names(name: str, text: str) -> None:
    assert identifier(name) == text


def test_a_shared_expression_is_written_as_often_as_it_fits() -> None:
    doubled: Expr = less(A, B)
    for _ in range(60):
        doubled = call("add", doubled, doubled)
    assert len(describe(doubled, {1: "a", 2: "b"}, {})) < 1_000_000


def test_depth_is_no_error() -> None:
    deep: Expr = less(A, B)
    for _ in range(5000):
        deep = Call("coalesce", (deep,), "boolean")
    assert describe(deep, {1: "a", 2: "b"}, {}).startswith("coalesce(coalesce(")
