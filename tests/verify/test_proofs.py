"""Every rule is proven on its operator, and a broken twin of each rule is refuted.

A case is an operator, a predicate on its output and, where the output is saved, the row-selection
predicate that goes on in its place. The twins show that the proofs are not vacuous: each is the
rule with one plausible mistake, and the prover must find the mistake and name rows that show it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest

from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Anchor,
    Call,
    Column,
    Compare,
    Comparison,
    DataType,
    Expr,
    Literal,
    Unknown,
    conj,
    conjuncts,
    same,
)
from lineage_core.plan.relation import (
    Aggregate,
    Field,
    Filter,
    Join,
    JoinKind,
    Limit,
    Named,
    Plan,
    Project,
    Sort,
    SortKey,
    Values,
    children,
)
from lineage_core.plan.traverse import rewrite
from lineage_core.plan.unique import Keys, keys
from lineage_core.pushdown import (
    Claim,
    Exact,
    Obligation,
    Proved,
    Refuted,
    Superset,
    push,
)
from lineage_core.verify import prove

T = Values(0, (Field(0, "k", "long"), Field(1, "v", "string"), Field(2, "d", "double")))
U = Values(0, (Field(10, "k", "long"), Field(11, "w", "string"), Field(12, "d", "double")))


def col(id: int, type: DataType = "long") -> Column:
    return Column(id, type)


def eq(left: Expr, right: Expr) -> Expr:
    return Compare(Comparison.EQ, left, right)


def bind(*columns: Column) -> Expr:
    """The predicate that binds each column to the anchor's column of the same id."""
    return conj(same(column, Anchor(column.id, column.type)) for column in columns)


K, V, D = col(0), col(1, "string"), col(2, "double")
UK, W, UD = col(10), col(11, "string"), col(12, "double")
SMALL = Compare(Comparison.LT, K, Literal(3, "long"))
SUM = Named(20, "total", AggregateCall("sum", (K,), "long", False, None), "long")
SOME = Named(21, "some", AggregateCall("count", (V,), "long", True, SMALL), "long")


def inner(condition: Expr) -> Join:
    return Join(0, JoinKind.INNER, condition, T, U)


def semi(condition: Expr) -> Join:
    return Join(0, JoinKind.LEFT_SEMI, condition, T, U)


GROUPS = Aggregate(0, (V,), (Named(1, "v", V, "string"), SUM, SOME), T)
BY_DOUBLE = Aggregate(0, (D,), (Named(2, "d", D, "double"), SUM), T)
TOTAL = Aggregate(0, (), (SUM,), T)
DISTINCT = Aggregate(0, (K, V), (Named(0, "k", K, "long"), Named(1, "v", V, "string")), T)
COMPUTED = Project(
    0,
    (
        Named(30, "sum", Call("add", (K, K), "long"), "long"),
        Named(1, "v", V, "string"),
        Named(31, "rand", Unknown("Rand", (), "double", False), "double"),
    ),
    T,
)
BAND = conj([Compare(Comparison.LT, K, UK), Compare(Comparison.GE, V, W)])
MIXED = conj([eq(K, UK), Compare(Comparison.LT, V, W)])


@dataclass(frozen=True)
class Case:
    """Pushing `predicate` (on behalf of the rows satisfying it, `row`) through `node` is exact."""

    node: Plan
    predicate: Expr
    row: Expr | None = None


EXACT = {
    "filter": Case(Filter(0, SMALL, T), bind(V)),
    "filter, null test": Case(Filter(0, conj([SMALL, eq(V, Literal("x", "string"))]), T), bind(V)),
    "filter by a UDF, its argument bound": Case(
        Filter(0, Unknown("udf", (K,), "boolean", True), T), bind(K, V)
    ),
    "filter by a UDF, saved": Case(
        Filter(0, Unknown("udf", (K,), "boolean", True), T), bind(V), bind(K, V, D)
    ),
    "project": Case(COMPUTED, bind(col(30), V)),
    "project, nothing asked": Case(COMPUTED, TRUE),
    "inner join, key bound on the left": Case(inner(eq(K, UK)), bind(K, W)),
    "inner join, key bound on the right": Case(inner(eq(K, UK)), bind(UK)),
    "inner join on null-safe equality": Case(inner(same(K, UK)), bind(K)),
    "inner join on doubles": Case(inner(eq(D, UD)), bind(D)),
    "inner join, band condition": Case(inner(BAND), bind(K, UK, V, W)),
    "inner join, mixed condition": Case(inner(MIXED), bind(K, V, W)),
    "cross join": Case(inner(TRUE), bind(K, W)),
    "inner join, saved by one key": Case(inner(eq(K, UK)), bind(V), bind(K, V)),
    "inner join, saved, nothing asked": Case(inner(eq(K, UK)), TRUE, bind(UK)),
    "inner join, saved, band": Case(inner(BAND), bind(col(2)), bind(K, UK, V, W, col(2))),
    "semi join, key bound": Case(semi(eq(K, UK)), bind(K)),
    "semi join, saved": Case(semi(eq(K, UK)), bind(V), bind(K, V)),
    "semi join, saved, band": Case(semi(BAND), TRUE, bind(K, V)),
    "aggregate": Case(GROUPS, bind(V, col(20), col(21))),
    "aggregate by a double": Case(BY_DOUBLE, bind(D, col(20))),
    "aggregate without keys": Case(TOTAL, bind(col(20))),
    "aggregate, nothing asked": Case(GROUPS, TRUE),
    "aggregate, key not in the output, saved": Case(GROUPS, bind(col(20)), bind(V, col(20))),
    "distinct": Case(DISTINCT, bind(K, V)),
    "sort": Case(Sort(0, (SortKey(K, True, True),), True, T), bind(V)),
    "limit, key": Case(Limit(0, 10, GROUPS), bind(V)),
    "limit, whole row with a key": Case(Limit(0, 10, DISTINCT), bind(K, V)),
    "limit, saved": Case(Limit(0, 10, DISTINCT), bind(V), bind(K, V)),
    "limit to one row": Case(Limit(0, 1, Limit(1, 1, T)), TRUE),
}


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("name", EXACT)
def test_rule_is_proven_exact(name: str, extra: int) -> None:
    case = EXACT[name]
    outcomes = push(case.node, case.predicate, partial(prove, extra=extra), row=case.row)
    assert all(isinstance(outcome, Exact) for outcome in outcomes), outcomes
    assert len(outcomes) == len(children(case.node))


INEXACT = {
    "inner join, key not bound": Case(inner(eq(K, UK)), bind(V)),
    "inner join, one of two keys bound": Case(inner(conj([eq(K, UK), eq(V, W)])), bind(K)),
    "semi join, key not bound": Case(semi(eq(K, UK)), bind(V)),
    "function of a double, -0.0": Case(inner(eq(Call("inverse", (D,), "long"), UK)), bind(D)),
    "aggregated value only": Case(GROUPS, bind(col(20))),
    "limit, part of the key": Case(Limit(0, 10, DISTINCT), bind(V)),
    "limit, whole row without a key: an equal one may be cut": Case(Limit(0, 10, T), bind(K, V, D)),
    "filter by a random number": Case(
        Filter(0, Unknown("rand", (), "boolean", False), T), bind(V), bind(K, V, D)
    ),
    "filter by a UDF, not saved": Case(
        Filter(0, Unknown("udf", (K,), "boolean", True), T), bind(V)
    ),
    "project, random column": Case(COMPUTED, bind(col(31, "double"))),
}


@pytest.mark.parametrize("name", INEXACT)
def test_what_cannot_be_exact_is_a_superset_that_says_why(name: str) -> None:
    case = INEXACT[name]
    outcomes = push(case.node, case.predicate, prove, row=case.row)
    inexact = [outcome for outcome in outcomes if not isinstance(outcome, Exact)]
    assert inexact
    assert all("operator 0" in outcome.why for outcome in inexact)


# Broken twins: the predicate a rule would push if it made one mistake, and the claim that must
# fail.


def drop(*lost: Expr) -> Callable[[Expr], Expr]:
    """Forget some conjuncts."""
    return lambda pushed: conj(part for part in conjuncts(pushed) if part not in lost)


def swap(old: Expr, new: Expr) -> Callable[[Expr], Expr]:
    """Take one expression for another."""
    return lambda pushed: rewrite(pushed, lambda e: new if e == old else None)


def add(extra: Expr) -> Callable[[Expr], Expr]:
    """Ask for more than the lineage needs."""
    return lambda pushed: conj([pushed, extra])


A_K, A_V = Anchor(0, "long"), Anchor(1, "string")
TWINS = {
    "filter: own condition forgotten": (EXACT["filter"], 0, drop(SMALL), Claim.PRECISE),
    "filter: = instead of <=>": (
        EXACT["filter"],
        0,
        swap(same(V, A_V), eq(V, A_V)),
        Claim.COVERS,
    ),
    "filter: comparison turned": (
        EXACT["filter"],
        0,
        swap(SMALL, Compare(Comparison.GT, K, Literal(3, "long"))),
        Claim.COVERS,
    ),
    "project: argument dropped": (
        EXACT["project"],
        0,
        swap(Call("add", (K, K), "long"), K),
        Claim.COVERS,
    ),
    "project: conjunct dropped": (EXACT["project"], 0, drop(same(V, A_V)), Claim.PRECISE),
    "inner join: key not carried over": (
        EXACT["inner join, key bound on the left"],
        1,
        drop(eq(UK, A_K)),
        Claim.PRECISE,
    ),
    "inner join: wrong key carried over": (
        EXACT["inner join, key bound on the left"],
        1,
        swap(UK, UD),
        Claim.COVERS,
    ),
    "null-safe join taken for a plain one": (
        EXACT["inner join on null-safe equality"],
        1,
        swap(same(UK, A_K), eq(UK, A_K)),
        Claim.COVERS,
    ),
    "semi join: inner rows not narrowed": (
        EXACT["semi join, key bound"],
        1,
        lambda _: TRUE,
        Claim.PRECISE,
    ),
    "semi join: empty inner side, as for an anti join": (
        EXACT["semi join, key bound"],
        1,
        lambda _: Literal(False, "boolean"),
        Claim.REPRODUCES,
    ),
    "semi join saved without its key": (
        EXACT["semi join, saved"],
        0,
        lambda _: bind(V),
        Claim.PRECISE,
    ),
    "aggregate: aggregated argument pushed": (
        EXACT["aggregate"],
        0,
        add(eq(K, Anchor(20, "long"))),
        Claim.COVERS,
    ),
    "aggregate: one row instead of the group": (
        EXACT["aggregate"],
        0,
        add(SMALL),
        Claim.REPRODUCES,
    ),
    "aggregate: grouping value forgotten": (
        EXACT["aggregate"],
        0,
        drop(same(V, A_V)),
        Claim.PRECISE,
    ),
    "sort: conjunct dropped": (EXACT["sort"], 0, drop(same(V, A_V)), Claim.PRECISE),
    "limit: conjunct dropped": (
        EXACT["limit, whole row with a key"],
        0,
        drop(same(V, A_V)),
        Claim.PRECISE,
    ),
}


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("name", TWINS)
def test_broken_twin_is_refuted_with_a_counterexample(name: str, extra: int) -> None:
    case, position, mistake, claim = TWINS[name]
    right = [_pushed(outcome) for outcome in push(case.node, case.predicate, prove, row=case.row)]
    wrong = [mistake(p) if i == position else p for i, p in enumerate(right)]
    assert wrong != right, "the twin is not different"
    saved = case.row is not None
    verdict = prove(
        Obligation(
            case.node, case.predicate, tuple(wrong), position, claim, saved, keys=_keys(case.node)
        ),
        extra=extra,
    )
    assert isinstance(verdict, Refuted), verdict
    assert "input 0:" in verdict.counterexample and "anchor:" in verdict.counterexample


def _keys(node: Plan) -> tuple[Keys, ...]:
    return tuple(keys(child) for child in children(node))


def _pushed(outcome: object) -> Expr:
    assert isinstance(outcome, Exact | Superset)
    return outcome.predicate


def test_without_the_premise_dropping_an_aggregated_value_would_be_refuted() -> None:
    """The target row exists: it is what makes `sum = 7 and g = 3` -> `g = 3` precise."""
    wanted = conj([bind(V), eq(col(20), Literal(7, "long"))])
    exists = push(GROUPS, wanted, prove)
    assert isinstance(exists[0], Exact)
    unbound = push(GROUPS, eq(col(20), Literal(7, "long")), prove)
    assert isinstance(unbound[0], Superset)


def test_below_an_aggregate_without_keys_nothing_need_exist() -> None:
    """count(*) of an empty join is a row, too: its lineage is empty on both sides."""
    join = inner(Compare(Comparison.GE, K, Literal(3, "long")))
    assert all(isinstance(outcome, Exact) for outcome in push(join, TRUE, prove))
    left, right = push(join, TRUE, prove, premise=False)
    assert isinstance(left, Superset) and isinstance(right, Superset)
    saved = push(join, TRUE, prove, row=TRUE, premise=False)
    assert all(isinstance(outcome, Exact) for outcome in saved)


def test_verdicts_do_not_depend_on_names_or_constants() -> None:
    first = Filter(3, Compare(Comparison.LT, K, Literal(3, "long")), T)
    other = Values(0, (Field(70, "a", "integer"), Field(71, "b", "date"), Field(72, "c", "string")))
    second = Filter(9, Compare(Comparison.LT, col(70, "integer"), Literal(99, "integer")), other)
    from lineage_core.verify.shape import shape

    def of(node: Filter, column: Column) -> Obligation:
        pushed = conj([bind(column), node.condition])
        return shape(Obligation(node, bind(column), (pushed,), 0, Claim.PRECISE))

    assert of(first, V) == of(second, col(71, "date"))
    assert isinstance(prove(of(first, V)), Proved)
