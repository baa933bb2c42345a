"""The search, by provers that say what they are told to: what it asks, and what it makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from unittest.mock import patch

import pytest

from lineage_core.plan.expr import (
    FALSE,
    TRUE,
    Anchor,
    Column,
    Compare,
    Comparison,
    Expr,
    Frame,
    FrameUnit,
    Literal,
    WindowCall,
    conj,
    same,
)
from lineage_core.plan.relation import (
    Field,
    Filter,
    Join,
    JoinKind,
    Limit,
    Named,
    Offset,
    Opaque,
    Plan,
    Scan,
    Union,
    Values,
    Window,
    rid_field,
)
from lineage_core.pushdown import (
    Claim,
    Exact,
    Obligation,
    Proved,
    Refused,
    Superset,
    Undecided,
    Verdict,
    always_from,
    push,
    reduce,
)


def scan(at: int, first: int) -> Scan:
    rid = rid_field(Scan(at, at, "", ()))
    return Scan(at, at, "t", (Field(first, "k", "long"), Field(first + 1, "v", "string"), rid))


T, U = scan(1, 0), scan(2, 10)
K, V, RID = (Column(f.id, f.type) for f in T.columns)
UK, UV, URID = (Column(f.id, f.type) for f in U.columns)


def bind(*columns: Column) -> Expr:
    return conj(same(column, Anchor(column.id, column.type)) for column in columns)


ON = Compare(Comparison.EQ, K, UK)
SMALL = Compare(Comparison.LT, K, Literal(3, "long"))
LINKED = Compare(Comparison.EQ, K, Anchor(UK.id, "long"))
U_LINKED = Compare(Comparison.EQ, UK, Anchor(K.id, "long"))
FILTER = Filter(7, SMALL, T)
JOIN = Join(7, JoinKind.INNER, ON, T, U)
UNION = Union(7, (Field(70, "k", "long"),), ((K.id,), (UK.id,)), (T, U))


@dataclass
class Prover:
    """Proves what `proves` says, and remembers what it was asked."""

    proves: Callable[[Obligation], bool]
    asked: list[Obligation] = field(default_factory=list)

    def __call__(self, obligation: Obligation) -> Verdict:
        self.asked.append(obligation)
        return Proved() if self.proves(obligation) else Undecided("told so")


def claims(*proven: Claim) -> Prover:
    return Prover(lambda obligation: obligation.claim in proven)


def test_the_first_candidate_that_covers_and_is_precise_is_exact() -> None:
    prover = claims(Claim.COVERS, Claim.PRECISE, Claim.REPRODUCES)
    best = conj([bind(V), SMALL])
    assert push(FILTER, bind(V), prover) == (Exact(best),)
    expected = Obligation(FILTER, bind(V), (best,), 0, Claim.COVERS, keys=((frozenset({RID.id}),),))
    asked = [(o.claim, o.pushed, o.input, o.saved, o.premise) for o in prover.asked]
    assert asked == [(claim, (best,), 0, False, True) for claim in list(Claim)[:3]]
    for obligation in prover.asked:
        assert (obligation.operator, obligation.predicate) == (FILTER, bind(V))
        assert obligation.keys == expected.keys and obligation.present == ((RID.id,),)


def test_each_input_is_asked_about_with_the_others_whole() -> None:
    prover = claims(Claim.COVERS, Claim.PRECISE, Claim.REPRODUCES)
    left = conj([bind(V), Compare(Comparison.EQ, K, Anchor(K.id, "long"))])
    assert push(JOIN, bind(K, V), prover) == (Exact(left), Exact(U_LINKED))
    assert [(o.claim, o.input, o.pushed) for o in prover.asked] == [
        (Claim.COVERS, 0, (left, TRUE)),
        (Claim.PRECISE, 0, (left, TRUE)),
        (Claim.COVERS, 1, (TRUE, U_LINKED)),
        (Claim.PRECISE, 1, (TRUE, U_LINKED)),
        (Claim.REPRODUCES, 0, (left, U_LINKED)),
    ]


def test_of_a_saved_output_the_rows_go_down() -> None:
    prover = claims(Claim.COVERS, Claim.PRECISE, Claim.REPRODUCES)
    outcomes = push(FILTER, bind(V), prover, row=bind(RID), premise=False)
    assert outcomes == (Exact(conj([bind(RID), SMALL])),)
    assert {(o.predicate, o.saved, o.premise) for o in prover.asked} == {(bind(V), True, False)}


def test_a_candidate_that_does_not_cover_is_passed_over() -> None:
    prover = Prover(lambda o: o.claim is not Claim.COVERS or o.pushed == (bind(V),))
    assert push(FILTER, bind(V), prover) == (Exact(bind(V)),)


def test_of_what_only_covers_the_predicate_that_says_most_is_a_superset() -> None:
    best = conj([bind(V), SMALL])
    (outcome,) = push(FILTER, bind(V), claims(Claim.COVERS))
    assert isinstance(outcome, Superset) and outcome.predicate == best
    assert outcome.why == (
        "Filter (operator 7): the output row does not tell its input rows apart from others"
    )


@pytest.mark.parametrize(
    ("units", "counts"),
    [
        ((FrameUnit.ROWS, FrameUnit.RANGE), True),
        ((FrameUnit.RANGE, FrameUnit.ROWS), True),
        ((FrameUnit.RANGE, FrameUnit.RANGE), False),
    ],
)
def test_one_frame_of_rows_is_reason_enough(units: tuple[FrameUnit, ...], counts: bool) -> None:
    calls = (WindowCall("sum", (K,), "long", Frame(unit, None, None)) for unit in units)
    made = tuple(Named(50 + i, "w", call, "long") for i, call in enumerate(calls))
    (outcome,) = push(Window(7, (K,), (), made, T), bind(K), claims(Claim.COVERS))
    assert isinstance(outcome, Superset) and ("its frame counts rows" in outcome.why) is counts


def test_supersets_say_from_which_input() -> None:
    for node, places in (
        (JOIN, ("Join (operator 7) (left input): ", "Join (operator 7) (right input): ")),
        (UNION, ("Union (operator 7) (input 1): ", "Union (operator 7) (input 2): ")),
    ):
        for prover in (claims(Claim.COVERS), claims()):
            outcomes = push(node, bind(K), prover)
            assert all(isinstance(o, Superset | Refused) for o in outcomes)
            for outcome, place in zip(outcomes, places, strict=True):
                assert isinstance(outcome, Superset | Refused) and outcome.why.startswith(place)


def test_what_is_not_proven_to_cover_is_refused() -> None:
    (outcome,) = push(FILTER, bind(V), claims(Claim.PRECISE, Claim.REPRODUCES))
    assert outcome == Refused(
        "Filter (operator 7): no predicate on its input is proven to keep all lineage rows"
    )


def test_rows_that_do_not_give_the_output_again_are_no_lineage() -> None:
    outcomes = push(JOIN, bind(K), claims(Claim.COVERS, Claim.PRECISE))
    why = "Join (operator 7): the selected rows are not proven to give its output again"
    assert outcomes == (Superset(TRUE, why), Superset(TRUE, why))


def test_nothing_is_asked_to_give_an_output_again_where_an_input_is_not_exact() -> None:
    prover = Prover(lambda o: o.claim is not Claim.PRECISE or o.input == 0)
    left, right = push(JOIN, bind(K), prover)
    assert isinstance(left, Exact) and isinstance(right, Superset)
    assert all(o.claim is not Claim.REPRODUCES for o in prover.asked)


@pytest.mark.parametrize(("node", "asked"), [(Limit(7, 3, T), True), (Offset(7, 3, T), False)])
def test_an_offset_is_not_asked_to_give_its_output_again(node: Plan, asked: bool) -> None:
    prover = claims(Claim.COVERS, Claim.PRECISE, Claim.REPRODUCES)
    assert push(node, bind(RID), prover) == (Exact(bind(RID)),)
    assert any(o.claim is Claim.REPRODUCES for o in prover.asked) is asked


def test_no_row_has_no_lineage_and_takes_no_proof() -> None:
    prover = claims()
    assert push(JOIN, FALSE, prover) == (Exact(FALSE), Exact(FALSE))
    assert not prover.asked


def test_an_operator_without_a_rule_is_refused_by_name() -> None:
    opaque = Opaque(7, "Mystery", "it has no IR form", T.columns, (T, U))
    prover = claims(*Claim)
    why = Refused("Mystery (operator 7): it has no IR form")
    assert push(opaque, bind(K), prover) == (why, why)
    assert reduce(opaque, bind(K), prover) == (TRUE, TRUE)
    assert push(Scan(7, 0, "t", ()), bind(K), prover) == ()
    assert not prover.asked


def test_an_operator_that_nobody_wrote_a_rule_for_is_refused_by_name() -> None:
    with patch.object(import_module("lineage_core.pushdown.push"), "RULES", ()):
        assert push(FILTER, bind(K), claims(*Claim)) == (
            Refused("Filter (operator 7) has no rule"),
        )


def test_each_input_is_reduced_by_itself_as_far_as_is_proven() -> None:
    prover = Prover(lambda o: o.pushed[o.input] == bind(K) or o.input == 1)
    assert reduce(JOIN, bind(K), prover) == (bind(K), U_LINKED)
    first = Compare(Comparison.EQ, K, Anchor(K.id, "long"))
    assert [(o.input, o.pushed) for o in prover.asked] == [
        (0, (first, TRUE)),
        (0, (bind(K), TRUE)),
        (1, (TRUE, U_LINKED)),
    ]
    assert {(o.claim, o.premise, o.saved) for o in prover.asked} == {(Claim.REDUCES, False, False)}
    assert prover.asked[0].keys == ((frozenset({RID.id}),), (frozenset({URID.id}),))


def test_what_is_not_proven_to_be_enough_is_not_reduced() -> None:
    assert reduce(JOIN, bind(K), claims()) == (TRUE, TRUE)


def test_of_several_inputs_none_need_be_there() -> None:
    assert always_from(UNION) == (False, False)
    assert always_from(Union(7, UNION.columns, UNION.taken[:1], (T,))) == (True,)
    assert always_from(Opaque(7, "", "", (), (T, U))) == (False, False)
    assert always_from(FILTER) == (True,)
    assert always_from(Values(7, ())) == ()
