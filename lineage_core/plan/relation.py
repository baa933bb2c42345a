"""The relational operators of a captured plan: immutable nodes, each denoting a bag of rows.

An expression of a node refers to columns of the node's immediate inputs only, by id. Ids are unique
in a
plan: a column keeps its id while operators hand it on unchanged, as Catalyst's `exprId` does. `at`
is the operator's place: its number in a pre-order walk of the optimised Catalyst plan, quoted in
every message.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from lineage_core.plan.expr import DataType, Expr


@dataclass(frozen=True, slots=True)
class Field:
    """A column a relation offers."""

    id: int
    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Named:
    """A column a relation computes: `expr` under a new or kept `id`."""

    id: int
    name: str
    expr: Expr
    type: DataType


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of an ordering."""

    expr: Expr
    ascending: bool
    nulls_first: bool


class JoinKind(StrEnum):
    """Which rows a join gives."""

    INNER = "inner"
    LEFT_SEMI = "left_semi"


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of source number `source` (an index into the run's input snapshots)."""

    at: int
    source: int
    name: str
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """Rows that come from no dataset: literals, `range`, an empty relation."""

    at: int
    columns: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows of `child` for which `condition` is true."""

    at: int
    condition: Expr
    child: Plan


@dataclass(frozen=True, slots=True)
class Project:
    """One row per row of `child`, holding `columns`."""

    at: int
    columns: tuple[Named, ...]
    child: Plan


@dataclass(frozen=True, slots=True)
class Join:
    """The pairs (inner), or left rows with a partner (left semi), where `condition` is true."""

    at: int
    kind: JoinKind
    condition: Expr
    left: Plan
    right: Plan


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row per distinct value of `keys` (one row in all without keys), holding `columns`.

    Each of `columns` is an expression over `keys` and aggregate calls.
    """

    at: int
    keys: tuple[Expr, ...]
    columns: tuple[Named, ...]
    child: Plan


@dataclass(frozen=True, slots=True)
class Sort:
    """The rows of `child`, in the order of `keys`; `everywhere` unless only within partitions."""

    at: int
    keys: tuple[SortKey, ...]
    everywhere: bool
    child: Plan


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `count` rows of `child`: the first ones, where it is sorted."""

    at: int
    count: int
    child: Plan


@dataclass(frozen=True, slots=True)
class Opaque:
    """Some rows, made from `children` in a way without IR form; `why` says what was met."""

    at: int
    name: str
    why: str
    columns: tuple[Field, ...]
    children: tuple[Plan, ...]


Plan: TypeAlias = Scan | Values | Filter | Project | Join | Aggregate | Sort | Limit | Opaque


def children(plan: Plan) -> tuple[Plan, ...]:
    """Return the inputs of `plan`, left to right."""
    match plan:
        case Scan() | Values():
            return ()
        case Join():
            return (plan.left, plan.right)
        case Opaque():
            return plan.children
        case _:
            return (plan.child,)


def output(plan: Plan) -> tuple[Field, ...]:
    """Return the columns `plan` offers, in order."""
    while True:  # walks down the operators that hand their input's columns on; never recursive
        match plan:
            case Scan() | Values() | Opaque():
                return plan.columns
            case Project() | Aggregate():
                return tuple(Field(column.id, column.name, column.type) for column in plan.columns)
            case Join(kind=JoinKind.INNER):
                return output(plan.left) + output(plan.right)
            case Join():
                plan = plan.left
            case Filter() | Sort() | Limit():
                plan = plan.child


def place(plan: Plan) -> str:
    """Return how messages name an operator: its kind and its place in the plan."""
    name = plan.name if isinstance(plan, Opaque) else type(plan).__name__
    if isinstance(plan, Join):
        name = {JoinKind.INNER: "Join", JoinKind.LEFT_SEMI: "Semi join"}[plan.kind]
    return f"{name} (operator {plan.at})"
