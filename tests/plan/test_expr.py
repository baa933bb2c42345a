"""Simplification keeps three-valued meaning; traversal copes with any depth."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lineage_core.plan.expr import (
    FALSE,
    TRUE,
    AggregateCall,
    Anchor,
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    IsIn,
    Literal,
    Not,
    Or,
    Unknown,
    conj,
    conjuncts,
    data_type,
    disj,
    is_in,
    negate,
)
from lineage_core.plan.relation import Field, Filter, Join, JoinKind, Project, Scan, output, place
from lineage_core.plan.traverse import (
    column_ids,
    evaluable,
    nodes,
    operands,
    rewrite,
    substitute,
    walk,
)

NULL = Literal(None, "boolean")
A, B, C = (Column(id, "boolean") for id in range(3))
TRUTHS = (True, False, None)

leaves = st.sampled_from([A, B, C, TRUE, FALSE, NULL])


trees = st.recursive(
    leaves,
    lambda inner: st.tuples(
        st.sampled_from(["and", "or", "not"]), st.lists(inner, min_size=1, max_size=4)
    ),
    max_leaves=12,
)


def build(tree: object) -> Expr:
    if not isinstance(tree, tuple):
        assert isinstance(tree, Column | Literal)
        return tree
    kind, parts = tree
    args = [build(part) for part in parts]
    match kind:
        case "and":
            return conj(args)
        case "or":
            return disj(args)
        case _:
            return negate(args[0])


def meaning(tree: Any, row: tuple[bool | None, ...]) -> bool | None:
    """Kleene's logic, on the tree as it was written."""
    match tree:
        case Column(id):
            return row[id]
        case Literal(value):
            assert value is None or isinstance(value, bool)
            return value
        case ("and" | "or" as kind, parts):
            values = [meaning(part, row) for part in parts]
            short = kind == "or"
            return short if short in values else None if None in values else not short
        case ("not", parts):
            value = meaning(parts[0], row)
            return None if value is None else not value
        case And(args):
            return meaning(("and", args), row)
        case Or(args):
            return meaning(("or", args), row)
        case Not(arg):
            return meaning(("not", [arg]), row)
        case _:
            raise AssertionError(tree)


@given(trees)
def test_simplifying_keeps_the_meaning(tree: object) -> None:
    simplified = build(tree)
    for row in product(TRUTHS, repeat=3):
        assert meaning(simplified, row) is meaning(tree, row)


@given(trees)
def test_conjunctions_and_disjunctions_are_flat_and_without_repetition(tree: object) -> None:
    for part in walk(build(tree)):
        if isinstance(part, And | Or):
            assert len(part.args) > 1 and len(set(part.args)) == len(part.args)
            assert not any(isinstance(arg, type(part)) for arg in part.args)
            assert TRUE not in part.args and FALSE not in part.args


def test_conjuncts() -> None:
    assert conjuncts(TRUE) == ()
    assert conjuncts(A) == (A,)
    assert conjuncts(conj([A, conj([B, A]), TRUE])) == (A, B)
    assert conj([A, FALSE]) == FALSE
    assert disj([A, TRUE]) == TRUE
    assert conj([A, NULL]) != FALSE, "unknown is not false"


def test_value_sets() -> None:
    one, two = Literal(1, "long"), Literal(2, "long")
    column = Column(0, "long")
    assert is_in(column, []) == FALSE
    assert is_in(column, [one, one]) == Compare(Comparison.EQ, column, one)
    assert is_in(column, [one, two, one]) == IsIn(column, (one, two))


def test_substitution_is_simultaneous() -> None:
    swapped = substitute(Compare(Comparison.LT, A, B), {0: B, 1: A})
    assert swapped == Compare(Comparison.LT, B, A)


def test_rewriting_leaves_untouched_parts_as_they_are() -> None:
    kept = Compare(Comparison.LT, A, B)
    changed = rewrite(conj([kept, C]), lambda e: TRUE if e == C else None)
    assert changed is kept


def test_what_can_be_computed_again() -> None:
    random = Unknown("Rand", (), "double", False)
    total = AggregateCall("sum", (A,), "long", False, None)
    assert evaluable(Call("add", (A, B), "long"))
    assert not evaluable(conj([A, Compare(Comparison.LT, random, B)]))
    assert not evaluable(total)
    tags = Column(7, '{"type":"array"}')
    assert evaluable(Call("size", (tags,), "integer"))
    assert not evaluable(tags) and not evaluable(Compare(Comparison.EQ, tags, tags))
    assert not evaluable(Call("size", (Anchor(7, tags.type),), "integer"))
    assert operands(AggregateCall("sum", (A,), "long", False, B)) == (A, B)
    assert (data_type(random), data_type(total), data_type(conj([A, B]))) == (
        "double",
        "long",
        "boolean",
    )


def test_depth_is_no_error() -> None:
    deep: Expr = A
    for _ in range(20_000):
        deep = Call("abs", (deep,), "long")
    assert column_ids(deep) == {0}
    assert column_ids(substitute(deep, {0: B})) == {1}


def test_outputs_and_places() -> None:
    left = Scan(3, 0, "l", (Field(0, "a", "long"),))
    right = Scan(4, 1, "r", (Field(1, "b", "string"),))
    inner = Join(1, JoinKind.INNER, TRUE, left, right)
    semi = Join(2, JoinKind.LEFT_SEMI, TRUE, left, right)
    assert [f.id for f in output(inner)] == [0, 1]
    assert [f.id for f in output(Filter(0, A, semi))] == [0]
    assert output(Project(0, (), inner)) == ()
    assert place(semi) == "Semi join (operator 2)"
    assert [node.at for node in nodes(inner)] == [1, 3, 4]
