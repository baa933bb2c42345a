"""The pieces of a path's query: base relations, conditions on one row and between two.

A `Path` goes from the step whose rows are selected to the step whose rows are wanted: down from the
target for backward, up from a source for forward. Between two steps stands the same predicate
`P(x, a)` in either direction. Its conjuncts over one row alone go to that row's scan; the rest is
the join's condition, whose equalities are plain conjuncts, so that engines hash them. Where nothing
but existence relates two steps the condition is true: all rows or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lineage_core.errors import CorruptError
from lineage_core.index.record import Direction
from lineage_core.plan.expr import (
    TRUE,
    Anchor,
    And,
    Column,
    Compare,
    Comparison,
    Expr,
    Or,
    conjuncts,
)
from lineage_core.plan.relation import Scan, is_rid
from lineage_core.plan.traverse import anchor_ids, column_ids, with_operands
from lineage_core.query import sql
from lineage_core.query.compile import Resolve, Sql, compile_expr
from lineage_core.query.plans import column_name, compile_plan
from lineage_core.query.protocol import FILE, ROW, Engine, Given, value
from lineage_core.query.relations import Computed, Relations
from lineage_core.query.selection import Found, Rids, Rows, Selection, Where
from lineage_core.query.types import is_literal
from lineage_core.snapshot import RID_SHIFT, Snapshot

ORIGIN = "origin"
"""Column of rows that were found: the rid of the row of the question that each was found for."""

PRIOR = "prior"
"""Relation of a query: the joined rows of the steps before a computed one."""

SCANNED = "x"
"""What the base relation of a scan is called where its columns get other names."""

_GIVEN = "given"
_RID_PLACE = 1 << 30
"""Stands for a column's position where the column is the rid, which has none."""

Place: TypeAlias = Callable[[Column | Anchor], tuple[str, Snapshot | None, int]]
"""Where a column is found: the table, the snapshot it is of, if any, and its position there."""


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A chain of steps, each the anchor of the next or of the one before, and where it starts.

    A path of one step asks for the selected rows themselves.
    """

    relations: Relations
    steps: tuple[int, ...]
    selection: Selection

    @property
    def first(self) -> Snapshot:
        """What the rows selected are rows of."""
        return self.relations.snapshots[self.steps[0]]

    @property
    def last(self) -> Snapshot:
        """What the rows wanted are rows of."""
        return self.relations.snapshots[self.steps[-1]]

    @property
    def goes_down(self) -> bool:
        """Whether it goes from an output towards its sources; an anchor has the lower number."""
        return self.steps[0] <= self.steps[-1]

    @property
    def direction(self) -> Direction:
        """Which way it goes."""
        return Direction.BACKWARD if self.goes_down else Direction.FORWARD


class Chain:
    """The pieces of a path's query: base relations, conditions on one row and between two."""

    def __init__(self, path: Path, engine: Engine, rids_of: set[int]) -> None:
        self.tables: dict[str, Given] = {}
        self.needed: dict[int, set[int]] = {step: set() for step in path.steps}
        self._path = path
        self._relations = path.relations
        self._steps = path.relations.program.steps
        self._engine = engine
        # Rows that were found have no place; they have the rid of the row asked about.
        self._rids_of = rids_of - ({path.steps[0]} if isinstance(path.selection, Found) else set())
        # The edges walked, each by the step that hangs from the other.
        self._hanging = [step for step in path.steps if self._steps[step].anchor in self.needed]
        for step in self._hanging:
            predicates = [self._steps[step].predicate, *(p for _, p in self._steps[step].reduced)]
            self._need(step, column_ids(predicates[0]))
            for predicate in predicates:
                self._need(self._steps[step].anchor, anchor_ids(predicate))

    def scan(self, step: int) -> exp.Subquery:
        """Return the base relation of a step, aliased as the step."""
        if step in self._relations.computed:
            return sql.named(self.computed(step), alias(step))
        columns = tuple(sorted(self.needed[step]))
        snapshot = self._relations.snapshots[step]
        scan = self._engine.scan(snapshot, columns, rids=step in self._rids_of)
        return sql.named(scan, alias(step))

    def start(self) -> exp.Select:
        """Return the selected rows of the path's first step."""
        step = self._path.steps[0]
        match self._path.selection:
            case Where(predicate):
                self.needed[step].update(column_ids(predicate))
                query = sql.select([star(step)], self.scan(step))
                return sql.where(query, [*self._given(step, predicate), *self.alone(step)])
            case Found(table):
                given = sql.table(self._register(table), alias(step))
                names = [value(column) for column in sorted(self.needed[step])]
                names += [ORIGIN] if ORIGIN in table.schema.names else []
                columns = [exp.column(name, table=alias(step)) for name in names]
                query = sql.where(sql.select(columns, given), self.alone(step))
                return query.distinct(copy=False)  # many agree in what is needed of them
            case Rids(rids):
                self._rids_of.add(step)
                on = [_equals_half(step, half) for half in (FILE, ROW)]
                table = _halves(rids)
            case Rows(columns, table):
                self.needed[step].update(columns)
                on = [self._equals_given(step, column, table) for column in columns]
        query = sql.select([star(step)], self.scan(step))
        given = sql.table(self._register(table), _GIVEN)
        return sql.where(sql.join(query, given, _all_of(on), "semi"), self.alone(step))

    def joined(self, steps: Sequence[int], columns: Sequence[Sql]) -> exp.Select:
        """Return `columns` of the joined rows of `steps`, a beginning of the path's."""
        query = sql.select(columns, sql.named(self.start(), alias(steps[0])))
        for before, step in pairwise(steps):
            query = sql.join(query, self.scan(step), self.link(before, step), "inner")
            query = sql.where(query, self.alone(step))
        return query

    def pairs_once(self) -> bool:
        """Whether the joined rows of the path hold no pair of rids of its ends twice."""
        found = isinstance(self._path.selection, Found)
        return len(self._path.steps) == 2 and not (found and self.needed[self._path.steps[0]])

    def kept(self, step: int) -> list[Sql]:
        """Return the columns of a step that the walked edges refer to."""
        halves = [FILE, ROW] if step in self._rids_of else []
        names = [*map(value, sorted(self.needed[step])), *halves]
        return [exp.column(name, table=alias(step)) for name in names]

    def rid(self, step: int) -> Sql:
        """Return the rid of a step's row: for rows that were found, that of the row asked about."""
        if step == self._path.steps[0] and isinstance(self._path.selection, Found):
            return exp.column(ORIGIN, table=alias(step))
        return _rid(alias(step))

    def alone(self, step: int) -> list[Sql]:
        """Return the conditions of the walked edges on the row of `step` alone."""
        conditions = []
        for child in self._hanging:
            for conjunct in conjuncts(self._steps[child].predicate):
                is_child = step == child and not anchor_ids(conjunct)
                is_anchor = step == self._steps[child].anchor and not column_ids(conjunct)
                if is_child or (is_anchor and anchor_ids(conjunct)):
                    conditions.append(self._compile(child, conjunct))
        return conditions

    def link(self, one: int, other: int) -> Sql:
        """Return the condition between the rows of two neighbours; true if there is none."""
        child = other if self._steps[other].anchor == one else one
        predicate = self._steps[child].predicate
        between = [c for c in conjuncts(predicate) if column_ids(c) and anchor_ids(c)]
        return _all_of([self._compile(child, conjunct) for conjunct in between])

    def computed(self, step: int) -> exp.Select:
        """Return the rows of a computed step: its columns, as `k<i>`."""
        computed = self._relations.computed[step]
        # Going down, the rows of the anchor are there already, and cut the scans down.
        hangs = self._steps[step].anchor in self._path.steps[:-1] and self._path.goes_down
        reduced = dict(self._steps[step].reduced) if hangs else {}

        def leaf(scan: Scan) -> exp.Select:
            return self._leaf(step, computed, scan, conjuncts(reduced.get(scan.at, TRUE)))

        rows = compile_plan(computed.plan, leaf, self._engine.dialect)
        columns = [
            sql.as_(exp.column(column_name(f.id), table=SCANNED), value(i))
            for i, f in enumerate(self._steps[step].columns)
        ]
        return sql.select(columns, sql.named(rows, SCANNED))

    def _leaf(
        self, step: int, computed: Computed, scan: Scan, reduced: tuple[Expr, ...]
    ) -> exp.Select:
        """Return the rows of a scan, cut down to those that `reduced` says are enough."""
        snapshot, ordinals = computed.scans[scan.at], computed.ordinals[scan.at]
        anchor = self._steps[step].anchor

        def place(column: Column | Anchor) -> tuple[str, Snapshot | None, int]:
            if isinstance(column, Column):
                return SCANNED, snapshot, ordinals.get(column.id, _RID_PLACE)
            ordinal = self._ordinal(anchor, column.id)
            return alias(anchor), self._relations.snapshots.get(anchor), ordinal

        # What is said of the scan alone, the plan says as well: engines push that down themselves.
        # Between scan and anchor it is worth it where they can hash. No row has to be left out.
        links = [c for c in reduced if column_ids(c) and anchor_ids(c) and _is_equality(c)]
        used = {f.id for f in scan.columns}.union(*map(column_ids, links))
        numbers = {ordinals[id] for id in used if not is_rid(id)}
        base = self._engine.scan(snapshot, tuple(sorted(numbers)), rids=any(map(is_rid, used)))
        query = sql.select(scanned(scan, ordinals), sql.named(base, SCANNED))
        if not links:
            return query
        on = _all_of([self._compile_at(c, place) for c in links])
        return sql.join(query, sql.table(PRIOR, alias(anchor)), on, "semi")

    def _compile(self, child: int, conjunct: Expr) -> Sql:
        def place(column: Column | Anchor) -> tuple[str, Snapshot | None, int]:
            step = child if isinstance(column, Column) else self._steps[child].anchor
            scanned_rid = self._is_scanned_rid(step, column.id)
            ordinal = _RID_PLACE if scanned_rid else self._ordinal(step, column.id)
            return alias(step), self._relations.snapshots.get(step), ordinal

        return self._compile_at(conjunct, place)

    def _compile_at(self, conjunct: Expr, place: Place) -> Sql:
        def resolve(column: Column | Anchor) -> Sql:
            table, _, ordinal = place(column)
            return _rid(table) if ordinal == _RID_PLACE else exp.column(value(ordinal), table=table)

        def never_null(side: Expr) -> bool:
            if not isinstance(side, Column | Anchor):
                return is_literal(side)
            _, snapshot, ordinal = place(side)
            if ordinal == _RID_PLACE:
                return True
            return snapshot is not None and self._engine.never_null(snapshot, ordinal)

        return compile_expr(_selecting(conjunct, never_null), resolve, self._engine.dialect)

    def _given(self, step: int, predicate: Expr) -> Iterable[Sql]:
        resolve = _by_position(alias(step))
        for conjunct in conjuncts(predicate):
            yield compile_expr(_selecting(conjunct, is_literal), resolve, self._engine.dialect)

    def _equals_given(self, step: int, column: int, given: pa.Table) -> Sql:
        type = self._relations.snapshots[step].columns[column].type
        op = Comparison.SAME if given.column(value(column)).null_count else Comparison.EQ
        equal = Compare(op, Column(column, type), Anchor(column, type))  # the anchor: the given row
        return compile_expr(equal, _by_position(alias(step)), self._engine.dialect)

    def _register(self, table: Given) -> str:
        name = f"{_GIVEN}_{uuid4().hex}"
        self.tables[name] = table
        return name

    def _need(self, step: int, ids: Iterable[int]) -> None:
        for id in ids:
            if self._is_scanned_rid(step, id):
                self._rids_of.add(step)
            else:
                self.needed[step].add(self._ordinal(step, id))

    def _is_scanned_rid(self, step: int, id: int) -> bool:
        """Whether a column is the rid of a relation that is read; a computed one holds values."""
        return is_rid(id) and step not in self._relations.computed

    def _ordinal(self, step: int, id: int) -> int:
        try:
            return self._relations.ordinals[step][id]
        except KeyError:
            name = self._steps[step].name
            raise CorruptError(
                f"the lineage program refers to a column that {name} lacks"
            ) from None


def _selecting(expr: Expr, never_null: Callable[[Expr], bool]) -> Expr:
    """Return a predicate that is true for the same rows, with plain equality where nulls cannot be.

    Engines push plain equality further down: DuckDB skips row groups by it, not by the null-safe
    one.
    """
    match expr:
        case Compare(Comparison.SAME, left, right):
            # The anchor's side first: anchors are small, so looking at their footers is cheap.
            sides = sorted((left, right), key=lambda side: not isinstance(side, Anchor))
            return Compare(Comparison.EQ, left, right) if any(map(never_null, sides)) else expr
        case And(args) | Or(args):
            return with_operands(expr, tuple(_selecting(arg, never_null) for arg in args))
        case _:
            return expr


def _by_position(alias: str) -> Resolve:
    def resolve(column: Column | Anchor) -> Sql:
        return exp.column(value(column.id), table=_GIVEN if isinstance(column, Anchor) else alias)

    return resolve


def _equals_half(step: int, half: str) -> Sql:
    given = exp.column(half, table=_GIVEN)
    return exp.EQ(this=exp.column(half, table=alias(step)), expression=given)


def _halves(rids: pa.Int64Array) -> pa.Table:
    file = pc.shift_right(rids, pa.scalar(RID_SHIFT, pa.int64()))
    row = pc.bit_wise_and(rids, pa.scalar((1 << RID_SHIFT) - 1, pa.int64()))
    return pa.table({FILE: file, ROW: row})


def _rid(table: str) -> Sql:
    files = exp.Literal.number(1 << RID_SHIFT)
    file, row = (exp.column(half, table=table) for half in (FILE, ROW))
    return exp.paren(exp.Add(this=exp.Mul(this=file, expression=files), expression=row))


def scanned(scan: Scan, ordinals: Mapping[int, int]) -> list[Sql]:
    """Return the columns of a scan from its base relation, under the names plans have for them."""
    return [
        sql.as_(
            _rid(SCANNED) if is_rid(f.id) else exp.column(value(ordinals[f.id]), SCANNED),
            column_name(f.id),
        )
        for f in scan.columns
    ]


def _is_equality(predicate: Expr) -> bool:
    return isinstance(predicate, Compare) and predicate.op in (Comparison.EQ, Comparison.SAME)


def star(step: int) -> Sql:
    """Return all columns of a step's relation."""
    return exp.Column(this=exp.Star(), table=exp.to_identifier(alias(step)))


def alias(step: int) -> str:
    """Return what a step's relation is called in queries."""
    return f"s{step}"


def _all_of(conditions: list[Sql]) -> Sql:
    # Not a balanced tree: join keys have to be the conjuncts of one flat conjunction.
    return exp.and_(*conditions, copy=False) if conditions else exp.true()
