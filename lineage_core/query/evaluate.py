"""Evaluate a lineage program: each question about it is one chain of joins (DESIGN 4.3).

A `Path` goes from the step whose rows are selected to the step whose rows are wanted: down from the
target for backward, up from a source for forward. Between two steps stands the same predicate
`P(x, a)` in either direction. Its conjuncts over one row alone go to that row's scan; the rest is
the join's condition, whose equalities are plain conjuncts, so that engines hash them. `reached`
keeps the last step's rows only (semi-joins); `pairs` keeps the rids of both ends (joins). Where
nothing but existence relates two steps the condition is true: all rows or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lineage_core.errors import CorruptError
from lineage_core.plan.expr import Anchor, And, Column, Compare, Comparison, Expr, Or, conjuncts
from lineage_core.plan.traverse import anchor_ids, column_ids, with_operands
from lineage_core.query.compile import Resolve, Sql, balanced, compile_expr
from lineage_core.query.protocol import FILE, ROW, Engine, value
from lineage_core.query.relations import Relations
from lineage_core.query.selection import Rids, Rows, Selection, Where
from lineage_core.query.types import is_literal
from lineage_core.snapshot import RID_SHIFT, Snapshot

RID = "rid"
OUT_RID = "out_rid"
IN_RID = "in_rid"

_GIVEN = "given"


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A chain of steps, each the anchor of the next or of the one before, and where it starts.

    A path of one step asks for the selected rows themselves.
    """

    relations: Relations
    steps: tuple[int, ...]
    selection: Selection

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """What the steps read, from the selected one to the wanted one."""
        return tuple(self.relations.snapshots[step] for step in self.steps)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A query, and the tables it names besides the engine's own."""

    query: exp.Select
    tables: dict[str, pa.Table]


def reached(path: Path, engine: Engine, columns: tuple[int, ...], *, rids: bool) -> Question:
    """Return the rows of the path's last step, each once: its `rid` if asked, then `columns`."""
    last = path.steps[-1]
    chain = _Chain(path, engine, {last} if rids else set())
    chain.needed[last].update(columns)
    query = chain.start()
    for before, step in pairwise(path.steps):
        source = exp.select(_star(step)).from_(chain.scan(step))
        on = chain.link(before, step)
        query = source.join(query.subquery(_alias(before)), on=on, join_type="semi", copy=False)
        query = _where(query, chain.alone(step))
    wanted = [_rid(last, RID)] if rids else []
    wanted += [exp.column(value(column), table=_alias(last)) for column in columns]
    outer = exp.select(*(wanted or [exp.Literal.number(1)])).from_(query.subquery(_alias(last)))
    return Question(outer, chain.tables)


def pairs(path: Path, engine: Engine) -> Question:
    """Return the distinct pairs (`out_rid`, `in_rid`) of the relation between the path's ends."""
    first, last = path.steps[0], path.steps[-1]
    chain = _Chain(path, engine, {first, last})
    out, source = (first, last) if first == 0 else (last, first)
    query = exp.select(_rid(out, OUT_RID), _rid(source, IN_RID))
    query = query.from_(chain.start().subquery(_alias(first)))
    for before, step in pairwise(path.steps):
        query = query.join(chain.scan(step), on=chain.link(before, step), join_type="inner")
        query = _where(query, chain.alone(step))
    return Question(query.distinct(), chain.tables)


def counted(question: Question) -> Question:
    """Return the question how many rows `question` has."""
    rows = question.query.subquery("counted")
    return Question(exp.select(exp.Count(this=exp.Star())).from_(rows), question.tables)


class _Chain:
    """The pieces of a path's query: base relations, conditions on one row and between two."""

    def __init__(self, path: Path, engine: Engine, rids_of: set[int]) -> None:
        self.tables: dict[str, pa.Table] = {}
        self.needed: dict[int, set[int]] = {step: set() for step in path.steps}
        self._path = path
        self._steps = path.relations.program.steps
        self._engine = engine
        self._rids_of = rids_of
        # The edges walked, each by the step that hangs from the other.
        self._hanging = [step for step in path.steps if self._steps[step].anchor in self.needed]
        for step in self._hanging:
            predicate, anchor = self._steps[step].predicate, self._steps[step].anchor
            self.needed[step].update(self._ordinal(step, id) for id in column_ids(predicate))
            self.needed[anchor].update(self._ordinal(anchor, id) for id in anchor_ids(predicate))

    def scan(self, step: int) -> exp.Subquery:
        """Return the base relation of a step, aliased as the step."""
        snapshot = self._path.relations.snapshots[step]
        columns = tuple(sorted(self.needed[step]))
        scan = self._engine.scan(snapshot, columns, rids=step in self._rids_of)
        return scan.subquery(_alias(step))

    def start(self) -> exp.Select:
        """Return the selected rows of the path's first step."""
        step = self._path.steps[0]
        match self._path.selection:
            case Where(predicate):
                self.needed[step].update(column_ids(predicate))
                query = exp.select(_star(step)).from_(self.scan(step))
                return _where(query, [*self._given(step, predicate), *self.alone(step)])
            case Rids(rids):
                self._rids_of.add(step)
                on = [_equals_half(step, half) for half in (FILE, ROW)]
                table = _halves(rids)
            case Rows(columns, table):
                self.needed[step].update(columns)
                on = [self._equals_given(step, column, table) for column in columns]
        name = f"{_GIVEN}_{uuid4().hex}"
        self.tables[name] = table
        query = exp.select(_star(step)).from_(self.scan(step))
        given = exp.to_table(name, alias=_GIVEN)
        return _where(query.join(given, on=_all_of(on), join_type="semi"), self.alone(step))

    def alone(self, step: int) -> list[Sql]:
        """Return the conditions of the walked edges on the row of `step` alone."""
        found = []
        for child in self._hanging:
            for conjunct in conjuncts(self._steps[child].predicate):
                is_child = step == child and not anchor_ids(conjunct)
                is_anchor = step == self._steps[child].anchor and not column_ids(conjunct)
                if is_child or (is_anchor and anchor_ids(conjunct)):
                    found.append(self._compile(child, conjunct))
        return found

    def link(self, one: int, other: int) -> Sql:
        """Return the condition between the rows of two neighbours; true if there is none."""
        child = other if self._steps[other].anchor == one else one
        predicate = self._steps[child].predicate
        between = [c for c in conjuncts(predicate) if column_ids(c) and anchor_ids(c)]
        return _all_of([self._compile(child, conjunct) for conjunct in between])

    def _compile(self, child: int, conjunct: Expr) -> Sql:
        def place(column: Column | Anchor) -> tuple[int, int]:
            step = child if isinstance(column, Column) else self._steps[child].anchor
            return step, self._ordinal(step, column.id)

        def resolve(column: Column | Anchor) -> Sql:
            step, ordinal = place(column)
            return exp.column(value(ordinal), table=_alias(step))

        def never_null(side: Expr) -> bool:
            if not isinstance(side, Column | Anchor):
                return is_literal(side)
            step, ordinal = place(side)
            return self._engine.never_null(self._path.relations.snapshots[step], ordinal)

        return compile_expr(_selecting(conjunct, never_null), resolve, self._engine.dialect)

    def _given(self, step: int, predicate: Expr) -> Iterable[Sql]:
        resolve = _by_position(_alias(step))
        for conjunct in conjuncts(predicate):
            yield compile_expr(_selecting(conjunct, is_literal), resolve, self._engine.dialect)

    def _equals_given(self, step: int, column: int, given: pa.Table) -> Sql:
        type = self._path.relations.snapshots[step].columns[column].type
        op = Comparison.SAME if given.column(value(column)).null_count else Comparison.EQ
        equal = Compare(op, Column(column, type), Anchor(column, type))  # the anchor: the given row
        return compile_expr(equal, _by_position(_alias(step)), self._engine.dialect)

    def _ordinal(self, step: int, id: int) -> int:
        try:
            return self._path.relations.ordinals[step][id]
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
    return exp.EQ(this=exp.column(half, table=_alias(step)), expression=given)


def _halves(rids: pa.Int64Array) -> pa.Table:
    file = pc.shift_right(rids, pa.scalar(RID_SHIFT, pa.int64()))
    row = pc.bit_wise_and(rids, pa.scalar((1 << RID_SHIFT) - 1, pa.int64()))
    return pa.table({FILE: file, ROW: row})


def _rid(step: int, name: str) -> Sql:
    files = exp.Literal.number(1 << RID_SHIFT)
    file, row = (exp.column(half, table=_alias(step)) for half in (FILE, ROW))
    rid = exp.Add(this=exp.Mul(this=file, expression=files), expression=row)
    return exp.alias_(rid, name)


def _star(step: int) -> Sql:
    return exp.Column(this=exp.Star(), table=exp.to_identifier(_alias(step)))


def _alias(step: int) -> str:
    return f"s{step}"


def _all_of(conditions: list[Sql]) -> Sql:
    # Not a balanced tree: join keys have to be the conjuncts of one flat conjunction.
    return exp.and_(*conditions, copy=False) if conditions else exp.true()


def _where(query: exp.Select, conditions: Iterable[Sql]) -> exp.Select:
    found = list(conditions)
    return query.where(balanced(exp.And, found), copy=False) if found else query
