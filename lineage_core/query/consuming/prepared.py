"""Answer a query from what a declared workload made ready: partitions of an index, or sums.

What was made ready is known by the texts of its expressions, and is used where those of the query
are the same. Everything else about the query stays as it is: rows that a partition gave are
filtered again by all of its conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from sqlglot import exp

from lineage_core.errors import UnsupportedError
from lineage_core.index.cells import Cells, boxes, cells
from lineage_core.index.record import Direction, IndexPart, IndexSums
from lineage_core.query import sql
from lineage_core.query.answer import SourceAnswer
from lineage_core.query.consuming.columns import RID, used
from lineage_core.query.consuming.shape import (
    Aggregate,
    AggregateKind,
    ConditionKind,
    Shape,
    normalised,
    shape,
)
from lineage_core.query.consuming.text import Consuming
from lineage_core.query.consuming.views import KEY, NUMBER
from lineage_core.query.consuming.workload import covered, partial, replaced
from lineage_core.query.edges import Ready, View
from lineage_core.query.types import arrow_type
from lineage_core.snapshot import Snapshot

Run: TypeAlias = Callable[[exp.Query, Mapping[str, pa.Table]], pa.Table]
"""Evaluates a query, with the values of its parameters, over tables alone."""

_VALUES, _SUMS, _KEYS, _EMPTY = "partitions", "sums", "asked", "nothing"


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A query of the simple shape, and what leads to the rows it reads."""

    query: Consuming
    shape: Shape
    snapshot: Snapshot
    edges: Sequence[tuple[Ready, pa.Int64Array]]
    run: Run

    @property
    def _direction(self) -> Direction:
        return self.shape.call.direction

    @property
    def _constants(self) -> set[str]:
        kind = ConditionKind.CONSTANT
        return {_text(c.tree) for c in self.shape.conditions if c.kind is kind}

    def rids(self) -> pa.Int64Array | None:
        """Return rids among which all rows are that the query asks for; None if none are ready."""
        found: Cells | None = None
        for ready, asked in self.edges:
            part = self._part(ready)
            if part is None:
                return None
            view = ready.view(part)
            rows = view.index.related(self._wanted(view, asked))
            found = rows if found is None else found | rows
        return None if found is None else pa.array(found.to_numpy()[0])

    def table(self) -> pa.Table | None:
        """Return the rows of the query, had from sums; None if none are ready."""
        if len(self.edges) != 1 or not (self.shape.groups or self.shape.aggregates):
            return None
        if not self._is_typed():
            return None
        ((ready, asked),) = self.edges
        for part in ready.sums:
            if part.direction is self._direction and (part.disjoint or len(asked) < 2):
                query = self._over(part)
                if query is not None:
                    tables = {_SUMS: ready.summed(part).table, _KEYS: pa.table({KEY: asked})}
                    return self._as_usual(self.run(query, tables))
        return None

    def _part(self, ready: Ready) -> IndexPart | None:
        """Return the index of fewest rows that has all that the query asks for."""
        compared = {_text(c.expression) for c in self.shape.conditions if c.expression is not None}
        fit = (
            part
            for part in ready.parts
            if part.direction is self._direction
            and self._constants.issuperset(part.where)
            and compared.issuperset(part.by)
        )
        return max(fit, key=lambda part: len(part.where) + len(part.by), default=None)

    def _wanted(self, view: View, asked: pa.Int64Array) -> Cells:
        rows = cells([asked])
        if view.values is None:
            return rows
        numbers = self._numbers(view.part, view.values)
        count = rows.low.shape[1]
        low, high = (np.repeat(ends[0], len(numbers)) for ends in (rows.low, rows.high))
        tiled = np.tile(numbers, count)
        return boxes(np.stack((low, tiled)), np.stack((high, tiled)))

    def _numbers(self, part: IndexPart, values: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the numbers of the values that the query's conditions hold for."""
        place = {text: f"v{i}" for i, text in enumerate(part.by)}

        def named(text: str) -> exp.Expr | None:
            return exp.column(place[text], table=_VALUES) if text in place else None

        query = sql.select([exp.column(NUMBER, table=_VALUES)], sql.table(_VALUES, _VALUES))
        conditions = [c for c in self.shape.conditions if covered(c.tree, place.keys())]
        query = sql.where(query, [exp.paren(replaced(c.tree, named)) for c in conditions])
        found = self.run(query, {_VALUES: values}).column(0).to_numpy()
        return np.sort(found).astype(np.int64)

    def _over(self, part: IndexSums) -> exp.Select | None:
        """Return the query over sums; None if it cannot be had from them."""
        by = {text: f"d{i}" for i, text in enumerate(part.by)}
        of = {text: f"a{i}" for i, text in enumerate(part.of)}
        if not self._constants.issuperset(part.where) or not self._is_had(by, of):
            return None
        usual = self._typed(by, of)

        def named(text: str) -> exp.Expr | None:
            return usual[text].copy() if text in usual else None

        left = [c for c in self.shape.conditions if _text(c.tree) not in part.where]
        conditions = [exp.paren(replaced(c.tree, named)) for c in left]
        found = self._rewritten(lambda tree: replaced(tree, named), conditions)
        return found if all(c.table == _SUMS for c in _columns(found)) else None

    def _typed(self, by: Mapping[str, str], of: Mapping[str, str]) -> dict[str, exp.Expr]:
        """Return what stands for groups and aggregates, by their texts, of the types of these.

        A sum of counts is of a wider type than a count, and files do not keep some types.
        """
        nothing = self._nothing()
        known = {name.lower() for name in nothing.column_names}
        found: dict[str, exp.Expr] = {}
        each: dict[str, exp.Expr] = {}
        for text, name in by.items():
            tree: exp.Expr = exp.maybe_parse(text, dialect="duckdb")
            if known.issuperset(c.name for c in tree.find_all(exp.Column)):  # else it has no use
                each[text] = exp.AnyValue(this=tree)
                found[text] = exp.column(name, table=_SUMS)
        for aggregate in self.shape.aggregates:
            text = _text(aggregate.tree)
            each[text], found[text] = aggregate.tree.copy(), _total(aggregate, of)
        columns = [
            sql.as_(exp.Anonymous(this="typeof", expressions=[tree]), f"t{i}")
            for i, tree in enumerate(each.values())
        ]
        types = self.run(sql.select(columns, sql.table(_EMPTY)), {_EMPTY: nothing})
        return {
            text: exp.cast(found[text], column[0].as_py(), dialect="duckdb")
            for text, column in zip(each, types.columns, strict=True)
        }

    def _is_had(self, by: Mapping[str, str], of: Mapping[str, str]) -> bool:
        told = all(covered(tree, by.keys()) for tree in self.shape.groups)
        return told and all(
            each.kind is not AggregateKind.OTHER
            and all(_text(tree) in of for tree in partial(each.kind, each.tree, each.argument))
            for each in self.shape.aggregates
        )

    def _rewritten(
        self, over: Callable[[exp.Expr], exp.Expr], conditions: Sequence[exp.Expr]
    ) -> exp.Select:
        """Return the query with sums in place of its relation."""
        select, normal = self.query.tree, normalised(self.query, _names(self.snapshot))
        columns = [over(normal(column.unalias())) for column in select.expressions]
        query = sql.select(
            [sql.as_(column, f"c{i}") for i, column in enumerate(columns)],
            sql.table(_SUMS, _SUMS),
        )
        same = exp.EQ(this=exp.column(KEY, table=_SUMS), expression=exp.column(KEY, table=_KEYS))
        query = sql.where(sql.join(query, sql.table(_KEYS, _KEYS), same, "semi"), conditions)
        if self.shape.groups:
            groups = [exp.paren(over(tree)) for tree in self.shape.groups]
            query = query.group_by(*groups, copy=False)
        if having := select.args.get("having"):
            query.set("having", exp.Having(this=over(normal(having.this))))
        if select.args.get("order"):
            query.set("order", exp.Order(expressions=list(_ordered(self.query.tree, normal, over))))
        for clause in ("limit", "offset"):
            if select.args.get(clause):
                query.set(clause, select.args[clause].copy())
        return query

    def _as_usual(self, table: pa.Table) -> pa.Table:
        """Return a table with the names and types that the query's rows have otherwise."""
        tree = self.query.tree.copy()
        for relation in tree.find_all(exp.Table):
            relation.set("this", exp.to_identifier(_EMPTY))
        usual = self.run(tree, {_EMPTY: self._nothing()}).schema
        return table.rename_columns(usual.names).cast(usual)

    def _is_typed(self) -> bool:
        """Whether the columns that the query uses are all of types that are known here."""
        try:
            self._nothing()
        except UnsupportedError:
            return False
        return True

    def _nothing(self) -> pa.Table:
        """Return the columns that the query uses, without rows."""
        wanted = used(self.query.tree).names
        types = {
            column.name: arrow_type(column.type)
            for column in self.snapshot.columns
            if column.name.lower() in wanted
        }
        if RID not in (name.lower() for name in types):
            types[RID] = pa.int64()
        return pa.table({name: pa.array([], type) for name, type in types.items()})


def prepare(query: Consuming, states: Sequence[SourceAnswer], run: Run) -> Prepared | None:
    """Return a query with the indexes it could be answered from; None if there are none.

    Args:
        query: it.
        states: the answers about the one dataset it reads.
        run: evaluates queries over tables.
    """
    if len(query.calls) != 1 or len(states) != 1:
        return None
    (state,) = states
    edges = state.edges()
    ready = [(edge.ready, asked) for edge, asked in edges if edge.ready is not None]
    if len(ready) < len(edges) or not any(each.sums or each.parts for each, _ in ready):
        return None
    found = shape(query, _names(state.snapshot))
    if found is None:
        return None
    return Prepared(query, found, state.snapshot, ready, run)


def _total(aggregate: Aggregate, of: Mapping[str, str]) -> exp.Expr:
    """Return an aggregate of all rows, had from those of parts of them."""
    parts = [
        exp.column(of[_text(tree)], table=_SUMS)
        for tree in partial(aggregate.kind, aggregate.tree, aggregate.argument)
    ]
    match aggregate.kind:
        case AggregateKind.COUNT | AggregateKind.COUNT_ROWS:
            return exp.Coalesce(this=exp.Sum(this=parts[0]), expressions=[exp.Literal.number(0)])
        case AggregateKind.AVG:
            total = exp.cast(exp.Sum(this=parts[0]), "DOUBLE")
            some = exp.Nullif(this=exp.Sum(this=parts[1]), expression=exp.Literal.number(0))
            return exp.paren(exp.Div(this=total, expression=some))
        case AggregateKind.MIN:
            return exp.Min(this=parts[0])
        case AggregateKind.MAX:
            return exp.Max(this=parts[0])
        case _:
            return exp.Sum(this=parts[0])


def _ordered(
    select: exp.Query,
    normal: Callable[[exp.Expr], exp.Expr],
    over: Callable[[exp.Expr], exp.Expr],
) -> Iterator[exp.Expr]:
    """Yield what a query is ordered by; a name by itself is that of an output first."""
    outputs: dict[str, exp.Expr] = {}
    for output in select.expressions:
        if isinstance(output, exp.Alias):
            outputs.setdefault(output.alias.lower(), output.this)
    for ordered in select.args["order"].expressions:
        new, key = ordered.copy(), ordered.this.unnest()
        if isinstance(key, exp.Column) and not key.table:
            key = outputs.get(key.name.lower(), key)
        new.set("this", key.copy() if isinstance(key, exp.Literal) else over(normal(key)))
        yield new


def _names(snapshot: Snapshot) -> frozenset[str]:
    return frozenset(column.name.lower() for column in snapshot.columns)


def _columns(query: exp.Select) -> Iterator[exp.Column]:
    return (c for c in query.find_all(exp.Column) if c.table != _KEYS)


def _text(tree: exp.Expr) -> str:
    return tree.sql("duckdb")
