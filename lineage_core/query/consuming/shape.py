"""The simple shape of many queries: one lineage relation, conditions, groups, aggregates.

Interactions ask such queries again and again with other parameters (Smoke 4.2), so they are what
an index can be partitioned or summed up for. A shape is plain data. Its trees are sqlglot's, in
one form: identifiers are in lower case, unquoted where they can be, and not qualified; parentheses
that say nothing are gone. Trees of that form are equal when they are the same expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from enum import StrEnum

from sqlglot import exp

from lineage_core.query.consuming.call import Call
from lineage_core.query.consuming.functions import AGGREGATES
from lineage_core.query.consuming.text import Consuming


class ConditionKind(StrEnum):
    """What a condition depends on.

    `constant`: the row alone. `equals`: an expression of the row is equal to a parameter. `one_of`:
    it is equal to one of several, at least one of them a parameter. `other`: anything else.
    """

    CONSTANT = "constant"
    EQUALS = "equals"
    ONE_OF = "one_of"
    OTHER = "other"


class AggregateKind(StrEnum):
    """Which aggregate; all but `other` can be had from those of parts of the rows.

    `other` are also those with DISTINCT, FILTER, OVER or an order.
    """

    COUNT_ROWS = "count_rows"
    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunct of WHERE.

    Attributes:
        kind: what it depends on.
        tree: all of it.
        expression: of the row, where it is compared with `values` for equality; None for `other`,
            and for `constant` where it is no such comparison.
        values: the constants (`exp.Literal`, ...) and parameters (`exp.Placeholder`) that the
            expression is equal to one of.
    """

    kind: ConditionKind
    tree: exp.Expr
    expression: exp.Expr | None = None
    values: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of the groups' rows: `argument` is None for `count(*)` and for `other`."""

    kind: AggregateKind
    tree: exp.Expr
    argument: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """A query of one lineage relation that is filtered, grouped and aggregated.

    Attributes:
        call: the relation.
        conditions: the conjuncts of WHERE, in their order.
        groups: the expressions of GROUP BY, in their order; none for one group of all rows, and
            where there are no aggregates, either: then the rows themselves are wanted.
        aggregates: those of SELECT, HAVING and ORDER BY, each once, in their order.
    """

    call: Call
    conditions: tuple[Condition, ...]
    groups: tuple[exp.Expr, ...]
    aggregates: tuple[Aggregate, ...]


def normalised(query: Consuming, columns: Set[str]) -> Callable[[exp.Expr], exp.Expr]:
    """Return what gives the form in which equal expressions of a simple query are equal trees."""
    select = query.tree
    assert isinstance(select, exp.Select)
    return _Names(select, select.args["from_"].this.alias.lower(), columns).normal


_CLAUSES = {
    "expressions",
    "from_",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
}

_KINDS: dict[type[exp.Expr], AggregateKind] = {
    exp.Count: AggregateKind.COUNT,
    exp.Sum: AggregateKind.SUM,
    exp.Avg: AggregateKind.AVG,
    exp.Min: AggregateKind.MIN,
    exp.Max: AggregateKind.MAX,
}

_OF_ONE = {"this", "big_int"}
"""Arguments of an aggregate's node that leave it one of a single expression."""

_CLAUSES_OF_AGGREGATES = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


class _Unclear(Exception):
    """What a name means depends on the columns of the relation, which are not known."""


def shape(query: Consuming, columns: Set[str] | None = None) -> Shape | None:
    """Return the simple shape of a query, None if it has another.

    The query may be a template, whose parameters have no values.

    Args:
        columns: names of all columns of its relation, in lower case. Without them, a query that
            refers to its own output by a name that may be a column's has no simple shape.
    """
    select = query.tree
    if not isinstance(select, exp.Select) or not _is_simple(select):
        return None
    table = select.args["from_"].this
    if not isinstance(table, exp.Table) or table.name not in query.calls or _renames(table):
        return None
    names = _Names(select, table.alias.lower(), columns)
    try:
        groups = _groups(select, names)
        found = [_aggregate(node, names) for node in _aggregates(select)]
        conditions = tuple(_condition(names.normal(node)) for node in _conjuncts(select))
    except _Unclear:
        return None
    if groups is None:
        return None
    return Shape(query.calls[table.name], conditions, groups, tuple(dict.fromkeys(found)))


class _Names:
    """What the names in a SELECT mean: columns of its relation, or what it calls its output."""

    def __init__(self, select: exp.Select, alias: str, columns: Set[str] | None) -> None:
        outputs = (e for e in select.expressions if isinstance(e, exp.Alias))
        self._outputs = {output.alias.lower(): output.this for output in outputs}
        self._alias = alias
        self._columns = columns

    def normal(self, expression: exp.Expr, seen: frozenset[str] = frozenset()) -> exp.Expr:
        """Return an expression in the form in which equal ones are equal trees."""
        root = exp.Paren(this=expression.copy())
        for node in reversed(list(root.this.walk())):  # operands before what they are operands of
            node.pop_comments()
            self._replace(node, root, seen)
        found: exp.Expr = root.this.pop()
        return found

    def _replace(self, node: exp.Expr, root: exp.Expr, seen: frozenset[str]) -> None:
        parent, new = node.parent, self._one(node, seen)
        bare = parent is root or _is_atomic(new) or _binds_tighter(new, parent)
        if isinstance(node, exp.Paren | exp.Column) and not bare:
            new = exp.Paren(this=new)
        if new is not node:
            node.replace(new)

    def _one(self, node: exp.Expr, seen: frozenset[str]) -> exp.Expr:
        match node:
            case exp.Paren():
                return node.unnest().pop()
            case exp.Identifier():
                return exp.to_identifier(node.name.lower())
            case exp.Column():
                return self._column(node, seen)
            case exp.EQ() if _is_value(node.this) and not _is_value(node.expression):
                return exp.EQ(this=node.expression, expression=node.this)
        return node

    def _column(self, node: exp.Column, seen: frozenset[str]) -> exp.Expr:
        first, *rest = (part.name.lower() for part in node.parts)
        if rest and first == self._alias:
            first, *rest = rest
        elif not rest and (output := self._output(first, seen)) is not None:
            return self.normal(output, seen | {first})
        found: exp.Expr = exp.column(exp.to_identifier(first))
        for field in rest:
            found = exp.Dot(this=found, expression=exp.to_identifier(field))
        return found

    def _output(self, name: str, seen: frozenset[str]) -> exp.Expr | None:
        """Return what a name that is no column's stands for; a column comes first."""
        output = self._outputs.get(name)
        if output is None or name in seen or (self._columns and name in self._columns):
            return None
        inner = output.unnest()
        if isinstance(inner, exp.Column) and inner.name.lower() == name:
            return None
        if self._columns is None and not any(c.name.lower() == name for c in _columns(output)):
            raise _Unclear
        return None if self._columns is None else output


def _binds_tighter(node: exp.Expr, parent: exp.Expr | None) -> bool:
    """Whether a node needs no parentheses below another."""
    arithmetic = isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod)
    return _is_call(parent) or (arithmetic and isinstance(parent, exp.EQ | exp.In))


def _is_call(node: exp.Expr | None) -> bool:
    """Whether a node is written with its operands in parentheses of its own."""
    return isinstance(node, exp.Func) and not isinstance(node, exp.Binary | exp.Case)


def _is_atomic(node: exp.Expr) -> bool:
    return _is_call(node) or isinstance(node, exp.Column | exp.Literal | exp.Placeholder)


def _is_simple(select: exp.Select) -> bool:
    """Whether a SELECT has no clauses but the simple ones, and no query or window in it."""
    clauses = {key for key, value in select.args.items() if value}
    nested = any(node is not select for node in select.find_all(exp.Query, exp.Window))
    stars = any(not isinstance(star.parent, exp.Count) for star in select.find_all(exp.Star))
    if stars and (clauses & {"group", "having"} or any(_aggregates(select))):
        return False
    return clauses <= _CLAUSES and "from_" in clauses and not nested


def _renames(table: exp.Table) -> bool:
    return bool(table.args.get("joins") or table.args["alias"].args.get("columns"))


def _groups(select: exp.Select, names: _Names) -> tuple[exp.Expr, ...] | None:
    """Return what a SELECT groups by; None where it is not a list of expressions."""
    group = select.args.get("group")
    if group is None:
        return ()
    outputs = [output.unalias() for output in select.expressions]
    if {key for key, value in group.args.items() if value} == {"all"}:
        listed = [output for output in outputs if not any(_found_in(output))]
    elif {key for key, value in group.args.items() if value} == {"expressions"}:
        listed = []
        for expression in (each.unnest() for each in group.expressions):
            if expression.is_int:
                place = int(expression.name) - 1
                if not 0 <= place < len(outputs):
                    return None
                expression = outputs[place]
            listed.append(expression)
    else:
        return None
    if any(
        isinstance(each, exp.Tuple | exp.Cube | exp.Rollup | exp.GroupingSets) for each in listed
    ):
        return None
    return tuple(dict.fromkeys(names.normal(expression) for expression in listed))


def _conjuncts(select: exp.Select) -> list[exp.Expr]:
    where = select.args.get("where")
    if where is None:
        return []
    found, pending = [], [where.this]
    while pending:
        condition = pending.pop().unnest()
        if isinstance(condition, exp.And):
            pending += [condition.expression, condition.this]
        else:
            found.append(condition)
    return found


def _condition(tree: exp.Expr) -> Condition:
    parameters = tree.find(exp.Placeholder) is not None
    if isinstance(tree, exp.EQ):
        expression, values, kind = tree.this, [tree.expression], ConditionKind.EQUALS
    elif isinstance(tree, exp.In) and tree.expressions:
        expression, values, kind = tree.this, tree.expressions, ConditionKind.ONE_OF
    else:
        return Condition(ConditionKind.OTHER if parameters else ConditionKind.CONSTANT, tree)
    of_row = expression.find(exp.Column) and not expression.find(exp.Placeholder)
    if not of_row or not all(map(_is_value, values)):
        return Condition(ConditionKind.OTHER if parameters else ConditionKind.CONSTANT, tree)
    return Condition(
        kind if parameters else ConditionKind.CONSTANT, tree, expression, tuple(values)
    )


def _is_value(node: exp.Expr) -> bool:
    """Whether an expression is a parameter or a constant that is not null."""
    while isinstance(node, exp.Neg | exp.Cast | exp.Paren):
        node = node.this
    return isinstance(node, exp.Literal | exp.Boolean | exp.Placeholder)


def _aggregates(select: exp.Select) -> Iterator[exp.Expr]:
    """Return the aggregate calls of a SELECT, with their clauses."""
    for place in (*select.expressions, select.args.get("having"), select.args.get("order")):
        if place is not None:
            yield from _found_in(place)


def _found_in(place: exp.Expr) -> Iterator[exp.Expr]:
    for node in place.find_all(exp.Func, bfs=False):
        if not _is_aggregate(node):
            continue
        found: exp.Expr = node
        while isinstance(found.parent, _CLAUSES_OF_AGGREGATES):
            found = found.parent
        yield found


def _is_aggregate(node: exp.Func) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in AGGREGATES
    names = {name.lower() for name in node.sql_names()}
    return isinstance(node, exp.AggFunc) or not names.isdisjoint(AGGREGATES)


def _aggregate(node: exp.Expr, names: _Names) -> Aggregate:
    tree = names.normal(node)
    kind = _KINDS.get(type(tree))
    argument = tree.args.get("this")
    if kind is None or any(tree.args.get(key) for key in tree.args if key not in _OF_ONE):
        return Aggregate(AggregateKind.OTHER, tree)
    if kind is AggregateKind.COUNT and isinstance(argument, exp.Star | exp.Literal | None):
        return Aggregate(AggregateKind.COUNT_ROWS, tree)
    if argument is None or argument.find(exp.Distinct, exp.Order, exp.Limit, exp.HavingMax):
        return Aggregate(AggregateKind.OTHER, tree)
    return Aggregate(kind, tree, argument)


def _columns(expression: exp.Expr) -> Iterator[exp.Column]:
    return expression.find_all(exp.Column)
