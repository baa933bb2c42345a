"""Random pipelines: plans of any operators over small hostile tables, reproducible by their seed.

Plans are well-formed by construction: places and column ids are unique, expressions refer to the
columns of their operator's inputs. As in a plan that Spark has optimised, a window function is only
computed if something above asks for it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Call,
    Column,
    Compare,
    Comparison,
    DataType,
    Expr,
    IsNull,
    Literal,
    Unknown,
    conj,
    data_type,
    disj,
    is_in,
    negate,
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
    Values,
    Window,
    output,
)
from lineage_core.plan.types import is_comparable
from tests.pipelines.interpreter import Table
from tests.pipelines.sources import ARRAY, VALUES, random_table
from tests.pipelines.values import Values as RowValues
from tests.pipelines.window_calls import random_call

_NUMBERS = ("long", "integer", "double")


@dataclass
class Generator:
    """Composes one plan; `ties` allows orders that do not tell all rows apart."""

    random: random.Random
    ties: bool = False
    tables: list[Table] = field(default_factory=list)
    literals: dict[int, Sequence[RowValues]] = field(default_factory=dict)
    places: int = -1
    ids: int = 0

    def __post_init__(self) -> None:
        for number in range(self.random.choice([1, 2, 2, 3, 4])):
            self.tables.append(random_table(self.random, f"t{number}"))

    def pipeline(self, operators: int) -> Plan:
        """Return a plan of about so many operators, whose columns can be written to a file."""
        plan = self.plan(operators)
        fields = output(plan)
        if not fields:  # Spark writes no files without columns
            return Project(self.place(), (self.named(Literal(1, "long")),), plan)
        if self.chance(0.3) and len(fields) > 1:
            fields = tuple(self.random.sample(fields, self.random.randint(1, len(fields))))
        if not self.chance(0.05):  # arrays are handed on, but rows cannot be told by them
            fields = tuple(f for f in fields if is_comparable(f.type)) or fields
        names = {f.name for f in fields}
        if len(names) < len(fields) or fields != output(plan):
            columns = tuple(Named(f.id, f"c{f.id}", _column(f), f.type) for f in fields)
            return Project(self.place(), columns, plan)
        return plan

    def plan(self, operators: int) -> Plan:
        if operators <= 0:
            return self.scan()
        kinds = self.random.choices(list(_OPERATORS), list(_OPERATORS.values()))
        make: Callable[[int], Plan] = getattr(self, kinds[0])
        return make(operators - 1)

    def place(self) -> int:
        self.places += 1
        return self.places

    def id(self) -> int:
        self.ids += 1
        return self.ids

    def field(self, type: DataType) -> Field:
        id = self.id()
        return Field(id, f"c{id}", type)

    def named(self, expr: Expr) -> Named:
        id = self.id()
        return Named(id, f"c{id}", expr, data_type(expr))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    # Columns and expressions.

    def columns(self, *plans: Plan) -> list[Column]:
        """Return the columns of plans whose values can be compared."""
        fields = (f for plan in plans for f in output(plan) if is_comparable(f.type))
        return [_column(f) for f in fields]

    def pick(self, plan: Plan, *types: DataType) -> Column | None:
        found = [c for c in self.columns(plan) if not types or c.type in types]
        return self.random.choice(found) if found else None

    def some(self, plan: Plan, most: int) -> list[Column]:
        """Return at most so many different columns, perhaps none."""
        found = self.columns(plan)
        return self.random.sample(found, min(self.random.randint(0, most), len(found)))

    def literal(self, type: DataType) -> Literal:
        return Literal(self.random.choice([v for v in VALUES[type] if v is not None]), type)

    def condition(self, *plans: Plan, depth: int = 2) -> Expr:
        """Return a condition on the columns of `plans` together."""
        if depth and self.chance(0.3):
            parts = [self.condition(*plans, depth=depth - 1) for _ in range(2)]
            return self.random.choice([conj(parts), disj(parts), negate(parts[0])])
        columns = self.columns(*plans)
        if not columns:
            return TRUE
        left = self.random.choice(columns)
        others = [c for c in columns if c.type == left.type and c != left]
        right: Expr = self.literal(left.type)
        if others and self.chance(0.4):
            right = self.random.choice(others)
        return self.test(left, right)

    def test(self, left: Column, right: Expr) -> Expr:
        """Return a condition on a column, which may compare it with something of its type."""
        ops = [*Comparison, Comparison.EQ, Comparison.GE, Comparison.LE]
        compared = Compare(self.random.choice(ops), left, right)
        choices: list[Expr] = [compared] * 7
        choices += [IsNull(left), negate(IsNull(left))]
        choices.append(is_in(left, [self.literal(left.type) for _ in range(3)]))
        if left.type == "boolean":
            choices += [left] * 6
        if left.type in _NUMBERS:
            choices.append(Compare(Comparison.GT, self.arithmetic(left), right))
        return self.random.choice(choices)

    def arithmetic(self, column: Column) -> Expr:
        name = self.random.choice(["add", "subtract", "multiply", "negative", "abs", "remainder"])
        if name in ("negative", "abs"):
            return Call(name, (column,), column.type)
        two = Literal(2.0 if column.type == "double" else 2, column.type)
        return Call(name, (column, two), column.type)

    def computed(self, plan: Plan) -> Expr:
        """Return an expression over the columns of a plan."""
        column = self.pick(plan)
        if column is None:
            return Literal(1, "long")
        type = column.type
        other = self.pick(plan, type) or column
        extreme = self.random.choice(["greatest", "least"])
        choices: list[Expr] = [
            Call("coalesce", (column, self.literal(type)), type),
            Call("case_when", (self.condition(plan), column, other), type),
            Call(extreme, (column, other), type),
            self.condition(plan),
            self.literal(type),
        ]
        if type in _NUMBERS:
            choices += [self.arithmetic(column)] * 2
        if type == "long":
            choices.append(Unknown("python_udf", (column,), "long", True))
            choices.append(Call("cast", (column,), "double"))
        if type == "string":
            choices.append(Call("concat", (column, other), "string"))
            choices.append(Call("length", (column,), "integer"))
        return self.random.choice(choices)

    def equalities(self, left: Plan, right: Plan, most: int = 2) -> list[Expr]:
        """Return comparisons of columns of `left` with such of `right`, mostly equalities."""
        found: list[Expr] = []
        ops = [Comparison.EQ] * 6 + [Comparison.SAME, Comparison.SAME, Comparison.LE, Comparison.GT]
        for _ in range(self.random.randint(1, most)):
            a = self.pick(left, *self.random.choice([("long",), ("long",), ()]))
            b = self.pick(right, a.type) if a else None
            if a and b:
                found.append(Compare(self.random.choice(ops), a, b))
        return found

    # Operators.

    def scan(self) -> Plan:
        if self.chance(0.04):
            return self.values()
        source = self.random.randrange(len(self.tables))
        columns = list(self.tables[source].columns)
        kept = [c for c in columns if self.chance(0.85)] or columns[:1]
        fields = tuple(Field(self.id(), name, type) for name, type in kept)
        return Scan(self.place(), source, self.tables[source].name, fields)

    def values(self) -> Plan:
        fields = tuple(self.field(type) for type in ("long", "string"))
        plan = Values(self.place(), fields)
        count = self.random.choice([0, 1, 3])
        self.literals[plan.at] = [
            {f.id: self.random.choice(VALUES[f.type]) for f in fields} for _ in range(count)
        ]
        return plan

    def filter(self, operators: int) -> Plan:
        child = self.plan(operators)
        return Filter(self.place(), self.condition(child), child)

    def sample(self, operators: int) -> Plan:
        child = self.plan(operators)
        return Filter(self.place(), Unknown("rand", (), "boolean", False), child)

    def project(self, operators: int) -> Plan:
        child = self.plan(operators)
        fields = [f for f in output(child) if self.chance(0.7)] or list(output(child))
        columns = [
            self.named(_column(f)) if self.chance(0.2) else Named(f.id, f.name, _column(f), f.type)
            for f in fields
        ]
        for _ in range(self.random.choice([0, 1, 2])):
            columns.append(self.named(self.computed(child)))
        return Project(self.place(), tuple(columns), child)

    def join(self, operators: int) -> Plan:
        kind = self.random.choices(list(JoinKind), [6, 2, 1, 2, 3, 3, 1])[0]
        return self.joined(kind, *self.two(operators))

    def two(self, operators: int) -> tuple[Plan, Plan]:
        share = self.random.randint(0, operators)
        return self.plan(share), self.plan(operators - share)

    def joined(self, kind: JoinKind, left: Plan, right: Plan) -> Plan:
        parts = [] if self.chance(0.03) else self.equalities(left, right)
        if self.chance(0.25):
            parts.append(self.condition(left, right))
        exists = self.field("boolean") if kind is JoinKind.EXISTENCE else None
        condition = conj(parts)
        if kind is JoinKind.LEFT_ANTI and parts and self.chance(0.3):  # NOT IN
            condition = disj([condition, IsNull(condition)])
        return Join(self.place(), kind, condition, left, right, exists)

    def outer_below_aggregate(self, operators: int) -> Plan:
        kind = self.random.choice([JoinKind.LEFT_OUTER, JoinKind.RIGHT_OUTER, JoinKind.FULL_OUTER])
        return self.aggregated(self.joined(kind, *self.two(operators)))

    def union(self, operators: int) -> Plan:
        inputs = [*self.two(operators)]
        if self.chance(0.2):
            inputs.append(self.scan())
        types = [c.type for c in self.columns(inputs[0])] or ["long"]
        fields = tuple(self.field(type) for type in self.random.sample(types, min(3, len(types))))
        taken = tuple(tuple(self.taken(plan, f.type) for f in fields) for plan in inputs)
        return Union(self.place(), fields, taken, tuple(inputs))

    def taken(self, plan: Plan, type: DataType) -> int | None:
        column = self.pick(plan, type)
        return column.id if column and not self.chance(0.05) else None

    def aggregate(self, operators: int) -> Plan:
        return self.aggregated(self.plan(operators))

    def aggregated(self, child: Plan) -> Plan:
        keys: list[Expr] = [*self.some(child, 2)]
        if self.chance(0.15):
            keys.append(self.computed(child))
        shown = [_key(k) or self.named(k) for k in keys if self.chance(0.85)]
        calls = [self.named(self.call(child)) for _ in range(self.random.randint(1, 2))]
        return Aggregate(self.place(), tuple(dict.fromkeys(keys)), _once([*shown, *calls]), child)

    def counted(self, operators: int) -> Plan:
        """Groups with all their keys and the number of their rows."""
        child = self.plan(operators)
        keys = self.some(child, 2)
        count = AggregateCall("count", (Literal(1, "integer"),), "long", False, None)
        columns = [*(Named(k.id, f"c{k.id}", k, k.type) for k in keys), self.named(count)]
        return Aggregate(self.place(), tuple(keys), tuple(columns), child)

    def having(self, operators: int) -> Plan:
        grouped = self.aggregate(operators)
        return Filter(self.place(), self.condition(grouped), grouped)

    def call(self, child: Plan) -> AggregateCall:
        only = self.condition(child) if self.chance(0.25) else None
        name = self.random.choice(["count", "count", "sum", "avg", "min", "max"])
        column = self.pick(child, *(_NUMBERS if name in ("sum", "avg") else ()))
        if column is None or self.chance(0.15):
            return AggregateCall("count", (Literal(1, "integer"),), "long", False, only)
        distinct = name in ("count", "sum") and self.chance(0.25)
        return AggregateCall(name, (column,), _result(name, column.type), distinct, only)

    def distinct(self, operators: int) -> Plan:
        child = self.plan(operators)
        columns = self.columns(child)
        kept = [c for c in columns if self.chance(0.5)] or columns[:1]
        named = tuple(Named(c.id, f"c{c.id}", c, c.type) for c in kept)
        return Aggregate(self.place(), tuple(kept), named, child)

    def set_operation(self, operators: int) -> Plan:
        """INTERSECT or EXCEPT, as Spark plans them."""
        left, right = self.two(operators)
        pairs = [(a, b) for a in self.columns(left) if (b := self.pick(right, a.type))][:3]
        kind = self.random.choice([JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI])
        both = Join(self.place(), kind, conj(same(a, b) for a, b in pairs), left, right)
        keys = tuple(a for a, _ in pairs) or tuple(self.columns(left)[:1])
        return Aggregate(self.place(), keys, tuple(self.kept(keys)), both)

    def kept(self, columns: Sequence[Column]) -> list[Named]:
        return [Named(c.id, f"c{c.id}", c, c.type) for c in columns]

    def grouping_sets(self, operators: int) -> Plan:
        child = self.plan(operators)
        keys = self.some(child, 2)
        value = self.pick(child, *_NUMBERS)
        sets = self.random.sample(range(2 ** len(keys)), self.random.randint(1, 2 ** len(keys)))
        fields = [*(self.field(k.type) for k in keys), self.field("long")]
        if value:
            fields.append(Field(value.id, "value", value.type))
        projections = tuple(
            (
                *(Literal(None, k.type) if hidden >> i & 1 else k for i, k in enumerate(keys)),
                Literal(hidden, "long"),
                *([value] if value else []),
            )
            for hidden in sets
        )
        expanded = Expand(self.place(), projections, tuple(fields), child)
        grouped = [_column(f) for f in fields[: len(keys) + 1]]
        columns = [*self.kept(grouped[: len(keys)]), self.named(self.call(expanded))]
        return Aggregate(self.place(), tuple(grouped), tuple(columns), expanded)

    def two_distincts(self, operators: int) -> Plan:
        """Two `count(distinct ...)`, by two aggregates over an Expand."""
        child = self.plan(operators)
        columns = self.columns(child)
        if len(columns) < 3:
            return child
        key, *counted = self.random.sample(columns, 3)
        fields = [Field(key.id, "key", key.type), *(self.field(c.type) for c in counted)]
        mark = self.field("long")
        projections = tuple(
            (
                key,
                *(c if i == j else Literal(None, c.type) for j, c in enumerate(counted)),
                Literal(i, "long"),
            )
            for i in range(2)
        )
        expanded = Expand(self.place(), projections, (*fields, mark), child)
        inner_keys = tuple(_column(f) for f in (*fields, mark))
        inner = Aggregate(self.place(), inner_keys, tuple(self.kept(inner_keys)), expanded)
        counts = [
            self.named(
                AggregateCall("count", (c,), "long", False,
                              Compare(Comparison.EQ, _column(mark), Literal(i, "long")))
            )
            for i, c in enumerate(inner_keys[1:3])
        ]
        return Aggregate(self.place(), (key,), tuple([*self.kept([key]), *counts]), inner)

    def generate(self, operators: int) -> Plan:
        child = self.plan(operators)
        arrays = [f for f in output(child) if f.type == ARRAY]
        outer = self.chance(0.4)
        count = self.pick(child, "long")
        if arrays:
            name = self.random.choice(["explode", "posexplode"])
            array = self.random.choice(arrays)
            made = [self.field("long")]
            made = [self.field("integer"), *made] if name == "posexplode" else made
            generator = Unknown(name, (_column(array),), ARRAY, True)
        elif count:
            value = self.pick(child)
            assert value is not None
            made = [self.field(value.type)]
            times = Call("remainder", (count, Literal(3, "long")), "long")
            generator = Unknown("replicate_rows", (times, value), ARRAY, True)
        else:
            return child
        kept = tuple(f for f in output(child) if f.type != ARRAY and self.chance(0.8))
        return Generate(self.place(), generator, outer, kept, tuple(made), child)

    # Operators with an order.

    def sort_keys(self, child: Plan, *types: DataType) -> tuple[SortKey, ...]:
        """Return keys by which the rows are in a total order, or in any if `ties`."""
        columns = self.columns(child)
        self.random.shuffle(columns)
        unique = [c for c in columns if c.type == "long"][:1] if self.ties else columns
        return tuple(SortKey(c, self.chance(0.6), self.chance(0.5)) for c in unique)

    def top(self, operators: int) -> Plan:
        child = self.plan(operators)
        if not (self.ties and self.chance(0.3)):
            child = Sort(self.place(), self.sort_keys(child), True, child)
        if self.chance(0.2):
            child = Project(self.place(), tuple(self.kept(self.columns(child))), child)
        if self.chance(0.3):
            child = Offset(self.place(), self.random.choice([0, 1, 3]), child)
        return Limit(self.place(), self.random.choice([0, 1, 2, 4, 7]), child)

    def offset(self, operators: int) -> Plan:
        child = self.plan(operators)
        sorted_ = Sort(self.place(), self.sort_keys(child), True, child)
        return Offset(self.place(), self.random.choice([1, 2, 4]), sorted_)

    def sort(self, operators: int) -> Plan:
        child = self.plan(operators)
        return Sort(self.place(), self.sort_keys(child), self.chance(0.7), child)

    def window(self, operators: int) -> Plan:
        child = self.plan(operators)
        partition = tuple(self.some(child, 2)[:1])
        by_distance = self.pick(child, "long", "double") if self.chance(0.4) else None
        if by_distance:
            order: tuple[SortKey, ...] = (SortKey(by_distance, self.chance(0.6), self.chance(0.5)),)
        else:
            order = () if self.chance(0.15) else self.sort_keys(child)
        total = bool(order) and (by_distance is None or self.ties)
        columns = tuple(
            self.named(random_call(self, child, order, total))
            for _ in range(self.random.choice([1, 1, 2]))
        )
        return Window(self.place(), partition, order, columns, child)

    def first_of_each(self, operators: int) -> Plan:
        """The first rows of each partition: a filter on a window function."""
        window = self.window(operators)
        assert isinstance(window, Window)
        numbers = [c for c in window.columns if c.type in ("integer", "long")]
        if not numbers:
            return Filter(self.place(), self.condition(window), window)
        number = self.random.choice(numbers)
        ops = [Comparison.EQ, Comparison.LE]
        bound = Literal(self.random.choice([1, 1, 2, 3]), number.type)
        first = Compare(self.random.choice(ops), Column(number.id, number.type), bound)
        return Filter(self.place(), first, window)

    # Subqueries.

    def scalar_subquery(self, operators: int) -> Plan:
        outer, inner = self.two(operators)
        columns = (self.named(self.call(inner)),)
        value = Aggregate(self.place(), (), columns, inner)
        joined = Join(self.place(), JoinKind.LEFT_OUTER, TRUE, outer, value)
        return self.compared(joined, outer, Column(columns[0].id, columns[0].type))

    def correlated_subquery(self, operators: int) -> Plan:
        outer, inner = self.two(operators)
        key = self.pick(inner, "long")
        own = self.pick(outer, "long")
        if key is None or own is None:
            return outer
        call = self.named(self.call(inner))
        value = Aggregate(self.place(), (key,), tuple([*self.kept([key]), call]), inner)
        condition = Compare(Comparison.EQ, key, own)
        joined = Join(self.place(), JoinKind.LEFT_OUTER, condition, outer, value)
        return self.compared(joined, outer, Column(call.id, call.type))

    def compared(self, joined: Plan, outer: Plan, value: Column) -> Plan:
        """Return the rows of a join with a subquery whose value they stand in some relation to."""
        own = self.pick(outer, value.type)
        right: Expr = own if own else self.literal(value.type)
        op = self.random.choice(list(Comparison))
        kept = Filter(self.place(), Compare(op, value, right), joined)
        columns = self.columns(outer)
        return Project(self.place(), tuple(self.kept(columns)), kept) if columns else kept


_OPERATORS = {
    "filter": 8,
    "project": 6,
    "join": 14,
    "outer_below_aggregate": 4,
    "union": 5,
    "aggregate": 6,
    "counted": 7,
    "having": 4,
    "distinct": 3,
    "set_operation": 3,
    "grouping_sets": 3,
    "two_distincts": 2,
    "generate": 4,
    "window": 6,
    "first_of_each": 5,
    "top": 5,
    "offset": 2,
    "sort": 1,
    "sample": 1,
    "scalar_subquery": 4,
    "correlated_subquery": 3,
}
"""What a plan is composed of, and how often."""


def _column(field: Field) -> Column:
    return Column(field.id, field.type)


def _key(key: Expr) -> Named | None:
    return Named(key.id, f"c{key.id}", key, key.type) if isinstance(key, Column) else None


def _once(columns: Sequence[Named]) -> tuple[Named, ...]:
    return tuple({column.id: column for column in columns}.values())


def _result(name: str, type: DataType) -> DataType:
    if name == "count" or (name == "sum" and type == "integer"):
        return "long"
    return "double" if name == "avg" else type
