"""What each rule proposes for each input, from most to least selective, as it would be by hand.

A rule that proposes less than these still gives right answers: the prover sees to that. It gives
supersets where lineage could be exact, or exact answers by a longer predicate.
"""

from __future__ import annotations

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
    DataType,
    Expr,
    Frame,
    FrameUnit,
    IsNull,
    Literal,
    Not,
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
    Plan,
    Project,
    Sort,
    SortKey,
    Union,
    Values,
    Window,
)
from lineage_core.pushdown.binding import bindings
from lineage_core.pushdown.rules import (
    push_aggregate,
    push_expand,
    push_filter,
    push_generate,
    push_join,
    push_order,
    push_project,
    push_union,
    push_window,
)

T = Values(0, (Field(0, "k", "long"), Field(1, "v", "string"), Field(2, "day", "date")))
U = Values(0, (Field(10, "k", "long"), Field(11, "v", "string"), Field(12, "n", "long")))
K, V, DAY = (Column(f.id, f.type) for f in T.columns)
UK, UV, UN = (Column(f.id, f.type) for f in U.columns)
TWICE = Call("add", (K, K), "long")
THREE = Literal(3, "long")


def a(column: Column) -> Anchor:
    return Anchor(column.id, column.type)


def col(id: int, type: DataType = "long") -> Column:
    return Column(id, type)


def eq(left: Expr, right: Expr) -> Expr:
    return Compare(Comparison.EQ, left, right)


def lt(left: Expr, right: Expr) -> Expr:
    return Compare(Comparison.LT, left, right)


def gt(left: Expr, right: Expr) -> Expr:
    return Compare(Comparison.GT, left, right)


def bind(*columns: Column) -> Expr:
    return conj(same(column, a(column)) for column in columns)


def opaque(*args: Expr) -> Expr:
    return Unknown("udf", args, "boolean", True)


def test_filter_adds_its_condition_as_far_as_it_can_be_computed() -> None:
    node = Filter(0, conj([lt(K, THREE), opaque(V)]), T)
    assert push_filter(node, bind(V)) == ((conj([bind(V), lt(K, THREE)]), bind(V), TRUE),)


def test_project_puts_expressions_in_the_place_of_columns() -> None:
    columns = (Named(30, "s", TWICE, "long"), Named(31, "u", opaque(K), "boolean"))
    pushed = push_project(Project(0, columns, T), bind(col(30), col(31, "boolean")))
    assert pushed == ((same(TWICE, a(col(30))), TRUE),)


def test_aggregate_keeps_what_is_said_of_grouping_values() -> None:
    total = AggregateCall("sum", (K,), "long", False, None)
    columns = (
        Named(30, "s", TWICE, "long"),
        Named(31, "u", opaque(K), "boolean"),
        Named(32, "t", total, "long"),
        Named(33, "m", Call("add", (TWICE, total), "long"), "long"),
    )
    node = Aggregate(0, (TWICE, opaque(K)), columns, T)
    asked = bind(col(30), col(31, "boolean"), col(32), col(33))
    pushed = push_aggregate(node, conj([asked, lt(col(30), col(32)), lt(col(30), a(col(32)))]))
    kept = conj([same(TWICE, a(col(30))), lt(TWICE, a(col(32)))])
    assert pushed == ((kept, TRUE),)


def test_generate_keeps_what_is_said_of_kept_columns() -> None:
    generator = Unknown("explode", (V,), "array", True)
    node = Generate(0, generator, False, T.columns, (Field(90, "e", "long"),), T)
    asked = conj([bind(K, DAY), same(col(90), a(col(90))), lt(K, col(90)), opaque(K)])
    assert push_generate(node, asked) == ((bind(K, DAY), TRUE),)


def test_union_names_the_columns_of_each_input_or_null() -> None:
    fields = (Field(70, "k", "long"), Field(71, "v", "string"))
    node = Union(0, fields, ((K.id, V.id), (UN.id, None)), (T, U))
    k, v = col(70), col(71, "string")
    left, right = push_union(node, conj([bind(k, v), opaque(k)]))
    assert left == (conj([same(K, a(k)), same(V, a(v))]), TRUE)
    assert right == (conj([same(UN, a(k)), same(Literal(None, "string"), a(v))]), TRUE)


def test_expand_asks_for_one_of_the_projections() -> None:
    zero, one, null = Literal(0, "long"), Literal(1, "long"), Literal(None, "string")
    fields = (Field(80, "k", "long"), Field(81, "v", "string"), Field(82, "gid", "long"))
    k, v, gid = col(80), col(81, "string"), col(82)
    node = Expand(0, ((K, V, zero), (K, null, one), (K, opaque(V), one)), fields, T)
    common = same(K, a(k))
    ways = disj(
        [
            conj([same(V, a(v)), same(zero, a(gid))]),
            conj([same(null, a(v)), same(one, a(gid))]),
            same(one, a(gid)),
        ]
    )
    assert push_expand(node, bind(k, v, gid)) == ((conj([common, ways]), common, TRUE),)
    two = Expand(0, ((K, V, zero), (K, V, one), (K, null, one)), fields, T)
    (found,) = push_expand(two, bind(k, v))
    ways = disj([same(V, a(v)), same(null, a(v))])
    assert found == (conj([common, ways]), common, TRUE)


def test_expand_asks_for_all_that_the_projections_have_in_common() -> None:
    zero, one = Literal(0, "long"), Literal(1, "long")
    fields = (Field(80, "k", "long"), Field(81, "v", "string"), Field(82, "gid", "long"))
    k, v, gid = col(80), col(81, "string"), col(82)
    node = Expand(0, ((K, V, zero), (K, V, one)), fields, T)
    common = conj([same(K, a(k)), same(V, a(v))])
    either = disj([same(zero, a(gid)), same(one, a(gid))])
    assert push_expand(node, bind(k, v, gid)) == ((conj([common, either]), common, TRUE),)


@pytest.mark.parametrize("node", [Sort(0, (), True, T), Limit(0, 3, T)])
def test_order_hands_the_predicate_on(node: Sort | Limit) -> None:
    assert push_order(node, bind(V)) == ((bind(V), TRUE),)


def test_bindings_are_equalities_with_the_anchor_on_either_side() -> None:
    parts = [
        same(K, a(V)),
        eq(a(K), V),
        eq(DAY, a(DAY)),
        same(a(UK), UK),
        lt(UV, a(UV)),
        same(UN, THREE),
        eq(K, a(K)),
    ]
    assert bindings(parts) == {K.id: a(V), V.id: a(K), DAY.id: a(DAY), UK.id: a(UK)}


# Joins


def join(kind: JoinKind, *condition: Expr) -> Join:
    exists = Field(40, "exists", "boolean") if kind is JoinKind.EXISTENCE else None
    return Join(0, kind, conj(condition), T, U, exists)


ON = eq(K, UK)
BAND = lt(V, UV)
ASKED = conj([bind(K, V, UV), lt(K, UN), opaque(K), lt(a(K), THREE)])
"""About each side, about both, about neither, and one that cannot be computed."""


def test_inner_join_carries_the_condition_over() -> None:
    left, right = push_join(join(JoinKind.INNER, ON, BAND, opaque(K)), ASKED)
    mine = bind(K, V)
    assert left == (conj([bind(V), eq(K, a(K)), lt(V, a(UV))]), mine, TRUE)
    assert right == (conj([bind(UV), eq(UK, a(K)), lt(a(V), UV), lt(a(K), UN)]), bind(UV), TRUE)


def test_inner_join_on_null_safe_equality_keeps_it() -> None:
    left, right = push_join(join(JoinKind.INNER, same(UK, K)), bind(K, V))
    assert left == (bind(K, V), bind(K, V), TRUE)
    assert right == (same(UK, a(K)), TRUE, TRUE)


Z, Y = col(3), col(4, "integer")
OTHER = Values(0, (Field(0, "k", "long"), Field(3, "z", "long"), Field(4, "y", "integer")))


def test_inner_join_follows_equalities_through_both_sides() -> None:
    condition = conj([ON, same(UN, Z), eq(UN, UK), lt(Z, UK), eq(Z, THREE), eq(THREE, UN)])
    left, right = push_join(Join(0, JoinKind.INNER, condition, OTHER, U), bind(Z))
    bound = [bind(Z), eq(K, a(Z)), lt(Z, a(Z)), eq(Z, THREE)]
    assert left == (conj(bound), bind(Z), TRUE)
    bound = [eq(UK, a(Z)), same(UN, a(Z)), eq(UN, UK), lt(a(Z), UK), eq(THREE, UN)]
    assert right == (conj(bound), TRUE, TRUE)


def test_inner_join_follows_no_comparison_but_equality() -> None:
    condition = conj([lt(K, UK), eq(TWICE, UN)])
    left, right = push_join(join(JoinKind.INNER, condition), bind(K))
    assert left == (bind(K), bind(K), TRUE)
    assert right == (conj([lt(a(K), UK), eq(Call("add", (a(K), a(K)), "long"), UN)]), TRUE, TRUE)


def test_inner_join_follows_no_equality_of_unlike_types() -> None:
    """Equal values of other types need not be the same value."""
    left, right = push_join(Join(0, JoinKind.INNER, eq(UK, Y), OTHER, U), bind(Y))
    assert left == (bind(Y), bind(Y), TRUE)
    assert right == (eq(UK, a(Y)), TRUE, TRUE)


def test_semi_join_pairs_rows_as_an_inner_join_does() -> None:
    left, right = push_join(join(JoinKind.LEFT_SEMI, ON, BAND), bind(K, V))
    assert left == (conj([bind(V), eq(K, a(K))]), bind(K, V), TRUE)
    assert right == (conj([eq(UK, a(K)), lt(a(V), UV)]), TRUE, TRUE)


PAIR = conj([bind(K, V, UV, UN), gt(V, UV)])
KEPT_LEFT = (
    conj([bind(K, V), gt(V, a(UV))]),
    conj(
        [
            conj([bind(K, V), gt(V, a(UV))]),
            disj([eq(K, a(K)), conj([IsNull(a(UV)), IsNull(a(UN))])]),
        ]
    ),
    bind(K, V),
    disj([conj([bind(K, V), gt(V, a(UV))]), eq(K, a(K))]),
    TRUE,
)
KEPT_RIGHT = (
    conj([bind(UV, UN), gt(a(V), UV)]),
    conj(
        [
            conj([bind(UV, UN), gt(a(V), UV)]),
            disj([eq(a(K), UK), conj([IsNull(a(K)), IsNull(a(V))])]),
        ]
    ),
    bind(UV, UN),
    disj([conj([bind(UV, UN), gt(a(V), UV)]), eq(a(K), UK)]),
    TRUE,
)
PAIRED_LEFT = (
    TRUE,
    conj([bind(K, V), gt(V, a(UV))]),
    bind(K, V),
    TRUE,
)
PAIRED_RIGHT = (
    eq(a(K), UK),
    conj([bind(UV, UN), eq(UK, a(K)), gt(a(V), UV)]),
    bind(UV, UN),
    TRUE,
)


def test_left_outer_join_leaves_left_rows_a_way_out() -> None:
    assert push_join(join(JoinKind.LEFT_OUTER, ON), PAIR) == (KEPT_LEFT, PAIRED_RIGHT)


def test_full_outer_join_leaves_both_sides_a_way_out() -> None:
    assert push_join(join(JoinKind.FULL_OUTER, ON), PAIR) == (KEPT_LEFT, KEPT_RIGHT)


def test_right_outer_join_leaves_right_rows_a_way_out() -> None:
    left, right = push_join(join(JoinKind.RIGHT_OUTER, ON), PAIR)
    assert right == KEPT_RIGHT
    assert left == (
        eq(K, a(K)),
        conj([bind(V), eq(K, a(K)), gt(V, a(UV))]),
        bind(K, V),
        TRUE,
    )


def test_outer_joins_take_the_whole_condition() -> None:
    left, right = push_join(join(JoinKind.LEFT_OUTER, ON, BAND), PAIR)
    mine, linked = KEPT_LEFT[0], conj([eq(K, a(K)), lt(V, a(UV))])
    absent = conj([IsNull(a(UV)), IsNull(a(UN))])
    assert left[1] == conj([mine, disj([linked, absent])])
    assert left[3] == disj([mine, linked])
    assert right[0] == conj([eq(a(K), UK), lt(a(V), UV)])


def test_a_side_of_one_column_is_a_side() -> None:
    one = Values(0, (Field(10, "k", "long"),))
    left, right = push_join(Join(0, JoinKind.INNER, ON, T, one), bind(K, UK))
    assert left == (conj([bind(K), eq(K, a(UK))]), bind(K), TRUE)
    assert right == (conj([bind(UK), eq(UK, a(K))]), bind(UK), TRUE)


def test_existence_and_anti_joins_keep_every_left_row() -> None:
    kept = (bind(K), conj([bind(K), TRUE]), bind(K), disj([bind(K), eq(K, a(K))]), TRUE)
    found = (eq(a(K), UK), eq(UK, a(K)), TRUE, TRUE)
    assert push_join(join(JoinKind.EXISTENCE, ON), bind(K)) == (kept, found)
    assert push_join(join(JoinKind.LEFT_ANTI, ON), bind(K)) == (kept, (FALSE, *found))


# Windows


def bound(value: int | None, type: DataType = "integer") -> Literal | None:
    return None if value is None else Literal(value, type)


def window(
    *frames: tuple[int | None, int | None],
    unit: FrameUnit = FrameUnit.RANGE,
    order: tuple[SortKey, ...] = (SortKey(DAY, True, True),),
    name: str = "sum",
    type: DataType = "integer",
) -> Window:
    made = tuple(Frame(unit, bound(lower, type), bound(upper, type)) for lower, upper in frames)
    columns = tuple(
        Named(50 + i, "w", WindowCall(name, (V,), "long", frame), "long")
        for i, frame in enumerate(made)
    )
    return Window(0, (K,), order, columns, T)


ROW = bind(K, V, DAY)
P = bind(K)
NULL_BEFORE = conj([IsNull(DAY), Not(IsNull(a(DAY)))])
NULL_AFTER = conj([IsNull(a(DAY)), Not(IsNull(DAY))])
UP_TO = disj([lt(DAY, a(DAY)), NULL_BEFORE, bind(DAY)])
FROM = disj([gt(DAY, a(DAY)), NULL_AFTER, bind(DAY)])


def within(seen: Expr) -> tuple[tuple[Expr, ...]]:
    """What is asked for where every frame has its row in it."""
    return ((conj([P, seen]), P, TRUE),)


def shifted(name: str, distance: int, *, nulls: Expr, less: bool) -> Expr:
    moved = Call(name, (a(DAY), Literal(distance, "integer")), "date")
    compared = (lt if less else gt)(DAY, moved)
    first = {FIRST: conj([IsNull(DAY), Not(IsNull(moved))])}
    later = conj([IsNull(moved), Not(IsNull(DAY))])
    return disj([compared, first.get(nulls, later), same(DAY, moved)])


FIRST, LAST = NULL_BEFORE, NULL_AFTER

FRAMES: dict[str, tuple[Plan, tuple[tuple[Expr, ...]]]] = {
    "whole": (window((None, None)), within(TRUE)),
    "running": (window((None, 0)), within(UP_TO)),
    "remaining": (window((0, None)), within(FROM)),
    "peers": (window((0, 0)), within(conj([FROM, UP_TO]))),
    "days around": (
        window((-3, 2)),
        within(
            conj(
                [
                    shifted("date_add", -3, nulls=LAST, less=False),
                    shifted("date_add", 2, nulls=FIRST, less=True),
                ]
            )
        ),
    ),
    "days around, descending, nulls last": (
        window((-3, 2), order=(SortKey(DAY, False, False),)),
        within(
            conj(
                [
                    shifted("date_sub", -3, nulls=FIRST, less=True),
                    shifted("date_sub", 2, nulls=LAST, less=False),
                ]
            )
        ),
    ),
    "days around, nulls last": (
        window((-3, 2), order=(SortKey(DAY, True, False),)),
        within(
            conj(
                [
                    shifted("date_add", -3, nulls=FIRST, less=False),
                    shifted("date_add", 2, nulls=LAST, less=True),
                ]
            )
        ),
    ),
    "intervals, which no engine steps to alike": (window((-3, 0), type="double"), within(UP_TO)),
    "days before": (
        window((-3, -1)),
        (
            (
                disj(
                    [
                        ROW,
                        conj(
                            [
                                P,
                                shifted("date_add", -3, nulls=LAST, less=False),
                                shifted("date_add", -1, nulls=FIRST, less=True),
                            ]
                        ),
                    ]
                ),
                disj([ROW, P]),
                TRUE,
            ),
        ),
    ),
    "two frames": (
        window((None, 0), (0, None)),
        within(disj([UP_TO, FROM])),
    ),
    "rows so far": (window((None, 0), unit=FrameUnit.ROWS), within(UP_TO)),
    "rows remaining": (window((0, None), unit=FrameUnit.ROWS), within(FROM)),
    "rows around": (window((-1, 1), unit=FrameUnit.ROWS), within(TRUE)),
    "lag": (
        window((-1, -1), unit=FrameUnit.ROWS),
        within(UP_TO),
    ),
    "rows later, or earlier": (
        window((1, 3), (-3, -1), unit=FrameUnit.ROWS),
        within(disj([FROM, UP_TO])),
    ),
    "lead": (window((1, 1), unit=FrameUnit.ROWS), within(FROM)),
    **{
        name: (window((None, 0), unit=FrameUnit.ROWS, name=name), within(UP_TO))
        for name in ("row_number", "rank", "dense_rank")
    },
    **{
        name: (window((None, 0), unit=FrameUnit.ROWS, name=name), within(TRUE))
        for name in ("percent_rank", "cume_dist", "ntile")
    },
}


@pytest.mark.parametrize("name", FRAMES)
def test_window_asks_for_the_frames(name: str) -> None:
    node, expected = FRAMES[name]
    assert isinstance(node, Window)
    made = bind(*(col(column.id) for column in node.columns))
    assert push_window(node, conj([ROW, made, opaque(K)])) == expected


def test_window_asks_for_the_row_apart_only_where_no_frame_has_it() -> None:
    later = disj([shifted("date_add", 1, nulls=LAST, less=False)])
    node = window((1, None), (None, 0))
    assert push_window(node, ROW) == within(disj([later, UP_TO]))
    alone = push_window(window((1, None)), ROW)
    assert alone == ((disj([ROW, conj([P, later])]), disj([ROW, P]), TRUE),)
    earlier = shifted("date_add", -1, nulls=FIRST, less=True)
    (found,) = push_window(window((1, None), (None, -1)), ROW)
    assert found[0] == disj([ROW, conj([P, disj([later, earlier])])])


@pytest.mark.parametrize("distance", ["byte", "short", "integer", "long", "double"])
@pytest.mark.parametrize("type", ["byte", "short", "integer", "long", "double"])
@pytest.mark.parametrize(("ascending", "name"), [(True, "add"), (False, "subtract")])
def test_window_steps_between_whole_numbers_only(
    type: DataType, distance: DataType, ascending: bool, name: str
) -> None:
    key = col(2, type)
    node = window((-3, None), order=(SortKey(key, ascending, False),), type=distance)
    (found,) = push_window(node, conj([P, bind(key)]))
    moved = Call(name, (a(key), Literal(-3, distance)), type)
    beyond = (gt if ascending else lt)(key, moved)
    seen = disj([beyond, conj([IsNull(key), Not(IsNull(moved))]), same(key, moved)])
    assert found == ((P if "double" in (type, distance) else conj([P, seen])), P, TRUE)


def test_window_compares_order_values_one_after_the_other() -> None:
    node = window((None, 0), order=(SortKey(DAY, False, False), SortKey(V, True, True)))
    first = disj([gt(DAY, a(DAY)), NULL_AFTER])
    second = disj([lt(V, a(V)), conj([IsNull(V), Not(IsNull(a(V)))])])
    up_to = disj([first, conj([bind(DAY), second]), bind(DAY, V)])
    assert push_window(node, ROW) == within(up_to)


@pytest.mark.parametrize(
    "order",
    [
        (SortKey(DAY, True, True), SortKey(V, True, True)),  # half of it is not bound
        (SortKey(opaque(K), True, True),),
        (SortKey(V, True, True),),
    ],
)
def test_window_asks_for_the_partition_where_the_order_is_not_told(
    order: tuple[SortKey, ...],
) -> None:
    assert push_window(window((None, 0), order=order), bind(K, DAY)) == within(TRUE)


def test_window_asks_for_what_is_known_of_the_partition() -> None:
    keys = (K, TWICE, opaque(K), V, Call("add", (K, UK), "long"))
    node = Window(0, keys, (), window((None, None)).columns, T)
    known = conj([P, same(TWICE, Call("add", (a(K), a(K)), "long"))])
    assert push_window(node, conj([P, lt(V, a(V))])) == ((known, known, TRUE),)
