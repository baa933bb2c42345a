"""No value gets through: neither from a predicate nor from a sentence about one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_core.openlineage.shapes import LENGTH, failure, masked, shape, step_shape
from lineage_core.plan.expr import (
    AggregateCall,
    Anchor,
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    IsIn,
    IsNull,
    Literal,
    Not,
    Or,
    Unknown,
)
from lineage_core.store.manifest import OutputRecord

VALUE = "Zoë-4711"
LEAVES = st.sampled_from(
    [Column(1, "long"), Anchor(2, "long"), Literal(VALUE, "string"), Literal(4711, "long")]
)


def _nodes(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    pair = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Compare, st.sampled_from(Comparison), inner, inner),
        inner.map(IsNull),
        inner.map(lambda arg: IsIn(arg, (Literal(VALUE, "string"),))),
        inner.map(Not),
        pair.map(And),
        pair.map(Or),
        pair.map(lambda args: Call("concat", args, "string")),
        pair.map(lambda args: Unknown(f"udf_{VALUE}", args, "string", True)),
        inner.map(lambda arg: AggregateCall("max", (arg,), "long", False, arg)),
    )


@given(st.recursive(LEAVES, _nodes, max_leaves=20))
def test_no_literal_is_in_a_shape(expr: Expr) -> None:
    text = shape(expr, {1: "a"}, {2: "output.b"})
    assert "Zo" not in text and "4711" not in text


def test_a_shape_reads_like_the_predicate(q4: OutputRecord) -> None:
    assert q4.program is not None
    assert step_shape(q4.program, 1) == (
        "(o_orderpriority <=> output.o_orderpriority"
        " AND o_orderdate >= ? AND o_orderpriority <=> ?)"
    )
    assert step_shape(q4.program, 2) == (
        "(l_orderkey <=> step1.o_orderkey AND l_commitdate < l_receiptdate)"
    )
    assert step_shape(q4.program, 0) == ""


def test_a_deep_or_wide_predicate_is_cut() -> None:
    deep: Expr = Column(1, "boolean")
    for _ in range(5000):
        deep = Call("coalesce", (deep,), "boolean")
    assert "..." in shape(deep, {1: "a"}, {})
    assert len(masked("word " * 1000)) == LENGTH


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Window (operator 12): no form", "Window (operator 12): no form"),
        ("value 'O''Neil' of \"x\" and `y`", "value ? of ? and ?"),
        ("since 1993-07-01 10:00, 4711 times -1.5e7", "since ? ?, ? times ?"),
        ("column c12 is fine", "column c12 is fine"),
        ("a 'quote that\nspans' lines", "a ? lines"),
    ],
)
def test_quotations_and_numbers_are_masked(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ValueError: could not parse Zoe", "ValueError"),
        ("snapshot failed\nZoe", "snapshot failed"),
        ("save: AttributeError", "save: AttributeError"),
        ("save: Py4JJavaError: Zoe", "save"),
        ("save: SparkException: Zoe", "save: SparkException"),
        ("save: Zoe made an Error", "save"),
        ("could not save step 3 of 'Zoe': disk full", "could not save step ? of ?"),
    ],
)
def test_the_message_of_an_exception_is_left_out(text: str, expected: str) -> None:
    assert failure(text) == expected
