"""Every way an operator makes rows is proven exact where the predicate tells enough, and reduced.

Each case says for every input what it expects: exact, or a superset; and whether `reduce` finds
something to leave out of the input.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pytest
import z3

from lineage_core.plan.expr import (
    FALSE,
    TRUE,
    Anchor,
    Call,
    Column,
    Compare,
    Comparison,
    DataType,
    Expr,
    Frame,
    FrameUnit,
    IsNull,
    Literal,
    Unknown,
    WindowCall,
    conj,
    disj,
    same,
)
from lineage_core.plan.present import present
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Field,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Named,
    Offset,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    Union,
    Window,
    children,
    output,
    rid_field,
)
from lineage_core.plan.unique import keys
from lineage_core.pushdown import (
    RULES,
    Claim,
    Exact,
    Obligation,
    Refuted,
    Superset,
    always_from,
    push,
    reduce,
)
from lineage_core.verify import RememberingProver
from lineage_core.verify.operators import apply
from lineage_core.verify.symbols import Symbols

prove = RememberingProver(None)


def scan(at: int, first: int) -> Scan:
    names = (("k", "long"), ("v", "string"), ("d", "double"), ("day", "date"))
    fields = tuple(Field(first + i, name, type) for i, (name, type) in enumerate(names))
    rid = rid_field(Scan(at, at, "", ()))
    return Scan(at, at, "t", (*fields, rid))


T, U = scan(1, 0), scan(2, 10)


def columns(plan: Scan) -> list[Column]:
    return [Column(f.id, f.type) for f in plan.columns]


K, V, D, DAY, RID = columns(T)
UK, UV, UD, UDAY, URID = columns(U)


def col(id: int, type: DataType = "long") -> Column:
    return Column(id, type)


def anchor(column: Column) -> Anchor:
    return Anchor(column.id, column.type)


def eq(left: Expr, right: Expr) -> Expr:
    return Compare(Comparison.EQ, left, right)


def bind(*columns: Column) -> Expr:
    return conj(same(column, anchor(column)) for column in columns)


EXISTS = Field(40, "exists", "boolean")


def join(kind: JoinKind, condition: Expr) -> Join:
    return Join(0, kind, condition, T, U, EXISTS if kind is JoinKind.EXISTENCE else None)


BAND = conj([eq(K, UK), Compare(Comparison.LT, V, UV)])
OUTER = (JoinKind.LEFT_OUTER, JoinKind.RIGHT_OUTER, JoinKind.FULL_OUTER)
LEFT, RIGHT, FULL = OUTER
# With no part of the condition bound, a side whose loss may leave rows alone stays whole.
REDUCED = (
    (JoinKind.INNER, (True, True)),
    (LEFT, (True, False)),
    (RIGHT, (False, True)),
    (FULL, (False, False)),
)
SEMI, ANTI, EXISTENCE = JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI, JoinKind.EXISTENCE


@dataclass(frozen=True)
class Case:
    """Pushing a predicate (on behalf of the saved rows `row` selects); what is exact, by input."""

    node: Plan
    predicate: Expr
    row: Expr | None = None
    exact: tuple[bool, ...] = (True, True)
    reduced: tuple[bool, ...] = (True, True)


def frame(lower: int | None, upper: int | None, unit: FrameUnit = FrameUnit.RANGE) -> Frame:
    lower_bound, upper_bound = (
        None if bound is None else Literal(bound, "integer") for bound in (lower, upper)
    )
    return Frame(unit, lower_bound, upper_bound)


def window(
    *frames: Frame,
    by: tuple[Expr, ...] = (K,),
    order: Column = DAY,
    ascending: bool = True,
    nulls_first: bool = True,
    name: str = "sum",
) -> Window:
    columns = tuple(
        Named(50 + i, "w", WindowCall(name, (D,), "double", f), "double")
        for i, f in enumerate(frames)
    )
    return Window(0, by, (SortKey(order, ascending, nulls_first),), columns, T)


ROWS = FrameUnit.ROWS
TOTAL = Aggregate(0, (), (Named(60, "n", Call("add", (K, K), "long"), "long"),), T)
GROUPED = Aggregate(0, (UK,), (Named(UK.id, "k", UK, "long"), Named(61, "n", UK, "long")), U)
UNION = Union(
    0,
    (
        Field(70, "k", "long"),
        Field(71, "v", "string"),
        Field(72, "rid", "long"),
        Field(73, "rid", "long"),
    ),
    ((K.id, V.id, RID.id, None), (UK.id, None, None, URID.id)),
    (T, U),
)
ROLLUP = Expand(
    0,
    ((K, V, Literal(0, "long")), (K, Literal(None, "string"), Literal(1, "long"))),
    (Field(80, "k", "long"), Field(81, "v", "string"), Field(82, "gid", "long")),
    T,
)
WITH_RID = Expand(
    0,
    ((K, RID, Literal(0, "long")), (Literal(None, "long"), RID, Literal(1, "long"))),
    (Field(80, "k", "long"), Field(RID.id, "rid", "long"), Field(82, "gid", "long")),
    T,
)


def explode(*args: Expr, outer: bool = False) -> Generate:
    made = (Field(90, "pos", "integer"), Field(91, "e", "string"))
    generator = Unknown("explode", args, "array", True)
    return Generate(0, generator, outer, T.columns, made, T)


POS, ELEMENT = col(90, "integer"), col(91, "string")
SAMPLE = Filter(0, Unknown("sample", (), "boolean", False), T)

JOINS = {
    **{f"{kind}, both keys": Case(join(kind, eq(K, UK)), bind(K, V, UK, UV)) for kind in OUTER},
    **{
        f"{kind}, rids saved": Case(
            join(kind, eq(K, UK)), bind(V, UV), bind(V, UV, RID, URID), reduced=reduced
        )
        for kind, reduced in REDUCED
    },
    **{
        f"{kind}, rids and a band": Case(
            join(kind, BAND), bind(RID, URID), bind(RID, URID), reduced=reduced
        )
        for kind, reduced in REDUCED
    },
    "left, the left key": Case(join(LEFT, eq(K, UK)), bind(K, V, UV)),
    "left, the right key only": Case(
        join(LEFT, eq(K, UK)), bind(V, UK), exact=(False, True), reduced=(True, False)
    ),
    "right, the right key": Case(join(RIGHT, eq(K, UK)), bind(UK, V, UV)),
    "left, keys saved": Case(join(LEFT, eq(K, UK)), bind(V), bind(V, K, UV), reduced=(True, False)),
    "left, band": Case(join(LEFT, BAND), bind(K, V, UK, UV)),
    "left, scalar subquery": Case(
        Join(0, LEFT, TRUE, T, Limit(0, 1, U)), bind(K, V, UV), reduced=(True, False)
    ),
    "left, grouped subquery": Case(Join(0, LEFT, eq(K, UK), T, GROUPED), bind(K, col(61))),
    "left, on doubles": Case(join(LEFT, eq(D, UD)), bind(D, UV)),
    "full, no keys": Case(
        join(FULL, eq(K, UK)), bind(V, UV), exact=(False, False), reduced=(False, False)
    ),
    "semi, rid saved": Case(join(SEMI, eq(K, UK)), bind(V), bind(RID, K), reduced=(True, False)),
    "anti, key": Case(join(ANTI, eq(K, UK)), bind(K)),
    "anti, key not bound": Case(
        join(ANTI, eq(K, UK)), bind(V), exact=(False, True), reduced=(True, False)
    ),
    "anti, key saved": Case(join(ANTI, eq(K, UK)), bind(V), bind(V, K), reduced=(True, False)),
    "anti, rid saved": Case(join(ANTI, BAND), bind(RID), bind(RID), reduced=(True, False)),
    "anti, NOT IN": Case(join(ANTI, disj([eq(K, UK), IsNull(eq(K, UK))])), bind(K)),
    "existence, key": Case(join(EXISTENCE, eq(K, UK)), bind(K, col(40, "boolean"))),
    "existence, key not bound": Case(
        join(EXISTENCE, eq(K, UK)),
        bind(V, col(40, "boolean")),
        exact=(False, False),
        reduced=(True, False),
    ),
    "existence, rid and key saved": Case(
        join(EXISTENCE, BAND), bind(V), bind(RID, K, V), reduced=(True, True)
    ),
}

ONE = (True,)
ROWWISE = {
    "union": Case(UNION, bind(col(70), col(71, "string"))),
    "union, one column": Case(UNION, bind(col(71, "string"))),
    "union, rids saved": Case(UNION, bind(col(70)), bind(col(72), col(73))),
    "union, the rid of one input saved": Case(
        UNION, bind(col(70)), bind(col(72)), exact=(True, False)
    ),
    "expand": Case(ROLLUP, bind(col(80), col(81, "string"), col(82)), None, ONE, ONE),
    "expand, one column": Case(ROLLUP, bind(col(81, "string")), None, ONE, ONE),
    "expand, rid saved": Case(WITH_RID, bind(col(80)), bind(RID, col(80)), ONE, ONE),
    "explode, row fixed by its rid": Case(explode(D), bind(RID, ELEMENT), None, ONE, ONE),
    "explode, argument bound": Case(explode(V), bind(V, POS, ELEMENT), None, ONE, ONE),
    "explode outer": Case(explode(V, outer=True), bind(V, POS, ELEMENT), None, ONE, ONE),
    "explode, argument not bound": Case(explode(V), bind(K, ELEMENT), None, (False,), ONE),
    "explode, rid saved": Case(explode(V), bind(ELEMENT), bind(RID, ELEMENT), ONE, (False,)),
    "sample, rid": Case(SAMPLE, bind(V, RID), None, ONE, ONE),
    "sample, rid saved": Case(SAMPLE, bind(V), bind(RID), ONE, ONE),
    "filter, rid saved": Case(Filter(0, eq(V, D), T), bind(K), bind(RID), ONE, ONE),
    "project, rid saved": Case(
        Project(
            0,
            (
                Named(30, "s", Call("add", (K, K), "long"), "long"),
                Named(RID.id, "rid", RID, "long"),
            ),
            T,
        ),
        bind(col(30)),
        bind(RID),
        ONE,
        ONE,
    ),
    "sort, rid saved": Case(Sort(0, (), True, T), bind(V), bind(RID), ONE, ONE),
    "limit, rid": Case(Limit(0, 10, T), bind(V, RID), None, ONE, (False,)),
    "limit, rid saved": Case(Limit(0, 10, T), bind(V), bind(V, RID), ONE, (False,)),
    "offset, rid": Case(Offset(0, 10, T), bind(V, RID), None, ONE, (False,)),
    "offset, rid saved": Case(Offset(0, 10, T), bind(V), bind(V, RID), ONE, (False,)),
    "offset, equal rows may be skipped": Case(
        Offset(0, 10, T), bind(K, V), None, (False,), (False,)
    ),
}

BOUND = bind(K, V, DAY, col(50, "double"))
WINDOWS = {
    "window, whole partition": Case(window(frame(None, None)), bind(K, V), None, ONE, ONE),
    "window, whole table": Case(window(frame(None, None), by=()), bind(V), None, ONE, (False,)),
    "window, running": Case(window(frame(None, 0)), BOUND, None, ONE, ONE),
    "window, running, nulls last": Case(
        window(frame(None, 0), nulls_first=False), BOUND, None, ONE, ONE
    ),
    "window, running, descending": Case(
        window(frame(None, 0), ascending=False), BOUND, None, ONE, ONE
    ),
    "window, remaining": Case(window(frame(0, None)), BOUND, None, ONE, ONE),
    "window, peers": Case(window(frame(0, 0)), BOUND, None, ONE, ONE),
    "window, last days": Case(window(frame(-3, 0)), BOUND, None, ONE, ONE),
    "window, days around, descending": Case(
        window(frame(-3, 2), ascending=False, nulls_first=False), BOUND, None, ONE, ONE
    ),
    "window, days before": Case(
        window(frame(-3, -1)), bind(K, V, D, DAY, col(50, "double")), None, ONE, ONE
    ),
    "window, order of doubles": Case(window(frame(None, 0), order=D), bind(K, D), None, ONE, ONE),
    "window, distance of doubles": Case(
        window(frame(-3, 0), order=D), bind(K, D), None, (False,), ONE
    ),
    "window, two frames": Case(window(frame(-3, 0), frame(0, None)), BOUND, None, ONE, ONE),
    "window, rank": Case(window(frame(None, 0, ROWS), name="rank"), BOUND, None, ONE, ONE),
    "window, row number": Case(
        window(frame(None, 0, ROWS), name="row_number"), BOUND, None, ONE, ONE
    ),
    "window, ntile": Case(window(frame(None, 0, ROWS), name="ntile"), BOUND, None, ONE, ONE),
    "window, order not bound": Case(window(frame(None, 0)), bind(K, V), None, (False,), ONE),
    "window, partition not bound": Case(window(frame(None, 0)), bind(V, DAY), None, (False,), ONE),
    "window, saved": Case(window(frame(None, 0)), bind(V), bind(V, K, DAY), ONE, (False,)),
    "window, rid saved with its partition": Case(
        window(frame(None, 0)), bind(V), bind(K, DAY, RID), ONE, (False,)
    ),
    "window, whole partition in rows": Case(
        window(frame(None, None, ROWS)), bind(K, V), None, ONE, ONE
    ),
    "window, rows so far, ties": Case(window(frame(None, 0, ROWS)), BOUND, None, (False,), ONE),
    "window, rows so far, order by a key": Case(
        window(frame(None, 0, ROWS), order=RID), bind(K, RID), None, ONE, ONE
    ),
    "window, lag": Case(
        window(frame(-1, -1, ROWS), order=RID, name="lag"), bind(K, RID), None, (False,), ONE
    ),
    "window, lead": Case(
        window(frame(1, 1, ROWS), order=RID, name="lead"), bind(K, RID), None, (False,), ONE
    ),
    "window, rows around": Case(
        window(frame(-1, 1, ROWS), order=RID), bind(K, RID), None, (False,), ONE
    ),
}

CASES = {**JOINS, **ROWWISE, **WINDOWS}


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_push_is_as_exact_as_the_predicate_allows(name: str, extra: int) -> None:
    case = CASES[name]
    outcomes = push(case.node, case.predicate, partial(prove, extra=extra), row=case.row)
    found = tuple(isinstance(outcome, Exact) for outcome in outcomes)
    assert found == case.exact[: len(children(case.node))], outcomes


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_reduce_leaves_out_what_it_can(name: str, extra: int) -> None:
    case = CASES[name]
    found = reduce(case.node, case.predicate, partial(prove, extra=extra))
    assert tuple(part != TRUE for part in found) == case.reduced[: len(found)], found
    assert FALSE not in found


# Broken twins: what a rule would push with one mistake, and the claim that must fail.

SMALL = Compare(Comparison.LT, K, Literal(3, "long"))
U_SMALL = Compare(Comparison.LT, UK, Literal(3, "long"))
BY_KEY = Aggregate(0, (K,), (Named(K.id, "k", K, "long"),), T)
PLAIN = {
    "filter": Case(Filter(0, eq(V, D), T), bind(K), None, ONE, ONE),
    "project": Case(Project(0, (Named(30, "k", K, "long"),), T), bind(col(30)), None, ONE, ONE),
    "aggregate": Case(BY_KEY, bind(K), None, ONE, ONE),
    "sort": Case(Sort(0, (), True, T), bind(K), None, ONE, ONE),
}
EVERY = {
    **PLAIN,
    "limit": CASES["limit, rid"],
    "offset": CASES["offset, rid"],
    "expand": CASES["expand"],
    "generate": CASES["explode, argument bound"],
    "window": CASES["window, running"],
    "union": CASES["union"],
    **{kind.value: Case(join(kind, eq(K, UK)), bind(K, UK)) for kind in (JoinKind.INNER, *OUTER)},
    **{kind.value: Case(join(kind, eq(K, UK)), bind(K)) for kind in (SEMI, ANTI, EXISTENCE)},
}


def claimed(case: Case, pushed: tuple[Expr, ...], input: int, claim: Claim) -> Obligation:
    inputs = children(case.node)
    return Obligation(
        case.node,
        case.predicate,
        pushed,
        input,
        claim,
        case.row is not None,
        claim is not Claim.REDUCES,
        tuple(keys(child) for child in inputs),
        tuple(tuple(sorted(present(child))) for child in inputs),
    )


def test_every_rule_and_kind_of_join_is_among_the_cases() -> None:
    assert {type(case.node) for case in EVERY.values()} == {kind for kind, _ in RULES}
    assert {c.node.kind for c in EVERY.values() if isinstance(c.node, Join)} == set(JoinKind)


@pytest.mark.parametrize("claim", Claim)
@pytest.mark.parametrize("name", EVERY)
def test_asking_for_more_or_for_less_is_refuted(name: str, claim: Claim) -> None:
    """Each rule's first mistakes: a conjunct too many loses rows, none at all takes too many."""
    case = EVERY[name]
    outcomes = push(case.node, case.predicate, prove)
    right = [o.predicate for o in outcomes if isinstance(o, Exact)]
    for input, pushed in enumerate(right):
        more = conj([pushed, (SMALL, U_SMALL)[input]])
        wrong = TRUE if claim is Claim.PRECISE else more
        if pushed == FALSE and claim is not Claim.PRECISE:
            continue  # nothing on the right is lineage of what an anti join hands on
        whole = tuple(wrong if i == input else p for i, p in enumerate(right))
        verdict = prove(claimed(case, whole, input, claim))
        assert isinstance(verdict, Refuted), (input, verdict)
        assert "input 0:" in verdict.counterexample and "anchor:" in verdict.counterexample


SAMPLED_BY_VALUE = Case(SAMPLE, bind(V))
A_K, A_UK, A_DAY = anchor(K), anchor(UK), anchor(DAY)
KEYS = bind(K, UK)
LINKED_LEFT, LINKED_RIGHT = eq(K, A_UK), eq(UK, A_K)


def both(kind: JoinKind) -> Case:
    return Case(join(kind, eq(K, UK)), KEYS)


def left_only(kind: JoinKind) -> Case:
    return Case(join(kind, eq(K, UK)), bind(K))


TWINS = {
    "left outer: only rows with a partner": (both(LEFT), 0, LINKED_LEFT, Claim.COVERS),
    "left outer: partners that the predicate rules out": (
        both(LEFT),
        1,
        same(UK, A_UK),
        Claim.REDUCES,
    ),
    "left outer: unmatched, yet rows of nulls on the right": (
        Case(join(LEFT, eq(K, UK)), bind(K, UV)),
        1,
        same(UV, anchor(UV)),
        Claim.PRECISE,
    ),
    "right outer: only rows with a partner": (both(RIGHT), 1, LINKED_RIGHT, Claim.COVERS),
    "right outer: partners dropped": (both(RIGHT), 0, same(K, A_K), Claim.REDUCES),
    "full outer: only rows with a partner, left": (both(FULL), 0, LINKED_LEFT, Claim.COVERS),
    "full outer: only rows with a partner, right": (both(FULL), 1, LINKED_RIGHT, Claim.COVERS),
    "full outer: partners dropped": (both(FULL), 0, same(K, A_K), Claim.REDUCES),
    "full outer: an unmatched row taken for any of nulls": (
        Case(join(FULL, eq(K, UK)), bind(K, V, UK, UV)),
        0,
        bind(K),
        Claim.PRECISE,
    ),
    "anti: an empty right side": (left_only(ANTI), 1, FALSE, Claim.REDUCES),
    "existence: an empty right side": (left_only(EXISTENCE), 1, FALSE, Claim.REPRODUCES),
    "existence: any one partner": (
        left_only(EXISTENCE),
        1,
        conj([LINKED_RIGHT, U_SMALL]),
        Claim.COVERS,
    ),
    "semi: an empty right side": (left_only(SEMI), 1, FALSE, Claim.REPRODUCES),
    "union: the other column": (
        CASES["union"],
        0,
        conj([same(V, Anchor(70, "long")), same(K, Anchor(71, "string"))]),
        Claim.COVERS,
    ),
    "union: a null column forgotten": (
        CASES["union"],
        1,
        same(UK, Anchor(70, "long")),
        Claim.PRECISE,
    ),
    "expand: one projection forgotten": (
        CASES["expand"],
        0,
        conj([same(K, Anchor(80, "long")), same(V, Anchor(81, "string"))]),
        Claim.COVERS,
    ),
    "expand: which projection forgotten": (
        CASES["expand"],
        0,
        same(K, Anchor(80, "long")),
        Claim.PRECISE,
    ),
    "generate: a generated value taken for the argument": (
        CASES["explode, argument bound"],
        0,
        eq(V, Anchor(91, "string")),
        Claim.COVERS,
    ),
    "window: the row alone": (CASES["window, running"], 0, bind(K, V, DAY), Claim.COVERS),
    "window: peers forgotten": (
        CASES["window, running"],
        0,
        conj([bind(K), disj([bind(V, DAY), Compare(Comparison.LT, DAY, A_DAY)])]),
        Claim.COVERS,
    ),
    "window: nulls first forgotten": (
        CASES["window, running"],
        0,
        conj([bind(K), disj([bind(DAY), Compare(Comparison.LT, DAY, A_DAY)])]),
        Claim.COVERS,
    ),
    "window: the wrong direction": (
        CASES["window, running"],
        0,
        conj([bind(K), Compare(Comparison.GE, DAY, A_DAY)]),
        Claim.COVERS,
    ),
    "window: the whole partition": (CASES["window, running"], 0, bind(K), Claim.PRECISE),
    "window: another partition": (
        CASES["window, whole partition"],
        0,
        TRUE,
        Claim.PRECISE,
    ),
    "window: null partitions apart": (
        CASES["window, whole partition"],
        0,
        eq(K, A_K),
        Claim.COVERS,
    ),
    "window: the frame alone, not the row": (
        CASES["window, days before"],
        0,
        conj([bind(K), Compare(Comparison.LT, DAY, A_DAY)]),
        Claim.COVERS,
    ),
    "window: a frame of rows taken for one of values": (
        CASES["window, lag"],
        0,
        conj([bind(K), disj([bind(RID), Compare(Comparison.LT, RID, anchor(RID))])]),
        Claim.PRECISE,
    ),
    "window: half a frame computed again": (
        CASES["window, running"],
        0,
        bind(K, DAY),
        Claim.REDUCES,
    ),
    "limit: computed over fewer rows": (CASES["limit, rid"], 0, bind(RID), Claim.REDUCES),
    "offset: computed over fewer rows": (CASES["offset, rid"], 0, bind(RID), Claim.REDUCES),
    "offset: gives its row again": (CASES["offset, rid"], 0, bind(RID), Claim.REPRODUCES),
    "sample: the values of the row": (SAMPLED_BY_VALUE, 0, bind(V), Claim.PRECISE),
}


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("name", TWINS)
def test_broken_twin_is_refuted(name: str, extra: int) -> None:
    case, input, wrong, claim = TWINS[name]
    pushed = tuple(wrong if i == input else TRUE for i in range(len(children(case.node))))
    verdict = prove(claimed(case, pushed, input, claim), extra=extra)
    assert isinstance(verdict, Refuted), verdict


@pytest.mark.parametrize("name", EVERY)
def test_an_output_row_has_lineage_in_the_inputs_said(name: str) -> None:
    """Held against the meaning of the operators: is there an output row made of no row of it?"""
    node = EVERY[name].node
    symbols = Symbols()
    tables = [
        [symbols.row(f"t{t}.{i}", i, [(f.id, f.type) for f in output(child)]) for i in range(2)]
        for t, child in enumerate(children(node))
    ]
    outputs = apply(node, tables, symbols)
    for input, always in enumerate(always_from(node)):
        solver = z3.Solver()
        solver.add(
            z3.Or([z3.And(o.row.exists, z3.Not(z3.Or(o.contributes[input]))) for o in outputs])
        )
        assert (solver.check() == z3.unsat) is always, input


def test_a_row_that_is_not_asked_for_has_no_lineage() -> None:
    """FALSE goes down as it is: what an anti join says of its right input."""
    for case in EVERY.values():
        inputs = children(case.node)
        assert push(case.node, FALSE, prove) == tuple(Exact(FALSE) for _ in inputs)


@pytest.mark.parametrize("unit", FrameUnit)
def test_a_superset_of_a_frame_of_rows_says_so(unit: FrameUnit) -> None:
    (outcome,) = push(window(frame(-1, 0, unit), order=D), bind(K, D), prove)
    assert isinstance(outcome, Superset)
    assert ("ROWS" in outcome.why and "ties" in outcome.why) is (unit is FrameUnit.ROWS)
