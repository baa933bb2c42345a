"""Compile a relational plan to one SELECT that gives on an engine the rows that Spark would give.

Filters, projections and left-deep joins are gathered in one SELECT (a `Draft`). Where a further
operator cannot join in, what is there becomes a derived table, and from some depth on a common
table expression, so that SQL never is deep. A computed column is never written out twice: an
expression over one starts a new SELECT. Floats compare as in Spark (see `compile`); text compares
by its bytes on all engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count

from sqlglot import exp

from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import (
    AggregateCall,
    Anchor,
    Column,
    Expr,
    Literal,
    conjuncts,
    data_type,
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
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    Union,
    Values,
    Window,
    output,
    place,
)
from lineage_core.plan.traverse import column_ids, fold, operands, rewrite, walk
from lineage_core.query.calls import compile_aggregate, compile_window
from lineage_core.query.compile import Dialect, Resolve, Sql, compile_expr, compile_value, null
from lineage_core.query.draft import Draft, Order
from lineage_core.query.sql import fresh, table
from lineage_core.query.types import FLOATS

_JOIN_TYPES = {
    JoinKind.INNER: "inner",
    JoinKind.LEFT_OUTER: "left",
    JoinKind.RIGHT_OUTER: "right",
    JoinKind.FULL_OUTER: "full",
    JoinKind.LEFT_SEMI: "semi",
    JoinKind.LEFT_ANTI: "anti",
}


_DEPTH = 12
"""How deep derived tables nest. Spark resolves nested ones at once, but one common table expression
after the other, and not more than a hundred."""


def column_name(id: int) -> str:
    """Return the name of a plan's column in SQL."""
    return f"c{id}" if id >= 0 else f"r{-id}"


def compile_plan(plan: Plan, leaf: Callable[[Scan], exp.Select], dialect: Dialect) -> exp.Select:
    """Return a select of the rows of `plan`, each column under its `column_name`.

    Without columns it selects a constant for each row. The names of its common table expressions
    begin with `part_`; `leaf` may not use such names.

    Args:
        plan: the plan, pruned to the columns wanted.
        leaf: gives a select of the columns of a scan, under their names.
        dialect: the engine's.

    Raises:
        UnsupportedError: the plan has an operator or expression that cannot be computed from the
            IR, or not by this engine in exactly Spark's meaning.
    """
    compiler = _Compiler(leaf, dialect)
    draft = fold(plan, compiler.draft)
    return compiler.finish(draft, output(plan))


class _Compiler:
    def __init__(self, leaf: Callable[[Scan], exp.Select], dialect: Dialect) -> None:
        self._leaf = leaf
        self._dialect = dialect
        self._names = count()
        self._ids = count(-1, -1)  # of columns that only the SQL has
        self._parts: list[exp.CTE] = []

    def finish(self, draft: Draft, fields: Iterable[Field]) -> exp.Select:
        query = draft.select({column_name(f.id): draft.columns[f.id] for f in fields})
        if self._parts:
            query.set("with_", exp.With(expressions=self._parts))
        return query

    def draft(self, node: Plan, inputs: tuple[Draft, ...]) -> Draft:
        """Return the rows of `node`, given those of its inputs."""
        match node:
            case Scan():
                return self._scan(node)
            case Join():
                return self._join(node, *inputs)
            case Union():
                return self._union(node, inputs)
            case Values():
                raise UnsupportedError(f"the rows of {place(node)} are not recorded")
            case Opaque():
                raise UnsupportedError(f"{place(node)} cannot be computed again: {node.why}")
            case _:
                return self._unary(node, *inputs)

    def _unary(
        self,
        node: Filter | Project | Aggregate | Expand | Generate | Window | Sort | Limit | Offset,
        child: Draft,
    ) -> Draft:
        match node:
            case Filter():
                return self._filter(node, child)
            case Project():
                return self._project(node.columns, child)
            case Aggregate():
                return self._aggregate(node, child)
            case Expand():
                return self._expand(node, child)
            case Generate():
                return self._generate(node, child)
            case Window():
                return self._window(node, child)
            case Sort():
                return self._sort(node, child)
            case Limit():
                return self._close(child, lambda query: query.limit(node.count, copy=False))
            case Offset():
                return self._close(child, lambda query: query.offset(node.count, copy=False))

    def _scan(self, node: Scan) -> Draft:
        name = self._name()
        return _over(self._leaf(node).subquery(name, copy=False), (f.id for f in node.columns))

    def _filter(self, node: Filter, child: Draft) -> Draft:
        child = self._offering(child, column_ids(node.condition))
        parts = [self._value(part, child) for part in conjuncts(node.condition)]
        return replace(child, conditions=(*child.conditions, *parts))

    def _project(self, columns: Iterable[Named], child: Draft) -> Draft:
        computed = [c.expr for c in columns if not isinstance(c.expr, Column)]
        child = self._offering(child, _ids(computed))
        kept = {key.id: child.columns[key.id] for key in child.order}
        return replace(child, columns=kept | {c.id: self._value(c.expr, child) for c in columns})

    def _join(self, node: Join, left: Draft, right: Draft) -> Draft:
        ids = column_ids(node.condition)
        left = self._offering(left, ids & left.columns.keys())
        if node.kind.keeps_right and (left.conditions or not left.offers(left.columns)):
            left = self._close(left)  # or rows of nulls would be computed with, and filtered
        if not right.is_table:
            right = self._close(right)
        both = replace(left, columns={**left.columns, **right.columns}, order=())
        on = [self._value(part, both) for part in conjuncts(node.condition)]
        if node.exists is not None:
            found = replace(right, conditions=tuple(on)).select({})
            columns = {**left.columns, node.exists.id: exp.Exists(this=found)}
            return replace(left, columns=columns, depth=max(left.depth, right.depth + 1))
        # One flat conjunction: engines look in it for equalities to hash.
        condition = exp.and_(*on, copy=False) if on else exp.true()
        join = exp.Join(this=fresh(right.table), on=condition)
        join.set("kind" if node.kind in _KINDS else "side", _JOIN_TYPES[node.kind].upper())
        rows = both if node.kind.pairs else left
        depth = max(left.depth, right.depth)
        return replace(rows, joins=(*left.joins, join), order=(), depth=depth)

    def _union(self, node: Union, inputs: tuple[Draft, ...]) -> Draft:
        selects = []
        for taken, draft in zip(node.taken, inputs, strict=True):
            fields = zip(node.columns, taken, strict=True)
            values = {
                f.id: null(f.type) if id is None else draft.columns[id] for f, id in fields
            }
            selects.append(draft.select(_named(values)))
        depth = max(draft.depth for draft in inputs)
        return self._all_of(selects, (f.id for f in node.columns), depth)

    def _expand(self, node: Expand, child: Draft) -> Draft:
        child = self._shared(child)
        selects = []
        for values in node.projections:
            pairs = zip(node.columns, values, strict=True)
            selects.append(child.select(_named({f.id: self._value(e, child) for f, e in pairs})))
        return self._all_of(selects, (f.id for f in node.columns), child.depth)

    def _all_of(self, selects: list[exp.Select], ids: Iterable[int], depth: int) -> Draft:
        query: exp.Query = selects[0]
        for select in selects[1:]:
            query = exp.Union(this=query, expression=select, distinct=False)
        return self._part(query, ids, depth)

    def _aggregate(self, node: Aggregate, child: Draft) -> Draft:
        calls = dict.fromkeys(
            e for c in node.columns for e in walk(c.expr) if isinstance(e, AggregateCall)
        )
        keys = {key: next(self._ids) for key in node.keys}
        child = self._grouped(child, keys, calls)
        made = {key: Column(id, data_type(key)) for key, id in keys.items()}
        made |= {call: Column(next(self._ids), call.type) for call in calls}
        values = {id: child.columns[id] for id in keys.values()}
        for call in calls:
            values[made[call].id] = compile_aggregate(call, _resolve(child), self._dialect)
        if not values:  # a count makes it one row
            values[next(self._ids)] = exp.Count(this=exp.Star())
        query = child.select(_named(values))
        if keys:
            query = query.group_by(*(fresh(child.columns[id]) for id in keys.values()), copy=False)
        columns = [replace(c, expr=rewrite(c.expr, made.get)) for c in node.columns]
        return self._project(columns, self._part(query, values, child.depth))

    def _grouped(
        self, child: Draft, keys: Mapping[Expr, int], calls: Iterable[AggregateCall]
    ) -> Draft:
        """Return `child` with a column for each key, and those that `calls` ask for."""
        child = self._offering(replace(child, order=()), _ids((*keys, *calls)))
        values = {id: self._value(key, child) for key, id in keys.items()}
        for key, id in keys.items():
            if data_type(key) in FLOATS:
                values[id] = compile_expr(key, _resolve(child), self._dialect)
        child = replace(child, columns={**child.columns, **values})
        return child if child.offers(values) else self._close(child)

    def _window(self, node: Window, child: Draft) -> Draft:
        exprs = [*node.partition, *(k.expr for k in node.order), *(c.expr for c in node.columns)]
        child = self._offering(replace(child, order=()), _ids(exprs))
        values = dict(child.columns)
        for column in node.columns:
            values[column.id] = compile_window(node, column, _resolve(child), self._dialect)
        return self._part(child.select(_named(values)), values, child.depth)

    def _sort(self, node: Sort, child: Draft) -> Draft:
        if not node.everywhere:
            return replace(child, order=())
        child = self._offering(child, _ids(key.expr for key in node.keys))
        columns, order = dict(child.columns), []
        for key in node.keys:
            id = next(self._ids)
            columns[id] = compile_expr(key.expr, _resolve(child), self._dialect)
            order.append(Order(id, key.ascending, key.nulls_first))
        return replace(child, columns=columns, order=tuple(order))

    def _generate(self, node: Generate, child: Draft) -> Draft:
        child = self._offering(replace(child, order=()), column_ids(node.generator))
        made = [column_name(field.id) for field in node.generated]
        kept = child.select(_named({field.id: child.columns[field.id] for field in node.kept}))
        args = [self._value(arg, child) for arg in operands(node.generator)]
        query = self._dialect.generate(node, args, kept, made)
        return self._part(query, (f.id for f in node.kept + node.generated), child.depth)

    def _value(self, expr: Expr, draft: Draft) -> Sql:
        match expr:
            case Column(id):
                return fresh(draft.columns[id])  # of any type, if it is only handed on
            case Literal(None, type):
                return null(type)
            case _:
                return compile_value(expr, _resolve(draft), self._dialect)

    def _offering(self, draft: Draft, ids: Iterable[int]) -> Draft:
        """Return `draft` such that `ids` need not be computed in it."""
        return draft if draft.offers(ids) else self._close(draft)

    def _close(
        self, draft: Draft, finish: Callable[[exp.Select], exp.Select] | None = None
    ) -> Draft:
        """Return the rows of `draft` as a relation of their own; `finish` ends its SELECT."""
        query = draft.select(_named(draft.columns))
        if finish is not None:
            query = finish(draft.ordered(query))
        return replace(self._part(query, draft.columns, draft.depth), order=draft.order)

    def _part(self, query: exp.Query, ids: Iterable[int], depth: int) -> Draft:
        """Return the rows of `query`, whose own tables nest `depth` deep, as a relation."""
        if depth >= _DEPTH:
            return self._common(query, ids)
        return replace(_over(query.subquery(self._name(), copy=False), ids), depth=depth + 1)

    def _shared(self, draft: Draft) -> Draft:
        """Return the rows of `draft` as a relation that may be read several times."""
        return self._common(draft.select(_named(draft.columns)), draft.columns)

    def _common(self, query: exp.Query, ids: Iterable[int]) -> Draft:
        name = self._name()
        alias = exp.TableAlias(this=exp.to_identifier(name, quoted=True))
        self._parts.append(exp.CTE(this=query, alias=alias))
        return _over(table(name), ids)

    def _name(self) -> str:
        return f"part_{next(self._names)}"


_KINDS = (JoinKind.INNER, JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI)


def _over(table: exp.Table | exp.Subquery, ids: Iterable[int]) -> Draft:
    name = table.alias_or_name
    return Draft(table, {id: exp.column(column_name(id), table=name, quoted=True) for id in ids})


def _resolve(draft: Draft) -> Resolve:
    def resolve(column: Column | Anchor) -> Sql:
        return fresh(draft.columns[column.id])

    return resolve


def _named(columns: Mapping[int, Sql]) -> dict[str, Sql]:
    return {column_name(id): sql for id, sql in columns.items()}


def _ids(exprs: Iterable[Expr]) -> frozenset[int]:
    return frozenset(id for expr in exprs for id in column_ids(expr))
