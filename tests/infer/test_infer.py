"""What inference does with rows that cannot be told apart, and how the program looks."""

from __future__ import annotations

from lineage_core.infer import infer
from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Column,
    Compare,
    Comparison,
    Literal,
    conjuncts,
)
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
)
from lineage_core.plan.unique import keys

STRUCT = '{"type":"struct","fields":[]}'
ID, K, S = Column(0, "long"), Column(1, "long"), Column(2, STRUCT)
T = Scan(9, 0, "t", (Field(0, "id", "long"), Field(1, "k", "long"), Field(2, "s", STRUCT)))
U = Scan(8, 1, "u", (Field(10, "id", "long"), Field(11, "w", "string")))
COUNT = Named(20, "n", AggregateCall("count", (), "long", False, None), "long")


def project(child: Plan, *columns: Column) -> Project:
    return Project(5, tuple(Named(c.id, f"c{c.id}", c, c.type) for c in columns), child)


def sources(program: LineageProgram) -> dict[str, tuple[str, ...]]:
    return {program.steps[i].name: program.steps[i].superset for i in program.sources}


def first_three_by_id() -> Limit:
    return Limit(2, 3, project(Sort(3, (SortKey(ID, True, True),), True, project(T, ID, K)), K))


def test_rows_that_differ_in_what_cannot_be_compared_are_said_to_be_answered_together() -> None:
    program = infer(project(T, K, S), ways=(StepKind.SAVED,))
    assert "differ only in c2" in sources(program)["t"][0]
    grouped = Aggregate(1, (K,), (Named(1, "k", K, "long"), Named(3, "s", S, STRUCT)), T)
    assert sources(infer(grouped, ways=(StepKind.SAVED,))) == {"t": ()}, "the key tells the rows"


def test_nothing_that_cannot_be_compared_is_pushed() -> None:
    same = Compare(Comparison.EQ, S, S)
    program = infer(project(Filter(6, same, T), ID, K), ways=(StepKind.SAVED,))
    (source,) = program.sources
    assert all(same != part for part in conjuncts(program.steps[source].predicate))
    assert program.steps[source].superset
    program = infer(Aggregate(1, (S,), (COUNT,), T), ways=(StepKind.SAVED,))
    assert "Aggregate (operator 1)" in sources(program)["t"][0]


def test_the_rows_that_a_limit_kept_are_saved_with_all_their_columns() -> None:
    """Pruned to the columns used above, its rows would agree with many that it cut off."""
    counted = Aggregate(1, (K,), (Named(1, "k", K, "long"), COUNT), first_three_by_id())
    program = infer(counted, ways=(StepKind.SAVED,))
    (saved,) = program.saved
    assert program.steps[saved].at == 2
    assert {f.id for f in program.steps[saved].columns} == {0, 1}
    assert sources(program)["t"][0].startswith("Limit (operator 2)")


def test_a_limit_that_is_the_output_saves_nothing_twice() -> None:
    assert not infer(Limit(2, 3, project(T, ID, K)), ways=(StepKind.SAVED,)).saved


def test_one_intermediate_holds_the_keys_of_a_whole_block_of_joins() -> None:
    inner = Join(4, JoinKind.INNER, Compare(Comparison.EQ, ID, Column(10, "long")), T, U)
    V = Scan(7, 2, "v", (Field(30, "w", "string"), Field(31, "x", "long")))
    on = Compare(Comparison.EQ, Column(11, "string"), Column(30, "string"))
    outer = Join(3, JoinKind.INNER, on, project(inner, K, Column(11, "string")), V)
    total = Aggregate(0, (K,), (Named(1, "k", K, "long"), COUNT), outer)
    program = infer(total, ways=(StepKind.SAVED,))
    (saved,) = program.saved
    assert program.steps[saved].at == 3
    assert {f.id for f in program.steps[saved].columns} == {0, 1, 11}, "one of each equated pair"
    assert sources(program) == {"t": (), "u": (), "v": ()}
    assert all(program.steps[i].anchor == saved for i in program.sources)
    assert program.chain(program.sources[0]) == (0, saved, program.sources[0])


def test_without_saving_each_source_says_what_blurs_it() -> None:
    join = Join(4, JoinKind.INNER, Compare(Comparison.EQ, ID, Column(10, "long")), T, U)
    program = infer(Aggregate(0, (K,), (Named(1, "k", K, "long"), COUNT), join), ways=())
    assert [step.kind for step in program.steps] == [StepKind.TARGET] + [StepKind.SOURCE] * 2
    assert "Join (operator 4) (left input)" in sources(program)["t"][0]
    assert "Join (operator 4) (right input)" in sources(program)["u"][0]
    assert program.steps[program.sources[1]].predicate == TRUE


def test_keys() -> None:
    grouped = Aggregate(1, (ID, K), (Named(0, "i", ID, "long"), Named(5, "k", K, "long")), T)
    assert keys(grouped) == (frozenset({0, 5}),)
    assert keys(project(grouped, ID)) == ()
    assert keys(Aggregate(1, (ID, K), (Named(0, "i", ID, "long"),), T)) == ()
    assert keys(Aggregate(1, (), (COUNT,), T)) == (frozenset(),)
    one = Limit(1, 1, T)
    assert keys(Filter(0, Compare(Comparison.LT, ID, Literal(1, "long")), one)) == (frozenset(),)
    assert keys(Join(0, JoinKind.INNER, TRUE, grouped, one)) == (frozenset({0, 5}),)
    assert keys(Join(0, JoinKind.LEFT_SEMI, TRUE, grouped, T)) == (frozenset({0, 5}),)
    assert keys(T) == ()
