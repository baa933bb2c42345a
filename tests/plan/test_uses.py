"""Column lineage by operator, and that it is silent where nothing is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    Frame,
    FrameUnit,
    IsNull,
    Literal,
    Not,
    Or,
    Unknown,
    WindowCall,
    conj,
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
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    Union,
    Values,
    Window,
)
from lineage_core.plan.uses import Role, Use, column_lineage, column_roles

A, B, C = (Column(i, "long") for i in (1, 2, 3))
ONE = Literal(1, "long")
SCAN = Scan(9, 0, "t", tuple(Field(i, name, "long") for i, name in ((1, "a"), (2, "b"), (3, "c"))))


def call(name: str, *args: Expr) -> Call:
    return Call(name, args, "long")


def agg(arg: Expr, filter: Expr | None = None) -> AggregateCall:
    return AggregateCall("sum", (arg,), "long", False, filter)


def positive(arg: Expr) -> Compare:
    return Compare(Comparison.GT, arg, ONE)


def project(expr: Expr, child: Plan = SCAN) -> Project:
    return Project(1, (Named(20, "x", expr, "long"),), child)


def uses(*pairs: tuple[str, Role]) -> tuple[Use, ...]:
    return tuple(sorted(Use(0, 9, column, role) for column, role in pairs))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (A, [("a", Role.VALUE)]),
        (call("add", A, B), [("a", Role.TRANSFORMED), ("b", Role.TRANSFORMED)]),
        (call("cast", A), [("a", Role.TRANSFORMED)]),
        (Unknown("udf", (A,), "long", False), [("a", Role.TRANSFORMED)]),
        (ONE, []),
        (
            call("case_when", positive(A), B, ONE),
            [("a", Role.CONDITIONAL), ("b", Role.TRANSFORMED)],
        ),
        (
            call("case_when", positive(A), ONE, positive(B), ONE, C),
            [("a", Role.CONDITIONAL), ("b", Role.CONDITIONAL), ("c", Role.TRANSFORMED)],
        ),
        (
            call("case_when", positive(A), A, ONE),
            [("a", Role.CONDITIONAL), ("a", Role.TRANSFORMED)],
        ),
    ],
)
def test_what_a_computed_column_is_made_of(expr: Expr, expected: list[tuple[str, Role]]) -> None:
    found = column_lineage(project(expr))
    assert found.columns == (("x", uses(*expected)),)
    assert (found.rows, found.unknown) == ((), ())


def test_the_strongest_use_goes_through_a_chain() -> None:
    summed = Aggregate(2, (B,), (Named(10, "s", agg(A), "long"), Named(2, "b", B, "long")), SCAN)
    shown = Project(
        1,
        (Named(11, "y", call("add", Column(10, "long"), ONE), "long"), Named(2, "b", B, "long")),
        summed,
    )
    found = column_lineage(shown)
    assert dict(found.columns) == {
        "y": uses(("a", Role.AGGREGATED)),
        "b": uses(("b", Role.VALUE)),
    }
    assert found.rows == uses(("b", Role.GROUP))


def test_a_having_filters_by_what_was_aggregated() -> None:
    summed = Aggregate(2, (B,), (Named(10, "s", agg(A), "long"),), SCAN)
    found = column_lineage(Filter(1, positive(Column(10, "long")), summed))
    assert found.rows == uses(("a", Role.FILTER), ("b", Role.GROUP))


def test_a_filter_clause_of_an_aggregate_is_a_condition() -> None:
    found = column_lineage(Aggregate(1, (), (Named(10, "s", agg(A, positive(B)), "long"),), SCAN))
    assert dict(found.columns) == {"s": uses(("a", Role.AGGREGATED), ("b", Role.CONDITIONAL))}


def test_sort_limit_and_values() -> None:
    plan = Limit(1, 5, Sort(2, (SortKey(A, True, True),), True, SCAN))
    assert column_lineage(plan).rows == uses(("a", Role.SORT))
    assert column_lineage(Values(1, (Field(1, "a", "long"),))).columns == (("a", ()),)


def test_both_sides_of_a_join_of_two_sources() -> None:
    other = Scan(8, 1, "u", (Field(4, "d", "long"),))
    matches = Compare(Comparison.EQ, A, Column(4, "long"))
    found = column_lineage(Join(1, JoinKind.INNER, matches, SCAN, other))
    assert dict(found.columns)["d"] == (Use(1, 8, "d", Role.VALUE),)
    assert found.rows == (Use(0, 9, "a", Role.JOIN), Use(1, 8, "d", Role.JOIN))


def test_nothing_is_claimed_about_what_went_through_an_opaque_operator() -> None:
    opaque = Opaque(2, "Map", "user code", (Field(1, "a", "long"), Field(5, "w", "long")), (SCAN,))
    shown = Project(
        1,
        (Named(6, "x", call("add", Column(5, "long"), ONE), "long"), Named(7, "one", ONE, "long")),
        opaque,
    )
    found = column_lineage(shown)
    assert found.unknown == ("x",)
    assert found.columns == (("one", ()),)
    assert found.rows == uses(("a", Role.UNKNOWN), ("b", Role.UNKNOWN), ("c", Role.UNKNOWN))


def test_what_an_opaque_operator_does_not_read_is_not_unknown() -> None:
    narrow = Filter(3, positive(B), project(A))
    opaque = Opaque(2, "Map", "user code", (Field(1, "a", "long"),), (narrow,))
    assert column_roles(Filter(1, positive(A), opaque)) == {9: {"a": {Role.UNKNOWN}}}


def test_a_column_made_of_known_and_unknown_ones_still_uses_the_known() -> None:
    opaque = Opaque(3, "Rdd", "no plan", (Field(5, "w", "long"),), ())
    both = Join(2, JoinKind.INNER, TRUE, SCAN, opaque)
    shown = project(call("add", A, Column(5, "long")), both)
    assert column_lineage(shown).unknown == ("x",)
    assert column_roles(shown) == {9: {"a": {Role.TRANSFORMED}}}


def test_an_id_is_not_mixed_up_when_a_projection_swaps_columns() -> None:
    swapped = Project(1, (Named(1, "a", B, "long"), Named(2, "b", A, "long")), SCAN)
    assert dict(column_lineage(swapped).columns) == {
        "a": uses(("b", Role.VALUE)),
        "b": uses(("a", Role.VALUE)),
    }


def test_depth_is_no_recursion_error() -> None:
    expr: Expr = A
    for _ in range(5000):
        expr = call("add", expr, ONE)
    plan: Plan = project(expr)
    for at in range(3000):
        plan = Limit(at, 1, plan)
    assert column_lineage(plan).columns == (("x", uses(("a", Role.TRANSFORMED))),)


OTHER = Scan(8, 1, "u", (Field(4, "d", "long"), Field(5, "e", "long")))
D, E = Column(4, "long"), Column(5, "long")
A_IS_D = Compare(Comparison.EQ, A, D)
EXISTS = Field(30, "exists", "boolean")


def roles(plan: Plan) -> dict[int, dict[str, str]]:
    """Return the roles of the columns by place of their scan, each in words."""
    return {
        at: {name: " ".join(sorted(found)) for name, found in columns.items()}
        for at, columns in column_roles(plan).items()
    }


def picked(plan: Plan, *columns: Column) -> Project:
    """Return `plan` with only these columns."""
    return Project(0, tuple(Named(c.id, f"c{c.id}", c, c.type) for c in columns), plan)


def present(column: Column) -> Expr:
    return Not(IsNull(column))


@pytest.mark.parametrize("kind", [k for k in JoinKind if k.pairs])
def test_a_join_hands_on_values_and_uses_its_condition(kind: JoinKind) -> None:
    plan = picked(Join(1, kind, A_IS_D, SCAN, Filter(2, positive(E), OTHER)), B, D)
    assert roles(plan) == {9: {"a": "join", "b": "value"}, 8: {"d": "join value", "e": "filter"}}


@pytest.mark.parametrize("kind", [JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI])
def test_a_join_that_only_asks_for_partners(kind: JoinKind) -> None:
    equal: Expr = A_IS_D if kind is JoinKind.LEFT_SEMI else Or((A_IS_D, IsNull(A_IS_D)))
    plan = picked(Join(1, kind, equal, SCAN, Filter(2, positive(E), OTHER)), B)
    assert roles(plan) == {9: {"a": "join", "b": "value"}, 8: {"d": "join", "e": "filter"}}


def existence() -> Join:
    right = Filter(2, positive(E), OTHER)
    return Join(1, JoinKind.EXISTENCE, A_IS_D, SCAN, right, EXISTS)


def test_an_existence_column_is_made_of_what_decides_about_partners() -> None:
    shown = picked(existence(), B, Column(30, "boolean"))
    found = column_lineage(shown)
    assert found.rows == ()
    assert dict(found.columns)["c30"] == (
        Use(0, 9, "a", Role.JOIN),
        Use(1, 8, "d", Role.JOIN),
        Use(1, 8, "e", Role.FILTER),
    )


def test_a_filter_by_existence_filters_by_what_was_joined() -> None:
    asked = Or((Column(30, "boolean"), positive(C)))
    plan = picked(Filter(0, asked, existence()), B)
    assert roles(plan) == {
        9: {"a": "filter join", "b": "value", "c": "filter"},
        8: {"d": "filter join", "e": "filter"},
    }


def test_existence_nobody_asks_for_has_no_role() -> None:
    assert roles(picked(existence(), B)) == {9: {"b": "value"}, 8: {}}


def subquery() -> Join:
    """Each row with `max(e)` of the other table where `d` is positive."""
    call = AggregateCall("max", (E,), "long", False, None)
    greatest = Aggregate(2, (), (Named(31, "m", call, "long"),), Filter(3, positive(D), OTHER))
    return Join(1, JoinKind.LEFT_OUTER, TRUE, SCAN, greatest)


def test_a_scalar_subquery_is_a_value_or_a_filter() -> None:
    m = Column(31, "long")
    assert roles(picked(subquery(), A, m)) == {
        9: {"a": "value"},
        8: {"d": "filter", "e": "aggregated"},
    }
    filtered = Filter(0, Compare(Comparison.GT, B, m), subquery())
    assert roles(picked(filtered, A)) == {
        9: {"a": "value", "b": "filter"},
        8: {"d": "filter", "e": "filter"},
    }


def test_a_union_takes_columns_by_position_and_nulls_from_nowhere() -> None:
    fields = tuple(Field(i, f"c{i}", "long") for i in (1, 40))
    left = Sort(2, (SortKey(C, True, True),), True, SCAN)
    plan = Union(1, fields, ((2, 1), (None, 5)), (left, OTHER))
    assert dict(column_lineage(plan).columns) == {
        "c1": (Use(0, 9, "b", Role.VALUE),),
        "c40": (Use(0, 9, "a", Role.VALUE), Use(1, 8, "e", Role.VALUE)),
    }
    assert column_lineage(plan).rows == uses(("c", Role.SORT))


def test_a_union_with_something_unknown_is_unknown_there_only() -> None:
    opaque = Opaque(3, "Map", "user code", (Field(50, "x", "long"), Field(51, "y", "long")), ())
    fields = (Field(60, "p", "long"), Field(61, "q", "long"))
    found = column_lineage(Union(1, fields, ((1, 2), (50, None)), (SCAN, opaque)))
    assert (found.unknown, found.columns) == (("p",), (("q", uses(("b", Role.VALUE))),))
    assert column_roles(Union(1, fields, ((1, 2), (50, None)), (SCAN, opaque)))[9] == {
        "a": {Role.VALUE},
        "b": {Role.VALUE},
    }


def test_a_table_read_twice_is_two_scans() -> None:
    again = Scan(7, 0, "t", (Field(71, "a", "long"), Field(72, "b", "long")))
    matches = Compare(Comparison.EQ, A, Column(72, "long"))
    plan = picked(Join(1, JoinKind.INNER, matches, SCAN, again), Column(71, "long"))
    assert roles(plan) == {9: {"a": "join"}, 7: {"a": "value", "b": "join"}}


def test_expand_gives_each_column_all_its_projections() -> None:
    null = Literal(None, "long")
    lists: tuple[tuple[Expr, ...], ...] = (
        (A, null, Literal(0, "long")),
        (call("add", A, ONE), B, Literal(1, "long")),
    )
    plan = Expand(1, lists, tuple(Field(i, f"c{i}", "long") for i in (1, 81, 82)), SCAN)
    assert dict(column_lineage(plan).columns) == {
        "c1": uses(("a", Role.VALUE), ("a", Role.TRANSFORMED)),
        "c81": uses(("b", Role.VALUE)),
        "c82": (),
    }


def generate(generator: Expr) -> Generate:
    kept = (Field(2, "b", "long"),)
    generated = (Field(90, "g", "long"), Field(91, "h", "long"))
    return Generate(1, generator, False, kept, generated, SCAN)


@pytest.mark.parametrize(
    "generator", [call("explode", A), Unknown("json_tuple", (A, ONE), "long", True)]
)
def test_generated_columns_are_made_of_what_also_decides_how_many_rows_there_are(
    generator: Expr,
) -> None:
    found = column_lineage(generate(generator))
    assert dict(found.columns) == {
        "b": uses(("b", Role.VALUE)),
        "g": uses(("a", Role.TRANSFORMED)),
        "h": uses(("a", Role.TRANSFORMED)),
    }
    assert found.rows == uses(("a", Role.FILTER))
    assert roles(picked(generate(generator), B)) == {9: {"a": "filter", "b": "value"}}


def test_values_that_are_dealt_to_rows_stay_values() -> None:
    stacked = generate(call("stack", Literal(2, "integer"), A, B, C, call("add", B, ONE)))
    assert column_lineage(stacked).rows == ()
    assert dict(column_lineage(stacked).columns) == {
        "b": uses(("b", Role.VALUE)),
        "g": uses(("a", Role.VALUE), ("c", Role.VALUE)),
        "h": uses(("b", Role.VALUE), ("b", Role.TRANSFORMED)),
    }
    replicated = generate(call("replicate_rows", C, A, B))
    assert column_lineage(replicated).rows == uses(("c", Role.FILTER))
    assert dict(column_lineage(replicated).columns)["h"] == uses(("b", Role.VALUE))


def test_what_is_generated_of_something_unknown_is_unknown() -> None:
    opaque = Opaque(3, "Map", "user code", (Field(1, "a", "long"), Field(2, "b", "long")), ())
    plan = replace(generate(call("stack", ONE, A, ONE)), child=opaque)
    assert column_lineage(plan).unknown == ("b", "g")


WHOLE = Frame(FrameUnit.ROWS, None, None)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("sum", (C,), {"a": "window", "b": "window", "c": "aggregated"}),
        ("lag", (C, ONE), {"a": "window", "b": "window", "c": "transformed"}),
        ("rank", (B,), {"a": "window", "b": "window"}),
        ("row_number", (), {"a": "window", "b": "window"}),
        ("sum", (B,), {"a": "window", "b": "aggregated window"}),
    ],
)
def test_a_window_column(name: str, args: tuple[Expr, ...], expected: dict[str, str]) -> None:
    windowed = Named(95, "w", WindowCall(name, args, "long", WHOLE), "long")
    plan = Window(1, (A,), (SortKey(B, True, True),), (windowed,), SCAN)
    assert roles(picked(plan, Column(95, "long"))) == {9: expected}
    assert column_lineage(plan).rows == ()
    assert roles(picked(plan, C)) == {9: {"c": "value"}}


def test_a_filter_by_a_row_number_keeps_the_window_in_mind() -> None:
    number = Named(95, "w", WindowCall("row_number", (), "long", WHOLE), "long")
    plan = Window(2, (A,), (SortKey(B, True, True),), (number,), SCAN)
    first = Filter(1, Compare(Comparison.EQ, Column(95, "long"), ONE), plan)
    assert roles(picked(first, C)) == {
        9: {"a": "filter window", "b": "filter window", "c": "value"}
    }


def test_the_filter_of_a_window_function_is_a_condition() -> None:
    call = WindowCall("count", (ONE,), "long", WHOLE, filter=positive(C))
    plan = Window(1, (), (), (Named(95, "w", call, "long"),), SCAN)
    assert roles(picked(plan, Column(95, "long"))) == {9: {"c": "conditional"}}


def test_a_window_over_something_unknown_is_unknown() -> None:
    opaque = Opaque(3, "Map", "user code", (Field(50, "x", "long"), Field(51, "y", "long")), ())
    number = Named(95, "w", WindowCall("row_number", (), "long", WHOLE), "long")
    plan = Window(1, (Column(50, "long"),), (), (number,), opaque)
    assert column_lineage(picked(plan, Column(95, "long"))).unknown == ("c95",)


def test_limit_and_offset_ask_for_nothing() -> None:
    cut = Offset(1, 2, Limit(2, 5, Sort(3, (SortKey(B, True, True),), True, SCAN)))
    assert roles(picked(cut, A)) == {9: {"a": "value", "b": "sort"}}


def test_what_is_computed_and_never_asked_for_has_no_role() -> None:
    computed = Project(
        2, (Named(2, "b", B, "long"), Named(20, "x", call("add", A, C), "long")), SCAN
    )
    summed = AggregateCall("sum", (Column(20, "long"),), "long", False, None)
    total = Aggregate(1, (B,), (Named(2, "b", B, "long"), Named(21, "s", summed, "long")), computed)
    assert roles(picked(total, B)) == {9: {"b": "group value"}}


def test_a_distinct_groups_by_its_values() -> None:
    plan = Aggregate(1, (A, B), (Named(1, "a", A, "long"), Named(2, "b", B, "long")), SCAN)
    assert roles(plan) == {9: {"a": "group value", "b": "group value"}}


def test_not_null_is_no_filter_of_its_own_where_a_join_asks_for_it() -> None:
    """Spark infers it below joins; the user only joined."""
    left, right = Filter(2, present(A), SCAN), Filter(3, conj([present(D), positive(E)]), OTHER)
    joined = picked(Join(1, JoinKind.INNER, A_IS_D, left, right), B)
    assert roles(joined) == {9: {"a": "join", "b": "value"}, 8: {"d": "join", "e": "filter"}}
    renamed = Project(4, (Named(45, "k", D, "long"),), Filter(3, present(D), OTHER))
    by_key = Compare(Comparison.EQ, A, Column(45, "long"))
    semi = picked(Join(1, JoinKind.LEFT_SEMI, by_key, left, renamed), B)
    assert roles(semi) == {9: {"a": "join", "b": "value"}, 8: {"d": "join"}}


@pytest.mark.parametrize(
    "kind", [JoinKind.LEFT_OUTER, JoinKind.FULL_OUTER, JoinKind.LEFT_ANTI, JoinKind.EXISTENCE]
)
def test_not_null_is_a_filter_where_a_join_would_keep_the_row(kind: JoinKind) -> None:
    exists = EXISTS if kind is JoinKind.EXISTENCE else None
    join = Join(1, kind, A_IS_D, Filter(2, present(A), SCAN), OTHER, exists)
    assert "filter" in roles(join)[9]["a"]


def test_not_null_is_a_filter_where_something_else_sees_it_first() -> None:
    number = Named(95, "w", WindowCall("row_number", (), "long", WHOLE), "long")
    filtered = Filter(2, present(A), SCAN)
    counted = Window(3, (), (SortKey(B, True, True),), (number,), filtered)
    for plan in (Limit(3, 5, filtered), counted):
        joined = picked(Join(1, JoinKind.INNER, A_IS_D, plan, OTHER), B)
        assert roles(joined)[9]["a"] == "filter join"
    null_safe = Join(1, JoinKind.INNER, Compare(Comparison.SAME, A, D), filtered, OTHER)
    assert roles(picked(null_safe, B))[9]["a"] == "filter join"


def test_nested_conditions_are_no_exponential_walk() -> None:
    expr: Expr = A
    for _ in range(60):
        expr = call("case_when", Compare(Comparison.GT, expr, ONE), expr, ONE)
    assert roles(Filter(1, positive(expr), SCAN))[9]["a"] == "conditional filter value"
