"""A declared workload: what queries that will be asked need of an index (Smoke 4).

A workload is the queries themselves, as templates: what may vary is a parameter. Constant
conditions say which rows are never asked for; expressions that are compared with parameters, by
what rows are told apart; groups and aggregates, what can be added up beforehand. Relations and
directions that no query has are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from sqlglot import exp

from lineage_core.index.record import Direction
from lineage_core.query.answer import is_called
from lineage_core.query.consuming.call import Call
from lineage_core.query.consuming.shape import (
    AggregateKind,
    Condition,
    ConditionKind,
    Shape,
    shape,
)
from lineage_core.query.consuming.text import Consuming, parse

_PARAMETRIC = (ConditionKind.EQUALS, ConditionKind.ONE_OF)


@dataclass(frozen=True, slots=True)
class Need:
    """What one query needs of the index of one relation.

    Attributes:
        where: conditions that hold for all rows it asks for.
        by: expressions of the rows that it compares with parameters.
        groups: those it groups by; all of these are what `of` is grouped by.
        of: aggregates of parts of the rows, of which those of all can be had; none where that
            cannot be.
    """

    where: tuple[exp.Expr, ...] = ()
    by: tuple[exp.Expr, ...] = ()
    groups: tuple[exp.Expr, ...] = ()
    of: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """The queries that an index is built for; `texts` are these as they were given."""

    texts: tuple[str, ...]
    queries: tuple[Consuming, ...]

    def needs(
        self, direction: Direction, asked: str, other: str, columns: Set[str]
    ) -> tuple[Need, ...]:
        """Return what the queries need of one relation, each once; nothing if none has it.

        Args:
            direction: which way it goes.
            asked: the dataset that is asked about.
            other: the one whose rows are wanted.
            columns: names of the columns of `other`, in lower case.
        """
        found: dict[object, Need] = {}
        for query in self.queries:
            for call in query.calls.values():
                if call.direction is direction and _names(call, asked, other):
                    need = _need(query, call, columns)
                    found.setdefault(key(need), need)
        return tuple(found.values())


def read(texts: Sequence[str]) -> Workload:
    """Return the workload of some queries.

    Raises:
        PredicateError: one of them is none, or reads or calls what a query may not.
    """
    return Workload(tuple(texts), tuple(map(parse, texts)))


def sql_of(trees: Sequence[exp.Expr]) -> tuple[str, ...]:
    """Return the texts by which expressions are known, each once and in order."""
    return tuple(sorted({tree.sql("duckdb") for tree in trees}))


def key(need: Need) -> object:
    """Return what is equal for equal needs."""
    return tuple(map(sql_of, (need.where, need.by, need.groups, need.of)))


def covered(tree: exp.Expr, by: Set[str]) -> bool:
    """Whether an expression of a row can be had from the values of the expressions `by`."""
    if tree.sql("duckdb") in by:
        return True
    return not isinstance(tree, exp.Column) and all(covered(part, by) for part in _parts(tree))


def replaced(tree: exp.Expr, named: Callable[[str], exp.Expr | None]) -> exp.Expr:
    """Return an expression with those parts of it replaced that `named` has something for."""
    new = named(tree.sql("duckdb"))
    if new is not None:
        return new
    copy = tree.copy()
    for part in list(_parts(copy)):
        part.replace(replaced(part, named))
    return copy


def partial(kind: AggregateKind, tree: exp.Expr, argument: exp.Expr | None) -> tuple[exp.Expr, ...]:
    """Return the aggregates of parts of the rows that one of all rows is had from."""
    match kind:
        case AggregateKind.COUNT_ROWS:
            return (exp.Count(this=exp.Star()),)
        case AggregateKind.AVG:
            assert argument is not None
            return (exp.Sum(this=argument.copy()), exp.Count(this=argument.copy()))
        case _:
            return (tree,)


def _names(call: Call, asked: str, other: str) -> bool:
    named = [(call.dataset, asked)] + ([(call.other, other)] if call.other is not None else [])
    return all(not isinstance(name, str) or is_called(dataset, name) for name, dataset in named)


def _need(query: Consuming, call: Call, columns: Set[str]) -> Need:
    found = shape(query, columns)
    if found is None or found.call != call:
        return Need()
    where = [c.tree for c in found.conditions if c.kind is ConditionKind.CONSTANT]
    by = [c.expression for c in found.conditions if c.kind in _PARAMETRIC and c.expression]
    return Need(tuple(where), tuple(by), found.groups, tuple(_of(found, by)))


def _of(found: Shape, by: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    if not (found.groups or found.aggregates):
        return
    dimensions = {tree.sql("duckdb") for tree in (*by, *found.groups)}
    if any(not _is_covered(condition, dimensions) for condition in found.conditions):
        return
    if any(aggregate.kind is AggregateKind.OTHER for aggregate in found.aggregates):
        return
    computed = [*found.groups, *(aggregate.tree for aggregate in found.aggregates)]
    if any(tree.find(exp.Placeholder) for tree in computed):
        return
    yield exp.Count(this=exp.Star())  # a group is there where a row is
    for each in found.aggregates:
        yield from partial(each.kind, each.tree, each.argument)


def _is_covered(condition: Condition, dimensions: Set[str]) -> bool:
    return condition.kind is not ConditionKind.OTHER or covered(condition.tree, dimensions)


def _parts(tree: exp.Expr) -> Iterator[exp.Expr]:
    return (part for part in tree.iter_expressions() if not isinstance(part, exp.Identifier))
