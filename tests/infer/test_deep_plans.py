"""Deep and wide plans: hundreds of operators, thousands of terms, a thousand columns.

Each is inferred, written, read again and explained with little room on the stack, so that whatever
calls itself once per operator or term fails. What is proven is counted, not timed: a plan of any
size may only ask for a few proofs that no smaller one has.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from lineage_core import codec
from lineage_core.cli.expressions import describe
from lineage_core.infer import infer
from lineage_core.plan.expr import (
    AggregateCall,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    IsNull,
    Literal,
    Not,
    conj,
    disj,
    is_in,
)
from lineage_core.plan.program import LineageProgram
from lineage_core.plan.relation import (
    Aggregate,
    Field,
    Filter,
    Join,
    JoinKind,
    Named,
    Plan,
    Project,
    Scan,
    Union,
    children,
    output,
)
from lineage_core.plan.traverse import walk
from lineage_core.pushdown import Obligation, Verdict
from lineage_core.verify import RememberingProver
from lineage_core.verify.shape import shape

ROOM = 200
"""Calls that may be open at a time beyond those of the test itself."""


def scan(number: int, width: int = 3) -> Scan:
    fields = (Field(10_000 * (number + 1) + i, f"c{i}", "long") for i in range(width))
    return Scan(1000 + number, number, f"t{number}", tuple(fields))


def column(field: Field) -> Column:
    return Column(field.id, field.type)


def literal(value: int) -> Literal:
    return Literal(value, "long")


def above(field: Field, value: int) -> Expr:
    return Compare(Comparison.GT, column(field), literal(value))


def equal(left: Field, right: Field) -> Expr:
    return Compare(Comparison.EQ, column(left), column(right))


def chain(length: int) -> Plan:
    """Filters and projections in turn; every projection computes one column anew."""
    plan: Plan = scan(0)
    for at in range(length):
        fields = output(plan)
        if at % 2 == 0:
            plan = Filter(at, above(fields[1], at), plan)
            continue
        computed = Call("add", (column(fields[0]), literal(1)), "long") if at % 8 == 1 else None
        exprs: tuple[Expr, ...] = (computed or column(fields[0]), *map(column, fields[1:]))
        named = (Named(at * 10 + i, f"c{i}", e, "long") for i, e in enumerate(exprs))
        plan = Project(at, tuple(named), plan)
    return plan


def star(length: int) -> Plan:
    """A left-deep block of joins below an aggregate: it has to be told as a whole."""
    plan: Plan = scan(0)
    for number in range(1, length):
        side = scan(number)
        condition = equal(output(plan)[0], side.columns[0])
        plan = Join(number, JoinKind.INNER, condition, plan, side)
    first, last = output(plan)[1], output(plan)[-1]
    total = AggregateCall("sum", (column(last),), "long", False, None)
    columns = (Named(1, "k", column(first), "long"), Named(2, "total", total, "long"))
    return Aggregate(0, (column(first),), columns, plan)


def branches(length: int) -> Plan:
    inputs = tuple(scan(number) for number in range(length))
    fields = tuple(Field(i, f"c{i}", "long") for i in range(3))
    return Union(0, fields, tuple(tuple(f.id for f in s.columns) for s in inputs), inputs)


def unions(length: int) -> Plan:
    plan: Plan = scan(0)
    for number in range(1, length):
        sides = (plan, scan(number))
        taken = tuple(tuple(field.id for field in output(side)) for side in sides)
        fields = tuple(Field(number * 10 + i, f"c{i}", "long") for i in range(3))
        plan = Union(number, fields, taken, sides)
    return plan


def listed(length: int) -> Plan:
    source = scan(0)
    return Filter(0, is_in(column(source.columns[0]), map(literal, range(length))), source)


def terms(length: int) -> Plan:
    source = scan(0)
    pairs = (conj(above(field, i) for field in source.columns) for i in range(length))
    return Filter(0, disj(pairs), source)


def columns(width: int) -> Plan:
    source = scan(0, width)
    kept = Filter(1, conj(Not(IsNull(column(field))) for field in source.columns), source)
    exprs = [Call("add", (column(field), literal(1)), "long") for field in source.columns]
    return Project(0, tuple(Named(i, f"c{i}", e, "long") for i, e in enumerate(exprs)), kept)


def totals(width: int) -> Plan:
    source = scan(0, width)
    key, *others = source.columns
    sums = (AggregateCall("sum", (column(field),), "long", False, None) for field in others)
    named = (Named(i, f"c{i}", e, "long") for i, e in enumerate(sums, 1))
    return Aggregate(0, (column(key),), (Named(0, "k", column(key), "long"), *named), source)


def joined(width: int) -> Plan:
    left, right = scan(0, width), scan(1, width)
    return Join(0, JoinKind.LEFT_OUTER, equal(left.columns[0], right.columns[0]), left, right)


@dataclass(frozen=True)
class Case:
    """A family of plans; the big one has `sources` sources and asks for no more than `proofs`."""

    plan: Callable[[int], Plan]
    size: int
    sources: int
    proofs: int


CASES = {
    "300 filters and projections": Case(chain, 300, 1, 8),
    "40 joins below an aggregate": Case(star, 40, 40, 400),
    "a union of 300": Case(branches, 300, 300, 8),
    "300 unions": Case(unions, 300, 300, 20),
    "a list of 2,000 values": Case(listed, 2000, 1, 4),
    "2,000 terms": Case(terms, 2000, 1, 4),
    "1,000 columns": Case(columns, 1000, 1, 8),
    "1,000 aggregates": Case(totals, 1000, 1, 8),
    "a join of 1,000 columns each": Case(joined, 1000, 2, 16),
}


class Counting:
    """A prover of its own memory that tells how many obligations and shapes it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.shapes: set[Obligation] = set()
        self._prove = RememberingProver(None)

    def __call__(self, obligation: Obligation) -> Verdict:
        self.asked += 1
        self.shapes.add(shape(obligation))
        return self._prove(obligation)


@pytest.fixture
def little_room() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    infer(scan(0), prove=Counting())
    infer(listed(2), prove=Counting())  # what is imported late is imported now
    sys.setrecursionlimit(len(inspect.stack()) + ROOM)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("little_room")
def test_size_is_no_problem(name: str) -> None:
    case, prove = CASES[name], Counting()
    program = infer(case.plan(case.size), prove=prove)
    assert len(program.sources) == case.sources
    assert not any(step.superset for step in program.steps), "exact, however big"
    assert len(prove.shapes) <= case.proofs
    assert codec.loads(codec.dumps(program), LineageProgram) == program
    for step in program.steps[1:]:
        anchor = {field.id: field.name for field in program.steps[step.anchor].columns}
        assert describe(step.predicate, {f.id: f.name for f in step.columns}, anchor)


@pytest.mark.parametrize("name", CASES)
def test_the_work_grows_with_the_size_and_no_faster(name: str) -> None:
    """Obligations asked, and what comes out, of a plan and of one of half the size."""
    case = CASES[name]

    def work(size: int) -> tuple[int, int]:
        prove = Counting()
        program = infer(case.plan(size), prove=prove)
        return prove.asked, sum(1 for step in program.steps for _ in walk(step.predicate))

    small, big = work(case.size // 4), work(case.size // 2)
    assert all(after <= 3 * before for before, after in zip(small, big, strict=True))


def test_there_is_too_little_room_for_recursion() -> None:
    """The check above does notice: what calls itself once per operator does not fit."""

    def depth(plan: Plan) -> int:
        return max((1 + depth(child) for child in children(plan)), default=0)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + ROOM)
    try:
        with pytest.raises(RecursionError):
            depth(chain(300))
    finally:
        sys.setrecursionlimit(limit)
