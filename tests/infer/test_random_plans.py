"""Random plans over tiny tables: programs answer what an annotated interpreter says, row by row.

The interpreter runs a plan with plain Python, a row at a time, and carries with every row the
source rows it was made from (PredTrace Table 2: the whole group for an aggregate, all matching rows
for a semi join). It knows nothing of predicates. The program is evaluated naively, too: for each
target row, nested loops over the rows of each step. What is tested is inference: pushdown, proofs,
cuts and widening.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import TypeAlias

import pytest

from lineage_core.infer import infer
from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Anchor,
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    IsIn,
    IsNull,
    Literal,
    Not,
    Or,
    conj,
    disj,
    is_in,
    negate,
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
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    output,
)
from lineage_core.plan.traverse import nodes

Value: TypeAlias = "int | float | str | bool | None"


@dataclass(frozen=True)
class Row:
    """Values by column id (also of columns projected away) and source rows by scan."""

    values: Mapping[int, Value]
    lineage: Mapping[int, frozenset[int]]


# Spark's comparison: NaN is greatest and equals itself, 0.0 equals -0.0.


def order(left: Value, right: Value) -> int:
    a, b = (
        (math.isnan(v), 0.0 if math.isnan(v) else v) if isinstance(v, float) else v
        for v in (left, right)
    )
    return (a > b) - (a < b)  # type: ignore[operator]  # one column has one type


def same(left: Value, right: Value) -> bool:
    if left is None or right is None:
        return left is None and right is None
    return order(left, right) == 0


def evaluate(expr: Expr, row: Mapping[int, Value], anchor: Mapping[int, Value]) -> Value:
    def value(part: Expr) -> Value:
        return evaluate(part, row, anchor)

    match expr:
        case Column():
            return row[expr.id]
        case Anchor():
            return anchor[expr.id]
        case Literal():
            return expr.value
        case Compare(op, left, right):
            return compare(op, value(left), value(right))
        case Call("add", (left, right), _):
            a, b = value(left), value(right)
            return None if a is None or b is None else a + b  # type: ignore[operator]
        case _:
            return truth(expr, value)


def truth(expr: Expr, value: Callable[[Expr], Value]) -> Value:
    match expr:
        case IsNull(arg):
            return value(arg) is None
        case IsIn(arg, values):
            return either([compare(Comparison.EQ, value(arg), v.value) for v in values])
        case Not(arg):
            inner = value(arg)
            return None if inner is None else not inner
        case And(args):
            negated = either([None if (v := value(arg)) is None else not v for arg in args])
            return None if negated is None else not negated
        case Or(args):
            return either([value(arg) for arg in args])
        case _:
            raise NotImplementedError(expr)


def either(values: list[Value]) -> bool | None:
    return True if any(v is True for v in values) else None if None in values else False


def compare(op: Comparison, left: Value, right: Value) -> bool | None:
    if op is Comparison.SAME:
        return same(left, right)
    if left is None or right is None:
        return None
    sign = order(left, right)
    return {
        Comparison.EQ: sign == 0,
        Comparison.LT: sign < 0,
        Comparison.LE: sign <= 0,
        Comparison.GT: sign > 0,
        Comparison.GE: sign >= 0,
    }[op]


# The annotated interpreter.


def merge(rows: Iterable[Row]) -> dict[int, frozenset[int]]:
    merged: dict[int, frozenset[int]] = {}
    for row in rows:
        for scan, rids in row.lineage.items():
            merged[scan] = merged.get(scan, frozenset()) | rids
    return merged


def run(plan: Plan, tables: Mapping[int, list[dict[int, Value]]]) -> list[Row]:
    match plan:
        case Scan():
            return [
                Row(values, {plan.at: frozenset([rid])})
                for rid, values in enumerate(tables[plan.at])
            ]
        case Filter():
            rows = run(plan.child, tables)
            return [r for r in rows if evaluate(plan.condition, r.values, {}) is True]
        case Project():
            return [
                Row(
                    {**r.values, **{c.id: evaluate(c.expr, r.values, {}) for c in plan.columns}},
                    r.lineage,
                )
                for r in run(plan.child, tables)
            ]
        case Join(kind=JoinKind.INNER):
            right = run(plan.right, tables)
            return [
                Row({**a.values, **b.values}, merge([a, b]))
                for a in run(plan.left, tables)
                for b in right
                if evaluate(plan.condition, {**a.values, **b.values}, {}) is True
            ]
        case Join():
            return semi(plan, run(plan.left, tables), run(plan.right, tables))
        case Aggregate():
            return aggregate(plan, run(plan.child, tables))
        case Sort():
            return sort(plan, run(plan.child, tables))
        case Limit():
            return run(plan.child, tables)[: plan.count]
        case _:
            raise NotImplementedError(plan)


def semi(plan: Join, left: list[Row], right: list[Row]) -> list[Row]:
    found = []
    for a in left:
        matches = [
            b for b in right if evaluate(plan.condition, {**a.values, **b.values}, {}) is True
        ]
        if matches:
            found.append(Row(a.values, merge([a, *matches])))
    return found


def sort(plan: Sort, rows: list[Row]) -> list[Row]:
    def compare_rows(a: Row, b: Row) -> int:
        left, right = (evaluate(plan.keys[0].expr, row.values, {}) for row in (a, b))
        if left is None or right is None:
            return (left is not None) - (right is not None)
        return order(left, right)

    return sorted(rows, key=cmp_to_key(compare_rows))


def equal(left: Mapping[int, Value], right: Mapping[int, Value], ids: Iterable[int]) -> bool:
    return all(same(left[id], right[id]) for id in ids)


def aggregate(plan: Aggregate, rows: list[Row]) -> list[Row]:
    groups: list[tuple[list[Value], list[Row]]] = [] if plan.keys else [([], [])]
    for row in rows:
        key = [evaluate(k, row.values, {}) for k in plan.keys]
        for known, members in groups:
            if all(same(a, b) for a, b in zip(known, key, strict=True)):
                members.append(row)
                break
        else:
            groups.append((key, [row]))
    return [
        Row(
            {
                **{k.id: v for k, v in zip(plan.keys, key, strict=True) if isinstance(k, Column)},
                **{c.id: column(plan, c.expr, key, members) for c in plan.columns},
            },
            merge(members),
        )
        for key, members in groups
    ]


def column(plan: Aggregate, expr: Expr, key: list[Value], members: list[Row]) -> Value:
    if expr in plan.keys:
        return key[plan.keys.index(expr)]
    assert isinstance(expr, AggregateCall)
    kept = [m for m in members if not expr.filter or evaluate(expr.filter, m.values, {}) is True]
    values = [v for m in kept if (v := evaluate(expr.args[0], m.values, {})) is not None]
    return len(values) if expr.name == "count" else max(values, key=cmp_to_key(order), default=None)


# Naive evaluation of a program.


def answer(
    program: LineageProgram,
    plan: Plan,
    target: Mapping[int, Value],
    tables: Mapping[int, list[dict[int, Value]]],
) -> dict[int, frozenset[int]]:
    places = {node.at: node for node in nodes(plan)}
    selected: list[list[Mapping[int, Value]]] = [[target]]
    found: dict[int, frozenset[int]] = {}
    for step in program.steps[1:]:
        rows = [row.values for row in run(places[step.at], tables)]
        if step.kind is StepKind.SAVED:  # only the columns saved may be used
            ids = [f.id for f in step.columns]
            rows = [{id: row[id] for id in ids} for row in rows]
        kept = [
            any(evaluate(step.predicate, row, a) is True for a in selected[step.anchor])
            for row in rows
        ]
        selected.append([row for row, keep in zip(rows, kept, strict=True) if keep])
        if step.kind is StepKind.SOURCE:
            found[step.at] = frozenset(i for i, keep in enumerate(kept) if keep)
    return found


# Random plans.

VALUES: dict[str, list[Value]] = {
    "long": [None, 1, 2, 3],
    "string": [None, "a", "b"],
    "double": [None, 0.0, -0.0, math.nan, 1.5],
}


@dataclass
class Generator:
    """Makes plans of the operators that have rules, over at most four small scans."""

    random: random.Random
    tables: dict[int, list[dict[int, Value]]] = field(default_factory=dict)
    places: int = 0
    ids: int = 0

    def place(self) -> int:
        self.places += 1
        return self.places

    def id(self) -> int:
        self.ids += 1
        return self.ids

    def scan(self) -> Plan:
        at = self.place()
        kinds = ["long", "string", self.random.choice(["long", "double"])]
        columns = tuple(Field(self.id(), kind, kind) for kind in kinds)
        size = self.random.choice([0, 3, 5, 5, 7])
        self.tables[at] = [
            {f.id: self.random.choice(VALUES[f.type]) for f in columns} for _ in range(size)
        ]
        return Scan(at, at, f"t{at}", columns)

    def plan(self, depth: int) -> Plan:
        if depth == 0:
            return self.scan()
        make: Callable[[int], Plan] = self.random.choice(
            [self.filter, self.project, self.join, self.join, self.aggregate, self.limit]
        )
        return make(depth - 1)

    def pick(self, plan: Plan, kind: str | None = None) -> Column | None:
        fields = [f for f in output(plan) if kind in (None, f.type)]
        return Column((f := self.random.choice(fields)).id, f.type) if fields else None

    def condition(self, *plans: Plan) -> Expr:
        left = self.pick(self.random.choice(plans))
        assert left is not None
        right: Expr = Literal(self.random.choice(VALUES[left.type][1:]), left.type)
        other = self.pick(self.random.choice(plans), left.type)
        if other is not None and self.random.random() < 0.5:
            right = other
        match self.random.randrange(6):
            case 0:
                return negate(IsNull(left))
            case 1:
                return is_in(left, [Literal(v, left.type) for v in VALUES[left.type][1:3]])
            case 2:
                return disj([Compare(Comparison.EQ, left, right), IsNull(left)])
            case _:
                return Compare(self.random.choice(list(Comparison)), left, right)

    def filter(self, depth: int) -> Plan:
        child = self.plan(depth)
        return Filter(self.place(), self.condition(child), child)

    def project(self, depth: int) -> Plan:
        child = self.plan(depth)
        fields = self.random.sample(output(child), self.random.randint(1, len(output(child))))
        columns = [
            Named(f.id, f.name, Column(f.id, f.type), f.type)
            if self.random.random() < 0.6
            else Named(self.id(), f.name, Column(f.id, f.type), f.type)
            for f in fields
        ]
        number = self.pick(child, "long")
        if number is not None and self.random.random() < 0.5:
            total = Call("add", (number, self.pick(child, "long") or number), "long")
            columns.append(Named(self.id(), "sum", total, "long"))
        return Project(self.place(), tuple(columns), child)

    def join(self, depth: int) -> Plan:
        left, right = self.plan(depth), self.plan(self.random.randint(0, depth))
        kind = self.random.choice([JoinKind.INNER, JoinKind.INNER, JoinKind.LEFT_SEMI])
        parts: list[Expr] = []
        for _ in range(self.random.choice([1, 1, 2])):
            a = self.pick(left)
            assert a is not None
            b = self.pick(right, a.type)
            if b is not None:
                ops = [Comparison.EQ] * 4 + [Comparison.SAME, Comparison.LE]
                parts.append(Compare(self.random.choice(ops), a, b))
        if self.random.random() < 0.2:
            parts.append(self.condition(left, right))
        return Join(self.place(), kind, conj(parts) if parts else TRUE, left, right)

    def aggregate(self, depth: int) -> Plan:
        child = self.plan(depth)
        count = self.random.choice([0, 1, 1, 2])
        fields = self.random.sample(output(child), min(count, len(output(child))))
        keys = tuple(Column(f.id, f.type) for f in fields)
        columns = [Named(k.id, "key", k, k.type) for k in keys if self.random.random() < 0.8]
        arg = self.pick(child)
        assert arg is not None
        only = self.condition(child) if self.random.random() < 0.3 else None
        columns.append(
            Named(self.id(), "n", AggregateCall("count", (arg,), "long", False, only), "long")
        )
        columns.append(
            Named(self.id(), "m", AggregateCall("max", (arg,), arg.type, False, None), arg.type)
        )
        return Aggregate(self.place(), keys, tuple(columns), child)

    def limit(self, depth: int) -> Plan:
        child = self.plan(depth)
        key = self.pick(child)
        assert key is not None
        ordered = Sort(self.place(), (SortKey(key, True, True),), True, child)
        return Limit(self.place(), self.random.choice([1, 2, 4]), ordered)


@pytest.mark.parametrize("batch", range(6))
def test_program_answers_as_the_annotated_interpreter(batch: int) -> None:
    exact = supersets = 0
    for seed in range(batch * 30, batch * 30 + 30):
        generator = Generator(random.Random(seed))
        plan = generator.plan(generator.random.choice([1, 2, 3, 3]))
        program = infer(plan, ways=(StepKind.SAVED,))
        loose = infer(plan, ways=())
        rows = run(plan, generator.tables)
        ids = [f.id for f in output(plan)]
        for row in rows[:6]:
            target = {id: row.values[id] for id in ids}
            truth = merge(r for r in rows if equal(r.values, target, ids))
            context = (seed, target, plan)
            for candidate in (program, loose):
                found = answer(candidate, plan, target, generator.tables)
                for step in candidate.steps:
                    if step.kind is not StepKind.SOURCE:
                        continue
                    true = truth.get(step.at, frozenset())
                    assert found[step.at] >= true, context
                    if step.superset:
                        supersets += 1
                    else:
                        exact += 1
                        assert found[step.at] == true, context
    assert exact > 50 and supersets > 0


def test_everything_is_exact_when_intermediates_may_be_saved() -> None:
    exact = 0
    for seed in range(500, 540):
        generator = Generator(random.Random(seed))
        plan = generator.plan(3)
        limits = any(isinstance(node, Limit) for node in nodes(plan))
        reasons = [step.superset for step in infer(plan, ways=(StepKind.SAVED,)).steps if step.superset]
        # A row may equal one that a limit cut off, unless the rows under it have a key.
        assert not reasons or limits, (seed, reasons, plan)
        assert all(why[0].startswith("Limit") for why in reasons), (seed, reasons, plan)
        exact += not reasons
    assert exact > 15


def test_an_opaque_operator_is_named_and_covers_everything_below() -> None:
    generator = Generator(random.Random(1))
    left, right = generator.scan(), generator.scan()
    below = Filter(generator.place(), generator.condition(left), left)
    opaque = Opaque(77, "Window", "windows are not captured yet", output(left), (below, right))
    program = infer(opaque, ways=(StepKind.SAVED,))
    assert not program.saved
    for step in program.steps[1:]:
        assert step.superset == ("Window (operator 77): windows are not captured yet",)
    assert program.steps[1].predicate == below.condition
    assert program.steps[2].predicate == TRUE
