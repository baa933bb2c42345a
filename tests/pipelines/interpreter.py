"""The oracle: a naive interpreter of plans that carries with every row where it was made from.

It runs an IR plan in plain Python, a row at a time, and gives every row of every operator, for each
scan, the rids it was made from: PredTrace's Table 2, extended to windows, unions and subqueries. It
knows nothing of predicates, proofs or programs. A row keeps the values of all columns below it, by
id, also those that were projected away: they are what an intermediate may be asked for.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cmp_to_key
from typing import TypeAlias
from zlib import crc32

from lineage_core.plan.expr import AggregateCall, Column, Expr, Literal, Unknown
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
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
    Window,
    output,
    rid_field,
)
from lineage_core.plan.relation import Values as ValuesPlan
from lineage_core.plan.traverse import fold, nodes, rewrite
from tests.pipelines.aggregates import aggregate
from tests.pipelines.values import Value, Values, canonical, evaluate, holds, ordered
from tests.pipelines.windows import Frames, window_value

Lineage: TypeAlias = Mapping[int, frozenset[int]]
"""The rids a row was made from, by place of the scan."""

MOST_ROWS = 90
"""An operator with more rows than this makes a pipeline too big to be tested."""


class TooBigError(Exception):
    """A pipeline has more rows somewhere than are fun to compute."""


@dataclass(frozen=True, slots=True)
class Table:
    """A dataset: `rows` by rid, their values in the order of `columns` (name and type)."""

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: Mapping[int, tuple[Value, ...]]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of an operator; `rank` is its place in a sorted relation, shared by peers."""

    values: Values
    lineage: Lineage
    rank: int = 0


@dataclass
class Interpreter:
    """Runs plans over `tables`, the sources by number.

    Attributes:
        tables: the sources.
        literals: the rows of `Values` operators, by place.
        seed: decides among rows that the order does not tell apart.
        only: rids that scans are cut down to, by place; None for all.
        rows: what each operator gave, by place.
        tied: whether a row's being there, or its lineage, was decided by `seed` somewhere.
    """

    tables: Sequence[Table]
    literals: Mapping[int, Sequence[Values]]
    seed: int = 0
    only: Lineage | None = None
    rows: dict[int, list[Row]] = field(default_factory=dict)
    tied: bool = False

    def run(self, plan: Plan) -> list[Row]:
        """Return the rows of `plan`, in their order where it has one.

        Raises:
            TooBigError: an operator has too many.
        """
        return fold(plan, self._step)

    def _step(self, plan: Plan, inputs: tuple[list[Row], ...]) -> list[Row]:
        rows = self._rows(plan, inputs)
        if len(rows) > MOST_ROWS:
            raise TooBigError(plan.at)
        self.rows[plan.at] = rows
        return rows

    def _rows(self, plan: Plan, inputs: tuple[list[Row], ...]) -> list[Row]:
        match plan:
            case Scan():
                return self._scan(plan)
            case ValuesPlan():
                return [Row(values, {}) for values in self.literals[plan.at]]
            case Join():
                return _join(plan, *inputs)
            case Union():
                return _union(plan, inputs)
            case Sort() | Limit() | Offset() | Window():
                return self._in_order(plan, inputs[0])
            case _:
                return _row_wise(plan, inputs[0])

    def _scan(self, plan: Scan) -> list[Row]:
        table = self.tables[plan.source]
        names = [name for name, _ in table.columns]
        places = {f.id: names.index(f.name) for f in plan.columns if f.name in names}
        return [
            Row(
                {id: values[place] for id, place in places.items()} | {rid_field(plan).id: rid},
                {plan.at: frozenset([rid])},
            )
            for rid, values in table.rows.items()
            if self.only is None or rid in self.only.get(plan.at, ())
        ]

    def _in_order(self, plan: Sort | Limit | Offset | Window, rows: list[Row]) -> list[Row]:
        match plan:
            case Sort():
                parts = self._peers(plan.keys, rows)
                return [replace(r, rank=i) for i, peers in enumerate(parts) for r in peers]
            case Limit():
                self._cut(rows, plan.count)
                return rows[: plan.count]
            case Offset():
                self._cut(rows, plan.count)
                return rows[plan.count :]
            case Window():
                partitions = _grouped(rows, plan.partition)
                return [row for part in partitions for row in self._window(plan, part)]

    def _cut(self, rows: list[Row], count: int) -> None:
        if 0 < count < len(rows) and rows[count - 1].rank == rows[count].rank:
            self.tied = True

    def _peers(self, keys: Sequence[SortKey], rows: list[Row]) -> list[list[Row]]:
        """Return the rows in order, those together that the order does not tell apart."""

        def by_keys(left: tuple[list[Value], Row], right: tuple[list[Value], Row]) -> int:
            return ordered(keys, left[0], right[0])

        shuffled = [(_values([key.expr for key in keys], row), row) for row in rows]
        random.Random(self.seed).shuffle(shuffled)
        shuffled.sort(key=cmp_to_key(by_keys))
        parts: list[list[Row]] = []
        for number, (values, row) in enumerate(shuffled):
            if number and ordered(keys, shuffled[number - 1][0], values) == 0:
                parts[-1].append(row)
            else:
                parts.append([row])
        return parts

    def _window(self, plan: Window, partition: list[Row]) -> list[Row]:
        peers = self._peers(plan.order, partition)
        rows = [row for part in peers for row in part]
        keys = [_values([key.expr for key in plan.order], row) for row in rows]
        frames = Frames(plan.order, keys, [len(part) for part in peers])
        found = []
        for number, row in enumerate(rows):
            values = dict(row.values)
            seen = {number}
            for column in plan.columns:
                assert not isinstance(column.expr, Column | Literal)
                call = window_value(column.expr, frames, number, [r.values for r in rows])
                values[column.id] = call.value
                seen.update(call.rows)
                self.tied |= call.tied
            found.append(Row(values, merged(rows[i] for i in sorted(seen))))
        return found


def merged(rows: Iterable[Row]) -> Lineage:
    """Return the lineage of a row that is made from `rows`."""
    found: dict[int, frozenset[int]] = {}
    for row in rows:
        for scan, rids in row.lineage.items():
            found[scan] = found.get(scan, frozenset()) | rids
    return found


def _values(exprs: Iterable[Expr], row: Row) -> list[Value]:
    return [evaluate(expr, row.values) for expr in exprs]


def _named(columns: Iterable[Named], row: Row) -> Values:
    return {column.id: evaluate(column.expr, row.values) for column in columns}


def _grouped(rows: Iterable[Row], keys: Sequence[Expr]) -> list[list[Row]]:
    groups: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(map(canonical, _values(keys, row))), []).append(row)
    return list(groups.values())


def _row_wise(plan: Plan, rows: list[Row]) -> list[Row]:
    match plan:
        case Filter(condition=Unknown(deterministic=False)):
            return [r for r in rows if crc32(repr(sorted(r.lineage.items())).encode()) % 3]
        case Filter():
            return [r for r in rows if holds(plan.condition, r.values)]
        case Project():
            return [replace(r, values={**r.values, **_named(plan.columns, r)}) for r in rows]
        case Expand():
            ids = [f.id for f in plan.columns]
            return [
                Row({**r.values, **dict(zip(ids, _values(exprs, r), strict=True))}, r.lineage)
                for r in rows
                for exprs in plan.projections
            ]
        case Generate():
            return [row for r in rows for row in _generate(plan, r)]
        case Aggregate():
            groups = _grouped(rows, plan.keys) if plan.keys else [rows]
            return [_aggregate(plan, group) for group in groups]
        case _:
            raise NotImplementedError(plan)


def _generate(plan: Generate, row: Row) -> list[Row]:
    generator = plan.generator
    assert isinstance(generator, Unknown)
    arg = evaluate(generator.args[0], row.values)
    made: list[tuple[Value, ...]]
    match generator.name:
        case "explode":
            made = [(value,) for value in arg or ()]
        case "posexplode":
            made = list(enumerate(arg or ()))
        case _:  # replicate_rows
            made = [tuple(_values(generator.args[1:], row))] * (arg or 0)
    ids = [f.id for f in plan.generated]
    if not made and plan.outer:
        made = [(None,) * len(ids)]
    return [Row({**row.values, **dict(zip(ids, m, strict=True))}, row.lineage) for m in made]


def _union(plan: Union, inputs: tuple[list[Row], ...]) -> list[Row]:
    found = []
    for rows, taken in zip(inputs, plan.taken, strict=True):
        pairs = list(zip((f.id for f in plan.columns), taken, strict=True))
        for row in rows:
            values = {id: None if own is None else row.values[own] for id, own in pairs}
            found.append(Row({**row.values, **values}, row.lineage))
    return found


def _aggregate(plan: Aggregate, group: list[Row]) -> Row:
    keys = dict(zip(plan.keys, _values(plan.keys, group[0]) if plan.keys else [], strict=True))
    members = [row.values for row in group]

    def known(expr: Expr) -> Expr | None:
        if expr in keys:
            return Literal(keys[expr], "")
        if isinstance(expr, AggregateCall):
            return Literal(aggregate(expr, members), expr.type)
        return None

    values = {key.id: value for key, value in keys.items() if isinstance(key, Column)}
    values |= {c.id: evaluate(rewrite(c.expr, known), {}) for c in plan.columns}
    return Row(values, merged(group))


def _join(plan: Join, left: list[Row], right: list[Row]) -> list[Row]:
    if len(left) * len(right) > MOST_ROWS**2 / 2:
        raise TooBigError(plan.at)
    partners = [
        [b for b in right if holds(plan.condition, {**a.values, **b.values})] for a in left
    ]
    if plan.kind.pairs:
        return _pairs(plan, left, right, partners)
    found = zip(left, partners, strict=True)
    match plan.kind:
        case JoinKind.LEFT_SEMI:
            return [Row(a.values, merged([a, *those])) for a, those in found if those]
        case JoinKind.LEFT_ANTI:
            return [Row(a.values, a.lineage) for a, those in found if not those]
        case _:
            assert plan.exists is not None
            id = plan.exists.id
            return [Row({**a.values, id: bool(t)}, merged([a, *t])) for a, t in found]


def _pairs(
    plan: Join, left: list[Row], right: list[Row], partners: list[list[Row]]
) -> list[Row]:
    rows = [
        Row({**a.values, **b.values}, merged([a, b]))
        for a, those in zip(left, partners, strict=True)
        for b in those
    ]
    if plan.kind.keeps_left:
        nothing = _nulls(plan.right)
        alone = (a for a, those in zip(left, partners, strict=True) if not those)
        rows += [Row({**a.values, **nothing}, a.lineage) for a in alone]
    if plan.kind.keeps_right:
        nothing = _nulls(plan.left)
        taken = {id(b) for those in partners for b in those}
        rows += [Row({**nothing, **b.values}, b.lineage) for b in right if id(b) not in taken]
    return rows


def _nulls(plan: Plan) -> dict[int, None]:
    """Return null for every column of `plan` or below it."""
    ids = [field.id for node in nodes(plan) for field in output(node)]
    rids = [rid_field(node).id for node in nodes(plan) if isinstance(node, Scan)]
    return dict.fromkeys([*ids, *rids])

