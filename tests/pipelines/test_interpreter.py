"""The oracle itself, held against what Spark and PredTrace's Table 2 say, by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import pytest

from lineage_core.plan.expr import (
    AggregateCall,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    Frame,
    FrameUnit,
    IsIn,
    Literal,
    Not,
    Unknown,
    WindowCall,
    conj,
    disj,
)
from lineage_core.plan.relation import (
    Aggregate,
    Field,
    Generate,
    Join,
    JoinKind,
    Limit,
    Named,
    Plan,
    Scan,
    Sort,
    SortKey,
    Union,
    Window,
)
from tests.pipelines.interpreter import Interpreter, Row, Table
from tests.pipelines.values import Value, evaluate

NULL = Literal(None, "boolean")
YES, NO = Literal(True, "boolean"), Literal(False, "boolean")
NAN = Literal(math.nan, "double")
LEFT = Scan(0, 0, "l", (Field(1, "a", "long"), Field(2, "b", "long")))
RIGHT = Scan(1, 1, "r", (Field(3, "a", "long"), Field(4, "b", "long")))
TABLES = (
    Table("l", (("a", "long"), ("b", "long")), {0: (1, 10), 1: (2, 20), 2: (None, 30), 3: (2, 40)}),
    Table("r", (("a", "long"), ("b", "long")), {0: (2, 1), 1: (2, 2), 2: (None, 3), 3: (5, 4)}),
)
A, B, C = (Column(id, "long") for id in (1, 2, 3))


def run(plan: Plan) -> list[Row]:
    return Interpreter(TABLES, {}).run(plan)


def made(rows: Sequence[Row], *ids: int) -> set[tuple[Value, ...]]:
    """Return of each row the values of `ids` and the rids of the left and the right table."""
    return {
        (*(row.values[id] for id in ids), *(tuple(sorted(row.lineage.get(s, ()))) for s in (0, 1)))
        for row in rows
    }


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (conj([NULL, NO]), False),
        (disj([NULL, YES]), True),
        (Not(NULL), None),
        (Compare(Comparison.EQ, NAN, NAN), True),
        (Compare(Comparison.GT, NAN, Literal(math.inf, "double")), True),
        (Compare(Comparison.EQ, Literal(0.0, "double"), Literal(-0.0, "double")), True),
        (Compare(Comparison.EQ, NULL, NULL), None),
        (Compare(Comparison.SAME, NULL, NULL), True),
        (IsIn(Literal(1, "long"), (Literal(2, "long"), Literal(None, "long"))), None),
        (Call("greatest", (Literal(None, "double"), NAN, Literal(1.0, "double")), "double"), NAN),
        (Call("remainder", (Literal(-3, "long"), Literal(2, "long")), "long"), -1),
        (Call("case_when", (NULL, Literal(1, "long"), Literal(2, "long")), "long"), 2),
    ],
)
def test_expressions_have_the_values_of_spark(expr: Expr, value: Value) -> None:
    wanted = value.value if isinstance(value, Literal) else value
    assert evaluate(expr, {}) is wanted or evaluate(expr, {}) == wanted


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (JoinKind.INNER, {(2, 2, (left,), (right,)) for left in (1, 3) for right in (0, 1)}),
        (JoinKind.LEFT_SEMI, {(2, None, (1,), (0, 1)), (2, None, (3,), (0, 1))}),
        (JoinKind.LEFT_ANTI, {(1, None, (0,), ()), (None, None, (2,), ())}),
    ],
)
def test_joins(kind: JoinKind, rows: set[tuple[Value, ...]]) -> None:
    found = run(Join(2, kind, Compare(Comparison.EQ, A, C), LEFT, RIGHT))
    both = [Row({3: None, **row.values}, row.lineage) for row in found]
    assert made(both, 1, 3) == rows


def test_outer_and_existence_joins() -> None:
    equal = Compare(Comparison.EQ, A, C)
    alone = {(1, None, (0,), ()), (None, None, (2,), ())}
    strangers = {(None, 3, (), (2,)), (None, 4, (), (3,))}
    left = made(run(Join(2, JoinKind.LEFT_OUTER, equal, LEFT, RIGHT)), 1, 4)
    right = made(run(Join(2, JoinKind.RIGHT_OUTER, equal, LEFT, RIGHT)), 1, 4)
    assert alone <= left and strangers <= right
    assert len(left) == len(right) == 6
    assert made(run(Join(2, JoinKind.FULL_OUTER, equal, LEFT, RIGHT)), 1, 4) == left | right
    exists = Field(9, "exists", "boolean")
    found = made(run(Join(2, JoinKind.EXISTENCE, equal, LEFT, RIGHT, exists)), 2, 9)
    assert (10, False, (0,), ()) in found and (20, True, (1,), (0, 1)) in found


def test_a_group_is_made_from_all_its_rows_whatever_is_filtered() -> None:
    only = Compare(Comparison.GT, B, Literal(25, "long"))
    calls = [
        AggregateCall("count", (A,), "long", False, only),
        AggregateCall("sum", (B,), "long", False, None),
    ]
    columns = tuple(Named(5 + i, "x", call, "long") for i, call in enumerate(calls))
    found = run(Aggregate(2, (A,), (Named(1, "a", A, "long"), *columns), LEFT))
    assert made(found, 1, 5, 6) == {
        (1, 0, 10, (0,), ()),
        (2, 1, 60, (1, 3), ()),
        (None, 0, 30, (2,), ()),
    }


def test_without_keys_nothing_makes_one_row() -> None:
    none = Limit(2, 0, LEFT)
    call = AggregateCall("max", (A,), "long", False, None)
    assert made(run(Aggregate(3, (), (Named(5, "m", call, "long"),), none)), 5) == {(None, (), ())}


Made: TypeAlias = set[tuple[Value, ...]]


def windowed(name: str, frame: Frame, *args: Expr, ascending: bool = True) -> Made:
    """Return `name` over the left table ordered by column a."""
    call = WindowCall(name, args, "long", frame)
    keys = [SortKey(A, ascending, True), SortKey(B, True, True)]
    order = tuple(keys if frame.unit is FrameUnit.ROWS else keys[:1])
    return made(run(Window(2, (), order, (Named(5, "w", call, "long"),), LEFT)), 2, 5)


def rows(lower: int | None, upper: int | None, unit: FrameUnit = FrameUnit.ROWS) -> Frame:
    bounds = (None if b is None else Literal(b, "long") for b in (lower, upper))
    return Frame(unit, *bounds)


def test_windows_see_their_frames() -> None:
    # in order of (a, b): row 2 (null), row 0 (1), row 1 (2), row 3 (2)
    assert windowed("row_number", rows(None, 0)) == {
        (30, 1, (2,), ()), (10, 2, (0, 2), ()), (20, 3, (0, 1, 2), ()), (40, 4, (0, 1, 2, 3), ()),
    }  # fmt: skip
    assert windowed("lag", rows(-2, -2), B, Literal(2, "long"), Literal(7, "long")) == {
        (30, 7, (2,), ()), (10, 7, (0,), ()), (20, 30, (1, 2), ()), (40, 10, (0, 3), ()),
    }  # fmt: skip
    assert windowed("sum", rows(1, 2), B) == {
        (30, 30, (0, 1, 2), ()), (10, 60, (0, 1, 3), ()), (20, 40, (1, 3), ()),
        (40, None, (3,), ()),
    }  # fmt: skip
    assert windowed("sum", rows(-1, 0, FrameUnit.RANGE), B) == {
        (30, 30, (2,), ()), (10, 10, (0,), ()), (20, 70, (0, 1, 3), ()), (40, 70, (0, 1, 3), ()),
    }  # fmt: skip
    assert windowed("sum", rows(-1, 0, FrameUnit.RANGE), B, ascending=False) == {
        (30, 30, (2,), ()), (10, 70, (0, 1, 3), ()), (20, 60, (1, 3), ()), (40, 60, (1, 3), ()),
    }  # fmt: skip


def test_ranks_see_the_rows_up_to_their_peers() -> None:
    order = (SortKey(A, True, False),)
    ranks = tuple(
        Named(5 + i, name, WindowCall(name, (), "integer", rows(None, 0)), "integer")
        for i, name in enumerate(("rank", "dense_rank"))
    )
    found = run(Window(2, (), order, ranks, LEFT))
    assert made(found, 2, 5, 6) == {
        (10, 1, 1, (0,), ()), (20, 2, 2, (0, 1, 3), ()), (40, 2, 2, (0, 1, 3), ()),
        (30, 4, 3, (0, 1, 2, 3), ()),
    }  # fmt: skip


def test_unions_and_generators_keep_the_row() -> None:
    union = Union(2, (Field(5, "u", "long"),), ((1,), (None,)), (LEFT, RIGHT))
    found = made(run(union), 5)
    assert (1, (0,), ()) in found and (None, (), (3,)) in found and len(found) == 8
    times = Unknown("replicate_rows", (A, B), "array", True)
    made_rows = run(Generate(2, times, True, (), (Field(6, "g", "long"),), LEFT))
    assert [row.values[6] for row in made_rows] == [10, 20, 20, None, 40, 40]


def test_what_chance_decides_is_noticed() -> None:
    def tied(keys: tuple[SortKey, ...], count: int) -> bool:
        interpreter = Interpreter(TABLES, {})
        interpreter.run(Limit(3, count, Sort(2, keys, True, LEFT)))
        return interpreter.tied

    peers = (SortKey(A, True, True),)
    assert [tied(peers, count) for count in range(5)] == [False, False, False, True, False]
    assert not any(tied((*peers, SortKey(B, True, True)), count) for count in range(5))
