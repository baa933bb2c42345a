"""Links by hand: which are made, which would lose rows, and which nobody could evaluate.

That links hold for all lineage rows of random pipelines is tested with the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from lineage_core.infer import Link, link
from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    FrameUnit,
    IsNull,
    Literal,
    Not,
    Unknown,
    WindowCall,
    conj,
    disj,
)
from lineage_core.plan.expr import Frame as WindowFrame
from lineage_core.plan.program import LineageProgram, Step, StepKind
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
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    Union,
    Window,
    output,
)
from lineage_core.plan.traverse import nodes

A, B, C = (
    Scan(
        90 + n,
        n,
        name,
        (
            Field(10 * n, "k", "long"),
            Field(10 * n + 1, "v", "long"),
            Field(10 * n + 2, "x", "double"),
        ),
    )
    for n, name in enumerate("abc", start=1)
)
(AK, AV, AX), (BK, BV, BX), (CK, CV, CX) = (
    tuple(Column(f.id, f.type) for f in scan.columns) for scan in (A, B, C)
)
B2 = Scan(95, 1, "b2", (Field(50, "k", "long"),))
B2K = Column(50, "long")
ZERO, ONE = Literal(0, "long"), Literal(1, "long")
BY_KEY = Compare(Comparison.EQ, AK, BK)
KINDS = list(JoinKind)


def eq(left: Expr, right: Expr) -> Expr:
    return Compare(Comparison.EQ, left, right)


def less(left: Expr, right: Expr) -> Expr:
    return Compare(Comparison.LT, left, right)


def plus_one(column: Column) -> Expr:
    return Call("add", (column, ONE), "long")


def or_zero(column: Column) -> Expr:
    return Call("coalesce", (column, ZERO), "long")


def join(
    left: Plan, right: Plan, condition: Expr, kind: JoinKind = JoinKind.INNER, at: int = 50
) -> Join:
    exists = Field(900, "exists", "boolean") if kind is JoinKind.EXISTENCE else None
    return Join(at, kind, condition, left, right, exists)


def named(*columns: tuple[int, Expr]) -> tuple[Named, ...]:
    return tuple(Named(id, f"c{id}", expr, "long") for id, expr in columns)


def distinct(child: Plan, *keys: Column) -> Aggregate:
    return Aggregate(60, keys, tuple(Named(k.id, "k", k, k.type) for k in keys), child)


def first(child: Plan) -> Limit:
    return Limit(61, 3, child)


def linked(plan: Plan) -> dict[str, Expr]:
    """Return the conditions of a plan's links, as `a-b` or, where they exclude, `a/b`."""
    scans = [node for node in nodes(plan) if isinstance(node, Scan)]
    steps = [Step(StepKind.TARGET, -1, TRUE, output(plan), plan.at, "out")]
    steps += [Step(StepKind.SOURCE, 0, TRUE, (), s.at, s.name, s.source) for s in scans]
    program, links = link(plan, LineageProgram(tuple(steps)))
    return {_name(program, found): found.condition for found in links}


def _name(program: LineageProgram, found: Link) -> str:
    ends = (program.steps[step].name for step in (found.step, found.other))
    return ("/" if found.excludes else "-").join(ends)


def test_a_link_is_all_that_a_join_says_about_two_scans_told_from_the_side_of_its_step() -> None:
    condition = conj([BY_KEY, less(AV, BV), disj([eq(AV, ONE), eq(BV, ONE)]), less(AV, ONE)])
    both = [less(AV, BV), disj([eq(AV, ONE), eq(BV, ONE)])]
    assert linked(join(A, B, condition)) == {
        "a-b": conj([BY_KEY, *both]),
        "b-a": conj([eq(BK, AK), *both]),
    }


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (JoinKind.INNER, {"a-b", "b-a"}),
        (JoinKind.LEFT_SEMI, {"a-b", "b-a"}),
        (JoinKind.LEFT_OUTER, {"b-a"}),
        (JoinKind.EXISTENCE, {"b-a"}),
        (JoinKind.RIGHT_OUTER, {"a-b"}),
        (JoinKind.FULL_OUTER, set()),
        (JoinKind.LEFT_ANTI, {"a/b"}),
    ],
)
def test_who_needs_a_partner(kind: JoinKind, expected: set[str]) -> None:
    assert linked(join(A, B, BY_KEY, kind)).keys() == expected


def test_conditions_without_equality_are_no_links_for_they_cannot_be_hashed() -> None:
    for condition in (less(AK, BK), disj([BY_KEY, eq(AV, BV)]), eq(AK, plus_one(AV)), TRUE):
        assert not linked(join(A, B, condition))
    assert not linked(join(A, B, less(AK, BK), JoinKind.LEFT_ANTI))


def test_chains_link_neighbours_and_self_joins_tell_the_occurrences_apart() -> None:
    chain = join(join(A, B, BY_KEY), C, eq(BV, CK), at=51)
    assert linked(chain).keys() == {"a-b", "b-a", "b-c", "c-b"}
    of_three = join(join(A, B, BY_KEY), C, eq(Call("add", (AV, BV), "long"), CK), at=51)
    assert linked(of_three).keys() == {"a-b", "b-a"}, "a condition of three scans is none of two"
    again = Scan(80, A.source, "a again", (Field(70, "k", "long"), Field(71, "v", "long")))
    other = Not(eq(AV, Column(71, "long")))
    condition = conj([eq(AK, Column(70, "long")), other])
    assert linked(join(A, again, condition, JoinKind.LEFT_SEMI))["a-a again"] == condition


def test_computed_columns_and_group_keys_are_told_in_columns_of_the_scans() -> None:
    computed = Project(40, named((100, plus_one(BK)), (101, BV)), B)
    grouped = Aggregate(41, (Column(100, "long"),), named((102, Column(100, "long"))), computed)
    assert linked(join(A, grouped, eq(AK, Column(102, "long"))))["a-b"] == eq(AK, plus_one(BK))
    counted = AggregateCall("count", (), "long", False, None)
    grouped = Aggregate(41, (BK,), named((102, BK), (103, counted)), B)
    by_count = conj([eq(AK, Column(102, "long")), less(AV, Column(103, "long"))])
    assert linked(join(A, grouped, by_count))["a-b"] == eq(AK, BK), "a count is no row's value"


def test_a_random_column_is_nobodys() -> None:
    random = Project(40, named((100, Unknown("rand", (), "long", False))), B)
    assert not linked(join(A, random, eq(AK, Column(100, "long"))))


def test_what_an_opaque_operator_gives_is_nobodys() -> None:
    assert not linked(join(A, Opaque(40, "map", "no IR form", B.columns, (B,)), BY_KEY))


def test_a_row_may_be_joined_with_nulls_in_place_of_a_partner() -> None:
    outer = join(A, B, BY_KEY, JoinKind.LEFT_OUTER)
    with_nulls = join(outer, C, eq(CK, or_zero(BV)), at=51)
    assert linked(with_nulls).keys() == {"b-a", "b-c"}, "c may have joined a row without b"
    without = join(outer, C, eq(CK, BV), at=51)
    assert linked(without).keys() == {"b-a", "b-c", "c-b"}
    null_safe = join(outer, C, Compare(Comparison.SAME, CK, BV), at=51)
    assert linked(null_safe).keys() == {"b-a", "b-c"}
    full = join(A, B, BY_KEY, JoinKind.FULL_OUTER)
    assert not linked(Filter(30, eq(AV, or_zero(BV)), full)).keys() - {"b-a"}
    assert linked(Filter(30, eq(AV, BV), full)).keys() == {"a-b", "b-a"}


def test_an_outer_join_may_lack_either_side() -> None:
    for kind, lacking in ((JoinKind.RIGHT_OUTER, "a"), (JoinKind.FULL_OUTER, "ab")):
        outer = join(A, B, BY_KEY, kind)
        with_a = linked(join(outer, C, eq(CK, or_zero(AV)), at=51)).keys()
        with_b = linked(join(outer, C, eq(CK, or_zero(BV)), at=51)).keys()
        assert ("c-a" not in with_a) == ("a" in lacking)
        assert ("c-b" not in with_b) == ("b" in lacking)
        assert "a-c" in with_a and "b-c" in with_b


@pytest.mark.parametrize("kind", [JoinKind.LEFT_OUTER, JoinKind.FULL_OUTER])
def test_a_constant_is_null_in_a_missing_partner(kind: JoinKind) -> None:
    computed = Project(40, named((100, ONE), (101, BK), (102, plus_one(BV))), B)
    outer = join(A, computed, eq(AK, Column(101, "long")), kind)
    of_partner = Call("add", (AV, or_zero(Column(100, "long"))), "long")
    condition = conj([eq(CK, AK), less(CV, of_partner), less(CV, Column(102, "long"))])
    found = linked(join(outer, C, condition, at=51))
    assert found["c-a"] == eq(CK, AK), "it may have been 0 that was added"
    inner = join(A, computed, eq(AK, Column(101, "long")))
    assert linked(join(inner, C, condition, at=51))["c-a"] != eq(CK, AK)


def test_windows_share_only_their_partition_with_the_rows_they_look_at() -> None:
    call = WindowCall("sum", (BV,), "long", WindowFrame(FrameUnit.ROWS, None, None))
    window = Window(40, (BK,), (), named((100, call)), B)
    for column, expected in ((BK, {"a-b", "b-a"}), (BV, set()), (Column(100, "long"), set())):
        assert linked(join(A, window, eq(AK, column))).keys() == expected


def test_floats_of_a_group_are_equal_but_not_the_same() -> None:
    grouped = distinct(B, BX)
    assert not linked(join(A, grouped, eq(AX, BX)))
    assert linked(join(A, B, eq(AX, BX))).keys() == {"a-b", "b-a"}
    window = Window(40, (BX,), (), (), B)
    assert not linked(join(A, window, eq(AX, BX)))


def test_an_expanded_column_is_told_where_all_projections_agree() -> None:
    fields = (Field(100, "k", "long"), Field(101, "v", "long"))
    expand = Expand(40, ((BK, BV), (BK, Literal(None, "long"))), fields, B)
    assert linked(join(A, expand, eq(AK, Column(100, "long"))))["a-b"] == eq(AK, BK)
    assert not linked(join(A, expand, eq(AK, Column(101, "long"))))


def test_generated_columns_are_no_rows_but_kept_ones_are() -> None:
    made = Generate(40, Unknown("explode", (BV,), "long", True), True, B.columns[:1],
                    (Field(100, "e", "long"),), B)  # fmt: skip
    assert linked(join(A, made, eq(AK, BK))).keys() == {"a-b", "b-a"}
    assert not linked(join(A, made, eq(AK, Column(100, "long"))))


def union(*inputs: tuple[Plan, Column], id: int = 100) -> Union:
    taken = tuple((column.id,) for _, column in inputs)
    return Union(40, (Field(id, "k", "long"),), taken, tuple(plan for plan, _ in inputs))


def test_a_row_of_a_union_is_of_one_input_so_no_row_needs_a_partner_in_all() -> None:
    both = union((B, BK), (C, CV))
    found = linked(join(A, both, eq(AK, Column(100, "long"))))
    assert found == {"b-a": eq(BK, AK), "c-a": eq(CV, AK)}
    found = linked(join(both, A, eq(AK, Column(100, "long")), JoinKind.LEFT_ANTI))
    assert found == {"b/a": eq(BK, AK), "c/a": eq(CV, AK)}
    assert not linked(join(A, both, eq(AK, Column(100, "long")), JoinKind.LEFT_ANTI))


def test_what_a_union_is_joined_with_keeps_its_own_links() -> None:
    both = join(A, union((B, BK), (B2, B2K)), eq(AK, Column(100, "long")))
    found = linked(join(both, C, eq(AV, CK), at=51))
    assert found.keys() == {"b-a", "b2-a", "a-c", "c-a"}
    some = join(A, union((B, BK), (B2, B2K)), eq(AK, Column(100, "long")), JoinKind.LEFT_SEMI)
    assert linked(join(some, C, eq(AV, CK), at=51)).keys() == found.keys()
    mixed = join(both, C, eq(Column(100, "long"), CK), at=51)
    assert linked(mixed).keys() == {"b-a", "b2-a", "b-c", "b2-c"}


def test_an_input_that_lacks_the_column_is_joined_with_nothing() -> None:
    lacking = Union(40, (Field(100, "k", "long"),), ((BK.id,), (None,)), (B, C))
    assert linked(join(A, lacking, eq(AK, Column(100, "long")))).keys() == {"b-a"}


def test_unions_of_many_inputs_are_given_up_together() -> None:
    copies = [Scan(200 + n, 1, f"b{n}", (Field(1000 + n, "k", "long"),)) for n in range(40)]
    many = union(*((scan, Column(scan.columns[0].id, "long")) for scan in copies))
    assert not linked(join(A, many, eq(AK, Column(100, "long"))))


def test_an_expression_that_grows_with_every_operator_is_given_up() -> None:
    plan: Plan = B
    column = BK
    for id in range(100, 160):  # twice as long with each
        expr = Call("add", (column, column), "long")
        plan = Project(id, named((id, expr)), plan)
        column = Column(id, "long")
    assert not linked(join(A, plan, eq(AK, column)))


def keeps(child: Plan, condition: Expr) -> Filter:
    return Filter(62, condition, child)


READ_AS_IT_IS = (
    (B, BY_KEY),
    (keeps(B, less(BV, ONE)), conj([BY_KEY, less(BV, ONE)])),
    (distinct(keeps(B, less(BV, ONE)), BK), conj([BY_KEY, less(BV, ONE)])),
    (Sort(63, (SortKey(BV, True, True),), True, B), BY_KEY),
)


@pytest.mark.parametrize(("right", "condition"), READ_AS_IT_IS)
def test_an_anti_join_excludes_what_its_right_input_keeps(right: Plan, condition: Expr) -> None:
    assert linked(join(A, right, BY_KEY, JoinKind.LEFT_ANTI)) == {"a/b": condition}


def of_a_sample() -> Filter:
    return keeps(B, Unknown("sample", (), "boolean", False))


def of_the_frequent() -> Plan:
    counted = AggregateCall("count", (), "long", False, None)
    groups = Aggregate(60, (BK,), named((BK.id, BK), (100, counted)), B)
    return keeps(groups, less(ONE, Column(100, "long")))


@pytest.mark.parametrize(
    "right",
    [first(B), of_a_sample(), of_the_frequent(), join(B, C, eq(BK, CK))],
    ids=["limit", "sample", "having", "join"],
)
def test_an_anti_join_with_more_than_conditions_on_a_source_excludes_nothing(right: Plan) -> None:
    assert "a/b" not in linked(join(A, right, BY_KEY, JoinKind.LEFT_ANTI))


def test_an_anti_join_needs_its_whole_condition_about_one_scan() -> None:
    unknown = Unknown("udf", (AV, BV), "boolean", True)
    assert not linked(join(A, B, conj([BY_KEY, unknown]), JoinKind.LEFT_ANTI))
    two = join(A, C, eq(AK, CK))
    condition = conj([BY_KEY, less(CV, BV)])
    found = linked(join(two, B, condition, JoinKind.LEFT_ANTI, at=51))
    assert found.keys() == {"a-c", "c-a"}


def test_not_in_excludes_what_is_equal() -> None:
    not_in = disj([BY_KEY, IsNull(BY_KEY)])
    assert linked(join(A, B, not_in, JoinKind.LEFT_ANTI)) == {"a/b": BY_KEY}


def test_a_left_outer_join_filtered_to_the_rows_without_partner_loses_none() -> None:
    outer = join(A, B, BY_KEY, JoinKind.LEFT_OUTER)
    assert linked(keeps(outer, IsNull(BK))).keys() == {"b-a"}


def columns_of(plan: Plan) -> Iterable[set[int]]:
    scans = [node for node in nodes(plan) if isinstance(node, Scan)]
    steps = [Step(StepKind.TARGET, -1, TRUE, output(plan), plan.at, "out")]
    steps += [Step(StepKind.SOURCE, 0, TRUE, (), s.at, s.name, s.source) for s in scans]
    program, _ = link(plan, LineageProgram(tuple(steps), assumed=(7,)))
    assert program.assumed == (7,), "nothing else of the program is lost"
    return [{f.id for f in program.steps[number].columns} for number in program.sources]


def test_steps_offer_the_columns_that_links_compare() -> None:
    condition = conj([BY_KEY, less(AV, BV)])
    assert columns_of(join(A, B, condition)) == [{AK.id, AV.id}, {BK.id, BV.id}]
    assert columns_of(join(A, keeps(B, less(BV, ONE)), BY_KEY, JoinKind.LEFT_ANTI)) == [
        {AK.id},
        {BK.id, BV.id},
    ]
