"""A compound stands for many columns: nothing is proven with it that is not true without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lineage_core.plan.expr import (
    FALSE,
    TRUE,
    AggregateCall,
    Anchor,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    Literal,
    Unknown,
    conj,
    same,
)
from lineage_core.plan.relation import Aggregate, Field, Filter, Named, Plan, Project, Union, Values
from lineage_core.plan.traverse import substitute
from lineage_core.pushdown import Claim, Obligation, Proved, Verdict
from lineage_core.verify import abstract, compound
from lineage_core.verify.compound import Compound
from lineage_core.verify.decide import decide
from lineage_core.verify.shape import shape

T = Values(0, tuple(Field(i, f"c{i}", t) for i, t in enumerate(("long", "double", "boolean"))))
K, D, B = (Column(f.id, f.type) for f in T.columns)
ONE = Literal(1, "long")


def add(arg: Expr) -> Call:
    return Call("add", (arg, ONE), "long")


def total(id: int, arg: Expr) -> Named:
    return Named(id, "", AggregateCall("sum", (arg,), "long", False, None), "long")


def bind(*ids: int) -> Expr:
    return conj(same(Column(id, "long"), Anchor(id, "long")) for id in ids)


RANDOM = Named(13, "r", Unknown("rand", (), "double", False), "double")
COMPUTED = Project(
    0,
    (
        Named(10, "x", add(K), "long"),
        Named(11, "y", Call("f", (K, D), "long"), "long"),
        Named(12, "z", Call("g", (B,), "long"), "long"),
        RANDOM,
    ),
    T,
)
DEFINITIONS = {column.id: column.expr for column in COMPUTED.columns}
GROUPED = Aggregate(0, (K,), (Named(0, "k", K, "long"), total(20, D), total(21, B)), T)
OF_KEYS = Aggregate(0, (D,), (Named(1, "d", D, "double"), total(20, K), total(21, D)), T)
TOTALS = Aggregate(0, (), (total(20, K), total(21, D)), T)


def down(predicate: Expr) -> Expr:
    return substitute(predicate, DEFINITIONS)


OBLIGATIONS: dict[str, tuple[Plan, Expr, Expr]] = {
    "all goes down": (COMPUTED, bind(10, 11, 12), down(bind(10, 11, 12))),
    "one part is lost": (COMPUTED, bind(10, 11, 12), down(bind(10, 12))),
    "one part is made up": (COMPUTED, bind(10), conj([down(bind(10)), same(D, Anchor(1, "long"))])),
    "a part in both": (
        COMPUTED,
        conj([bind(10, 11), Compare(Comparison.LT, Column(10, "long"), Column(11, "long"))]),
        down(bind(10, 11)),
    ),
    "random above": (COMPUTED, bind(10, 13), down(bind(10))),
    "random below": (COMPUTED, bind(13), down(bind(13))),
    "nothing goes down": (COMPUTED, bind(10, 11), TRUE),
    "another value goes down": (COMPUTED, bind(10), same(K, Anchor(10, "long"))),
    "the group": (GROUPED, bind(0, 20, 21), bind(0)),
    "the group, without its key": (GROUPED, bind(20, 21), TRUE),
    "a value of the group": (GROUPED, bind(0, 20), conj([bind(0), same(D, Anchor(20, "long"))])),
    "a key that has shades": (OF_KEYS, bind(1, 20, 21), bind(1)),
    "no key": (TOTALS, bind(20, 21), TRUE),
    "no key, no row": (TOTALS, bind(20), same(K, Anchor(20, "long"))),
    "a filter": (Filter(0, B, T), bind(0, 1), conj([bind(0, 1), B])),
    "a filter, less of it": (Filter(0, B, T), bind(0, 1), conj([bind(1), B])),
}


def verdicts(node: Plan, predicate: Expr, pushed: Expr) -> dict[tuple[Claim, bool, bool], Verdict]:
    task = Obligation(node, predicate, (pushed,), 0, Claim.COVERS)
    return {
        (claim, premise, saved): decide(
            shape(replace(task, claim=claim, premise=premise, saved=saved)), 0
        )
        for claim in Claim
        for premise in (True, False)
        for saved in (False, True)
        if isinstance(node, Aggregate) or not saved  # the others' anchors are no output columns
    }


@pytest.mark.parametrize("name", OBLIGATIONS)
def test_the_same_is_proven_as_without_compounds(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = verdicts(*OBLIGATIONS[name])
    monkeypatch.setattr(abstract, "compound", lambda obligation: Compound(obligation, {}))
    monkeypatch.setattr(abstract, "_lump", lambda slots, fields, anchored: slots)
    plain = verdicts(*OBLIGATIONS[name])
    proven = {claim for claim, verdict in short.items() if isinstance(verdict, Proved)}
    assert proven == {claim for claim, verdict in plain.items() if isinstance(verdict, Proved)}


def test_the_cases_prove_and_refute() -> None:
    outcomes = {
        isinstance(v, Proved) for case in OBLIGATIONS.values() for v in verdicts(*case).values()
    }
    assert outcomes == {True, False}


A, C, E = (
    Values(0, (Field(i, "", "long"), Field(i + 1, "", kind)))
    for i, kind in ((30, "long"), (40, "long"), (50, "string"))
)
UNION = Union(
    0,
    (Field(0, "", "long"), Field(1, "", "long")),
    ((30, 31), (40, 41), (50, None)),
    (A, C, E),
)
POSITIVE = Compare(Comparison.GT, Column(0, "long"), Literal(0, "long"))


def on(branch: int, predicate: Expr) -> Expr:
    """What a predicate on the union says about an input."""
    null = Literal(None, "long")
    taken = {
        i: null if id is None else Column(id, "long") for i, id in enumerate(UNION.taken[branch])
    }
    return substitute(predicate, taken)


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("predicate", [bind(0), bind(0, 1), conj([bind(0), POSITIVE])])
@pytest.mark.parametrize("wrong", [None, 0, 1, 2])
def test_of_a_union_the_same_is_proven_as_with_all_inputs(
    predicate: Expr, saved: bool, wrong: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = bind(0, 1) if saved else predicate
    right = tuple(on(i, row) for i in range(3))
    exact = tuple(
        on(i, bind(0)) if i == wrong and predicate != bind(0) else FALSE if i == wrong else r
        for i, r in enumerate(right)
    )

    def proven() -> set[tuple[Claim, int]]:
        found = set()
        for claim in Claim:
            for i in range(3):
                alone = tuple(exact[j] if j == i else TRUE for j in range(3))
                pushed = exact if claim is Claim.REPRODUCES else alone
                task = Obligation(UNION, predicate, pushed, i, claim, saved)
                if isinstance(decide(shape(task), 0), Proved):
                    found.add((claim, i))
        return found

    short = proven()
    assert short
    monkeypatch.setattr(compound, "one_branch", lambda obligation, node: obligation)
    assert short == proven()


@pytest.mark.parametrize("width", [4, 40])
def test_width_and_depth_make_no_other_shape(width: int) -> None:
    wide = Values(0, tuple(Field(i, "", "long") for i in range(width)))
    deep: Expr = Column(0, "long")
    for _ in range(width):
        deep = add(deep)
    others = (Named(100 + i, "", add(Column(i, "long")), "long") for i in range(1, width))
    columns = (Named(100, "", deep, "long"), *others)
    predicate = bind(*(column.id for column in columns))
    node = Project(0, columns, wide)
    pushed = substitute(predicate, {column.id: column.expr for column in columns})
    found = shape(Obligation(node, predicate, (pushed,), 0, Claim.PRECISE))
    small = Project(0, (Named(100, "", add(K), "long"),), Values(0, T.columns[:1]))
    image = substitute(bind(100), {100: add(K)})
    assert found == shape(Obligation(small, bind(100), (image,), 0, Claim.PRECISE))
