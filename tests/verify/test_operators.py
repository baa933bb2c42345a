"""Every way an operator can make rows is proven exact where the predicate tells enough, and reduced.

Each case says for every input what it expects: exact, or a superset; and whether `reduce` finds
something to leave out of the input.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pytest

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
    rid_field,
)
from lineage_core.pushdown import Exact, push, reduce
from lineage_core.verify import RememberingProver

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
# With no part of the condition bound, a side whose loss may leave a row without partner stays whole.
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
    "union, a rid that two rows may have": Case(
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
    "window, doubles": Case(window(frame(None, 0), order=D), bind(K, D), None, ONE, ONE),
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
    "window, partition not bound": Case(
        window(frame(None, 0)), bind(V, DAY), None, (False,), ONE
    ),
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
