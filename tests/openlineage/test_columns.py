"""Column lineage by operator, and that it is silent where nothing is known."""

from __future__ import annotations

import pytest

from lineage_core.openlineage.columns import Kind, Use, column_lineage
from lineage_core.plan.expr import (
    AggregateCall,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    Literal,
    Unknown,
)
from lineage_core.plan.relation import (
    Aggregate,
    Field,
    Filter,
    Join,
    JoinKind,
    Limit,
    Named,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    Values,
)
from lineage_core.store.manifest import OutputRecord

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


def uses(*pairs: tuple[str, Kind]) -> tuple[Use, ...]:
    return tuple(sorted(Use(0, column, kind) for column, kind in pairs))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (A, [("a", Kind.IDENTITY)]),
        (call("add", A, B), [("a", Kind.TRANSFORMATION), ("b", Kind.TRANSFORMATION)]),
        (call("cast", A), [("a", Kind.TRANSFORMATION)]),
        (Unknown("udf", (A,), "long", False), [("a", Kind.TRANSFORMATION)]),
        (ONE, []),
        (
            call("case_when", positive(A), B, ONE),
            [("a", Kind.CONDITIONAL), ("b", Kind.TRANSFORMATION)],
        ),
        (
            call("case_when", positive(A), ONE, positive(B), ONE, C),
            [("a", Kind.CONDITIONAL), ("b", Kind.CONDITIONAL), ("c", Kind.TRANSFORMATION)],
        ),
        (
            call("case_when", positive(A), A, ONE),
            [("a", Kind.CONDITIONAL), ("a", Kind.TRANSFORMATION)],
        ),
    ],
)
def test_what_a_computed_column_is_made_of(expr: Expr, expected: list[tuple[str, Kind]]) -> None:
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
        "y": uses(("a", Kind.AGGREGATION)),
        "b": uses(("b", Kind.IDENTITY)),
    }
    assert found.rows == uses(("b", Kind.GROUP_BY))


def test_a_having_filters_by_what_was_aggregated() -> None:
    summed = Aggregate(2, (B,), (Named(10, "s", agg(A), "long"),), SCAN)
    found = column_lineage(Filter(1, positive(Column(10, "long")), summed))
    assert found.rows == uses(("a", Kind.FILTER), ("b", Kind.GROUP_BY))


def test_a_filter_clause_of_an_aggregate_is_a_condition() -> None:
    found = column_lineage(Aggregate(1, (), (Named(10, "s", agg(A, positive(B)), "long"),), SCAN))
    assert dict(found.columns) == {"s": uses(("a", Kind.AGGREGATION), ("b", Kind.CONDITIONAL))}


def test_sort_limit_and_values() -> None:
    plan = Limit(1, 5, Sort(2, (SortKey(A, True, True),), True, SCAN))
    assert column_lineage(plan).rows == uses(("a", Kind.SORT))
    assert column_lineage(Values(1, (Field(1, "a", "long"),))).columns == (("a", ()),)


def test_both_sides_of_a_join_of_two_sources() -> None:
    other = Scan(8, 1, "u", (Field(4, "d", "long"),))
    matches = Compare(Comparison.EQ, A, Column(4, "long"))
    found = column_lineage(Join(1, JoinKind.INNER, matches, SCAN, other))
    assert dict(found.columns)["d"] == (Use(1, "d", Kind.IDENTITY),)
    assert found.rows == (Use(0, "a", Kind.JOIN), Use(1, "d", Kind.JOIN))


def test_nothing_is_claimed_about_what_went_through_an_opaque_operator() -> None:
    opaque = Opaque(
        2, "Window", "no form yet", (Field(1, "a", "long"), Field(5, "w", "long")), (SCAN,)
    )
    shown = Project(
        1,
        (Named(6, "x", call("add", Column(5, "long"), ONE), "long"), Named(7, "one", ONE, "long")),
        opaque,
    )
    found = column_lineage(shown)
    assert found.unknown == ("x",)
    assert found.columns == (("one", ()),)


def test_an_id_is_not_mixed_up_when_a_projection_swaps_columns() -> None:
    swapped = Project(1, (Named(1, "a", B, "long"), Named(2, "b", A, "long")), SCAN)
    assert dict(column_lineage(swapped).columns) == {
        "a": uses(("b", Kind.IDENTITY)),
        "b": uses(("a", Kind.IDENTITY)),
    }


def test_depth_is_no_recursion_error() -> None:
    expr: Expr = A
    for _ in range(5000):
        expr = call("add", expr, ONE)
    plan: Plan = project(expr)
    for at in range(3000):
        plan = Limit(at, 1, plan)
    assert column_lineage(plan).columns == (("x", uses(("a", Kind.TRANSFORMATION))),)


def test_q4(q4: OutputRecord) -> None:
    assert q4.plan is not None
    found = column_lineage(q4.plan)
    assert dict(found.columns)["o_orderpriority"] == (Use(0, "o_orderpriority", Kind.IDENTITY),)
    assert dict(found.columns)["order_count"] == ()
    assert set(found.rows) == {
        Use(0, "o_orderdate", Kind.FILTER),
        Use(0, "o_orderpriority", Kind.FILTER),
        Use(0, "o_orderpriority", Kind.GROUP_BY),
        Use(0, "o_orderkey", Kind.JOIN),
        Use(1, "l_orderkey", Kind.JOIN),
        Use(1, "l_commitdate", Kind.FILTER),
        Use(1, "l_receiptdate", Kind.FILTER),
    }
