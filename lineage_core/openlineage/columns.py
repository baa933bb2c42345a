"""Column lineage of a captured plan: which source columns an output column is made of, and how.

A *use* is one way in which a source column enters: directly (its value is handed on, transformed
or aggregated) or indirectly (it decides which rows there are, how they are grouped or ordered, or
which branch of a conditional is taken). Uses that decide about rows hold for the whole output.
Nothing is claimed about a column that passed through an opaque operator: it is listed as unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from lineage_core.plan.expr import AggregateCall, Call, Column, Expr
from lineage_core.plan.relation import (
    Aggregate,
    Filter,
    Join,
    Limit,
    Named,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    Values,
    output,
)
from lineage_core.plan.traverse import column_ids, nodes, operands


class Kind(StrEnum):
    """How a source column is used; the names are OpenLineage's transformation subtypes."""

    IDENTITY = "IDENTITY"
    TRANSFORMATION = "TRANSFORMATION"
    AGGREGATION = "AGGREGATION"
    FILTER = "FILTER"
    JOIN = "JOIN"
    GROUP_BY = "GROUP_BY"
    SORT = "SORT"
    CONDITIONAL = "CONDITIONAL"

    @property
    def direct(self) -> bool:
        return self in _DIRECT


_DIRECT = (Kind.IDENTITY, Kind.TRANSFORMATION, Kind.AGGREGATION)


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """Column `column` of source number `source` is used in the manner of `kind`."""

    source: int
    column: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """The column lineage of one output.

    Attributes:
        columns: each output column of known origin with its uses, in the output's order.
        rows: the uses that decide about the output's rows.
        unknown: output columns nothing is known about.
    """

    columns: tuple[tuple[str, tuple[Use, ...]], ...]
    rows: tuple[Use, ...]
    unknown: tuple[str, ...]


def column_lineage(plan: Plan) -> ColumnLineage:
    """Return the column lineage of the rows `plan` denotes."""
    state = _State()
    for node in reversed(list(nodes(plan))):  # a child before what reads it
        state.visit(node)
    fields = output(plan)
    known = tuple(
        (field.name, tuple(sorted(state.uses.get(field.id, ()))))
        for field in fields
        if field.id not in state.unknown
    )
    lost = tuple(field.name for field in fields if field.id in state.unknown)
    return ColumnLineage(known, tuple(sorted(state.rows)), lost)


class _State:
    """What is known so far, by column id; ids are unique in a plan."""

    def __init__(self) -> None:
        self.uses: dict[int, frozenset[Use]] = {}
        self.unknown: set[int] = set()
        self.rows: set[Use] = set()

    def visit(self, node: Plan) -> None:
        match node:
            case Scan():
                for field in node.columns:
                    use = Use(node.source, field.name, Kind.IDENTITY)
                    self.uses[field.id] = frozenset((use,))
            case Opaque():
                self.unknown.update(field.id for field in node.columns)
            case Filter():
                self.influence((node.condition,), Kind.FILTER)
            case Join():
                self.influence((node.condition,), Kind.JOIN)
            case Sort():
                self.influence((key.expr for key in node.keys), Kind.SORT)
            case Project():
                self.define(node.columns)
            case Aggregate():
                self.influence(node.keys, Kind.GROUP_BY)
                self.define(node.columns)
            case Limit() | Values():
                pass

    def define(self, columns: tuple[Named, ...]) -> None:
        """Give each computed column its uses, all of them in terms of the input's columns."""
        defined = {column.id: frozenset(self.of(column.expr, Kind.IDENTITY)) for column in columns}
        lost = {column.id for column in columns if column_ids(column.expr) & self.unknown}
        self.uses.update(defined)
        self.unknown |= lost

    def influence(self, exprs: Iterable[Expr], kind: Kind) -> None:
        for expr in exprs:
            self.rows.update(self.of(expr, kind))

    def of(self, expr: Expr, kind: Kind) -> Iterator[Use]:
        """Yield the uses made of source columns by `expr`, when its own value is used as `kind`."""
        stack = [(expr, kind)]
        while stack:
            current, how = stack.pop()
            if isinstance(current, Column):
                for use in self.uses.get(current.id, ()):
                    yield Use(use.source, use.column, _through(use.kind, how))
            else:
                stack.extend(_parts(current, how))


def _parts(expr: Expr, kind: Kind) -> Iterator[tuple[Expr, Kind]]:
    match expr:
        case Call(name="case_when"):
            last = len(expr.args) - 1
            for i, arg in enumerate(expr.args):
                condition = i % 2 == 0 and i != last
                yield arg, _through(Kind.CONDITIONAL if condition else Kind.TRANSFORMATION, kind)
        case AggregateCall():
            for arg in expr.args:
                yield arg, _through(Kind.AGGREGATION, kind)
            if expr.filter is not None:
                yield expr.filter, _through(Kind.CONDITIONAL, kind)
        case _:
            for arg in operands(expr):
                yield arg, _through(Kind.TRANSFORMATION, kind)


def _through(inner: Kind, outer: Kind) -> Kind:
    """Return how a column is used when it is used as `inner` by what is itself used as `outer`."""
    if not outer.direct:
        return outer
    if not inner.direct:
        return inner
    return max(inner, outer, key=_DIRECT.index)
