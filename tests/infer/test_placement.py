"""Where intermediates are had: computed before saved, the smallest of those that tell as much."""

from __future__ import annotations

from lineage_core.infer import Size, infer
from lineage_core.infer.place import Sizes
from lineage_core.plan.expr import AggregateCall, Column, Compare, Comparison, Literal, Unknown
from lineage_core.plan.program import LineageProgram, StepKind
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
    Scan,
    Sort,
    SortKey,
    is_rid,
)
from lineage_core.plan.ties import ordered_limits

T = Scan(9, 0, "t", (Field(0, "id", "long"), Field(1, "k", "long")))
U = Scan(8, 1, "u", (Field(10, "id", "long"), Field(11, "w", "long")))
V = Scan(7, 2, "v", (Field(20, "id", "long"), Field(21, "x", "long")))
ID, K, UID, W, VID, X = (Column(id, "long") for id in (0, 1, 10, 11, 20, 21))
COUNT = Named(30, "n", AggregateCall("count", (), "long", False, None), "long")
SMALL = Compare(Comparison.LT, K, Literal(3, "long"))


def project(at: int, child: Plan, *columns: Column) -> Project:
    return Project(at, tuple(Named(c.id, f"c{c.id}", c, c.type) for c in columns), child)


def joined(at: int, left: Plan, right: Plan, one: Column, other: Column) -> Join:
    return Join(at, JoinKind.INNER, Compare(Comparison.EQ, one, other), left, right)


def by_k(child: Plan) -> Aggregate:
    return Aggregate(0, (K,), (Named(1, "k", K, "long"), COUNT), child)


# The upper join keeps its key, the lower one does not: the lower one is in need.
LOWER = joined(5, T, U, ID, UID)
UPPER = joined(3, project(4, LOWER, K, W), V, W, VID)
FILTERED = Filter(2, SMALL, project(6, UPPER, K, W, VID))
PLAN = Aggregate(
    0, (K, W), (Named(1, "k", K, "long"), Named(11, "w", W, "long"), COUNT), FILTERED
)


def sizes(by_place: dict[int, int]) -> Sizes:
    return lambda node, _: Size(by_place[node.at], "statistics") if node.at in by_place else None


def saved_at(program: LineageProgram) -> list[int]:
    return [program.steps[number].at for number in program.saved]


def exact(program: LineageProgram) -> bool:
    return not any(program.steps[number].superset for number in program.sources)


def test_without_sizes_the_output_of_the_operator_in_need_is_saved() -> None:
    program = infer(PLAN, ways=(StepKind.SAVED,))
    assert saved_at(program) == [5] and exact(program)


def test_the_smallest_operator_that_tells_as_much_is_saved() -> None:
    program = infer(PLAN, ways=(StepKind.SAVED,), sizes=sizes({5: 900, 4: 800, 3: 90, 2: 7}))
    assert saved_at(program) == [2] and exact(program)
    (placement,) = program.placements
    assert placement.needed == "Join (operator 5)" and placement.step == 1
    weighed = [(a.at, a.bytes, a.origin) for a in placement.alternatives]
    assert weighed[0] == (2, 7, "statistics")
    assert {(5, 900, "statistics"), (3, 90, "statistics")} <= set(weighed)
    # The aggregate tells nothing of single rows below it: nothing above it is weighed.
    assert next(a for a in placement.alternatives if a.at == 0).bytes == -1
    assert all(s.anchor == 1 for s in program.steps[2:]), "sources above the need hang from it, too"


def test_a_later_operator_that_is_bigger_is_not_taken() -> None:
    program = infer(PLAN, ways=(StepKind.SAVED,), sizes=sizes({5: 10, 3: 90, 2: 70}))
    assert saved_at(program) == [5]


def test_what_cannot_be_saved_is_not_taken() -> None:
    known = sizes({5: 900, 3: 90, 2: 7})
    program = infer(
        PLAN,
        ways=(StepKind.SAVED,),
        sizes=known,
        savable=lambda node: node.at not in (2, 6),
    )
    assert saved_at(program) == [3] and exact(program)


def test_nothing_is_saved_where_it_can_be_computed_again() -> None:
    program = infer(PLAN, ways=(StepKind.COMPUTED, StepKind.SAVED))
    assert not program.saved and exact(program)
    (step,) = [s for s in program.steps if s.kind is StepKind.COMPUTED]
    assert sum(is_rid(f.id) for f in step.columns) == 2, "one for each scan below"


def test_what_differs_when_computed_again_is_saved() -> None:
    distinct = Aggregate(6, (ID, K), (Named(0, "id", ID, "long"), Named(1, "k", K, "long")), T)
    some = Filter(5, Unknown("rand", (), "boolean", False), distinct)
    plan = by_k(joined(3, some, U, ID, UID))
    program = infer(plan, ways=(StepKind.COMPUTED, StepKind.SAVED))
    assert saved_at(program) == [3] and exact(program)
    assert not exact(infer(plan)) and len(infer(plan).steps) == 3


def test_sources_that_cannot_be_read_again_are_saved_for() -> None:
    formats = {0: "parquet", 1: "", 2: "parquet"}
    program = infer(PLAN, ways=(StepKind.COMPUTED, StepKind.SAVED), formats=formats)
    assert saved_at(program) == [5]
    formats[1] = "csv"
    program = infer(PLAN, ways=(StepKind.COMPUTED, StepKind.SAVED), formats=formats)
    (step,) = [s for s in program.steps if s.kind is StepKind.COMPUTED]
    assert [f.id for f in step.columns if is_rid(f.id)] == [T_RID], "csv rows have no rids"
    assert exact(program)


T_RID = -1_000_009


def top(keys: tuple[Column, ...], *columns: Column) -> Limit:
    order = tuple(SortKey(key, True, True) for key in keys)
    return Limit(2, 3, Sort(3, order, True, project(4, T, *columns)))


def test_a_limit_whose_order_may_have_ties_is_exact_only_if_it_has_none() -> None:
    plan = top((ID,), ID, K)
    assert ordered_limits(plan) == {2}
    assert not exact(infer(plan)) and infer(plan).assumed == ()
    program = infer(plan, decided=ordered_limits(plan))
    assert exact(program) and program.assumed == (2,)
    # Of rows that agree in what is written, one may come before the boundary and one after it.
    hidden = project(1, top((ID,), ID, K), K)
    program = infer(hidden, decided=ordered_limits(hidden))
    assert exact(program) and [s.kind for s in program.steps[1:-1]] == [StepKind.COMPUTED]
    assert program.assumed == (2,)


def test_a_limit_over_no_order_is_never_assumed_to_be_decided() -> None:
    assert ordered_limits(Limit(2, 3, T)) == frozenset()
    by_id = (SortKey(ID, True, True),)
    pruned = Limit(2, 3, project(4, Sort(3, by_id, True, T), K))
    assert ordered_limits(pruned) == {2}, "its rows can be made to show it"
    assert exact(infer(pruned, decided=ordered_limits(pruned)))
    partly = Limit(2, 3, Sort(3, by_id, False, T))
    assert ordered_limits(partly) == frozenset(), "sorted within partitions only"
