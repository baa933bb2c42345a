"""Subqueries in expressions: joins of the operator's input with the subquery's plan.

A scalar subquery gives at most one row, so an outer join with it adds its value to every row.
Spark reads `EXISTS (q)` about no outer row as a scalar subquery for one row of `q`, any of them;
here it is an existence join with `q`, of which every row tells the same. What the operator offers
stays what Catalyst's operator offers: a projection takes the value out again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from lineage_core.plan.expr import TRUE, AggregateCall, Call, Column, Expr, Literal, data_type
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Field,
    Generate,
    Join,
    JoinKind,
    Limit,
    Named,
    Opaque,
    Plan,
    Project,
    children,
    output,
    with_children,
)
from lineage_core.plan.traverse import column_ids, rewrite


@dataclass(frozen=True, slots=True)
class Subquery:
    """A subquery of an expression: the expression's `value`, and what is joined to offer it.

    `exists` is the column of an existence join; None for an outer join.
    """

    value: Expr
    plan: Plan
    exists: Field | None

    @classmethod
    def of(cls, plan: Plan, exists: Field) -> Subquery:
        """Return the subquery of `plan`; `exists` is used if it only asks for existence."""
        match plan:
            case Limit(count=1, child=Project(columns=(Named(expr=Literal() as found),)) as below):
                nothing = Literal(None, found.type)
                flag = Column(exists.id, exists.type)
                value = Call("case_when", (flag, found, nothing), found.type)
                return cls(value, below.child, exists)
        first = output(plan)[0]
        return cls(Column(first.id, first.type), plan, None)

    @property
    def ids(self) -> frozenset[int]:
        """The columns that `value` refers to."""
        return column_ids(self.value)


@dataclass(frozen=True, slots=True)
class Free:
    """Where joins with subqueries are numbered.

    Attributes:
        place: gives a new place.
        columns: gives column ids.
    """

    place: Callable[[], int]
    columns: Iterator[int]


def attach(plan: Plan, subqueries: Iterable[Subquery], free: Free) -> Plan | None:
    """Return the operator `plan` over an input that offers the values of `subqueries` too.

    None where the same subquery is needed both below and above an aggregate.
    """
    found = tuple(subqueries)
    if not found:
        return plan
    match plan:
        case Opaque():
            return replace(plan, children=plan.children + tuple(s.plan for s in found))
        case Aggregate():
            return _aggregate(plan, found, free)
        case Project() | Expand() | Generate():
            return replace(plan, child=_joined(plan.child, found, free))
    first, *others = children(plan)
    offered = output(plan)
    inner = with_children(plan, (_joined(first, found, free), *others))
    return Project(plan.at, _identity(offered), replace(inner, at=free.place()))


def _joined(plan: Plan, subqueries: Iterable[Subquery], free: Free) -> Plan:
    for subquery in subqueries:
        kind = JoinKind.EXISTENCE if subquery.exists else JoinKind.LEFT_OUTER
        plan = Join(free.place(), kind, TRUE, plan, subquery.plan, subquery.exists)
    return plan


def _aggregate(plan: Aggregate, subqueries: tuple[Subquery, ...], free: Free) -> Plan | None:
    """A value that is asked for beside the aggregates is joined to their groups."""
    parts: dict[Expr, Named] = {}

    def grouped(expr: Expr) -> Expr | None:
        if expr not in plan.keys and not isinstance(expr, AggregateCall):
            return None
        if expr not in parts:
            id = expr.id if isinstance(expr, Column) else next(free.columns)
            parts[expr] = Named(id, f"part{len(parts)}", expr, data_type(expr))
        return Column(parts[expr].id, parts[expr].type)

    above = tuple(replace(c, expr=rewrite(c.expr, grouped)) for c in plan.columns)
    beside = _of(subqueries, (column.expr for column in above))
    if not beside:
        return replace(plan, child=_joined(plan.child, subqueries, free))
    inside = _of(subqueries, [*plan.keys, *parts])
    if set(map(id, beside)) & set(map(id, inside)):
        return None
    child = _joined(plan.child, inside, free)
    groups = Aggregate(free.place(), plan.keys, tuple(parts.values()), child)
    return Project(plan.at, above, _joined(groups, beside, free))


def _of(subqueries: Iterable[Subquery], exprs: Iterable[Expr]) -> tuple[Subquery, ...]:
    used = {id for expr in exprs for id in column_ids(expr)}
    return tuple(subquery for subquery in subqueries if subquery.ids & used)


def _identity(fields: Iterable[Field]) -> tuple[Named, ...]:
    return tuple(Named(f.id, f.name, Column(f.id, f.type), f.type) for f in fields)
