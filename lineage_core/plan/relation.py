"""The relational operators of a captured plan: immutable nodes, each denoting a bag of rows.

An expression of a node refers to columns of the node's immediate inputs only, by id. Ids are unique
in a plan: a column keeps its id while operators hand it on unchanged, as Catalyst's `exprId` does.
`at` is the operator's place, quoted in every message and unique in a plan: its number in a
pre-order walk of the optimised Catalyst plan. Operators that stand for something else there, such
as the join with a scalar subquery, are numbered after it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    """Which rows a join gives.

    Outer joins give the pairs, and the rows of the named side that have no partner, with nulls for
    the other side. `EXISTENCE` gives every left row and whether it has a partner.
    """

    INNER = "inner"
    LEFT_OUTER = "left_outer"
    RIGHT_OUTER = "right_outer"
    FULL_OUTER = "full_outer"
    LEFT_SEMI = "left_semi"
    LEFT_ANTI = "left_anti"
    EXISTENCE = "existence"

    @property
    def pairs(self) -> bool:
        """Whether the join offers the columns of both sides."""
        return self not in (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI, JoinKind.EXISTENCE)

    @property
    def keeps_left(self) -> bool:
        """Whether a left row without a partner is handed on."""
        return self in (
            JoinKind.LEFT_OUTER,
            JoinKind.FULL_OUTER,
            JoinKind.LEFT_ANTI,
            JoinKind.EXISTENCE,
        )

    @property
    def keeps_right(self) -> bool:
        """Whether a right row without a partner is handed on."""
        return self in (JoinKind.RIGHT_OUTER, JoinKind.FULL_OUTER)


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of source number `source` (an index into the run's input snapshots).

    Where lineage asks for it, `columns` end with the scan's `rid_field`.
    """

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
    """The rows of `left` and `right` that `kind` takes; partners are those `condition` holds for.

    `exists` is the column that an existence join adds to the left row; None for other kinds.
    """

    at: int
    kind: JoinKind
    condition: Expr
    left: Plan
    right: Plan
    exists: Field | None = None


@dataclass(frozen=True, slots=True)
class Union:
    """The rows of all `inputs`.

    `taken` lists for each input the ids of its columns that become `columns`, in their order; None
    where the input has nulls for a column.
    """

    at: int
    columns: tuple[Field, ...]
    taken: tuple[tuple[int | None, ...], ...]
    inputs: tuple[Plan, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row per distinct value of `keys` (one row in all without keys), holding `columns`.

    Each of `columns` is an expression over `keys` and aggregate calls. A `domain` only hands on the
    values that outer rows ask a correlated subquery about: an outer row is made of itself and of
    the subquery's rows, not of other outer rows that ask the same, so a domain has no lineage.
    """

    at: int
    keys: tuple[Expr, ...]
    columns: tuple[Named, ...]
    child: Plan
    domain: bool = False


@dataclass(frozen=True, slots=True)
class Expand:
    """One row per row of `child` and list of `projections`, with its values as `columns`."""

    at: int
    projections: tuple[tuple[Expr, ...], ...]
    columns: tuple[Field, ...]
    child: Plan


@dataclass(frozen=True, slots=True)
class Generate:
    """One row per row of `child` and row that `generator` makes of it.

    The row holds `kept` columns of `child`, then the `generated` ones. A row that nothing is made
    of is handed on with nulls if `outer`.
    """

    at: int
    generator: Expr
    outer: bool
    kept: tuple[Field, ...]
    generated: tuple[Field, ...]
    child: Plan


@dataclass(frozen=True, slots=True)
class Window:
    """The rows of `child`, each with `columns` computed over its partition; see `WindowCall`."""

    at: int
    partition: tuple[Expr, ...]
    order: tuple[SortKey, ...]
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
class Offset:
    """All rows of `child` but the first `count`."""

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


Plan: TypeAlias = (
    Scan
    | Values
    | Filter
    | Project
    | Join
    | Union
    | Aggregate
    | Expand
    | Generate
    | Window
    | Sort
    | Limit
    | Offset
    | Opaque
)

_RID_IDS = -1_000_000


def rid_field(scan: Scan) -> Field:
    """Return the column of a scan that holds the rids of its rows; it is a key (DESIGN 4.2)."""
    return Field(rid_id(scan.at), "rid", "long")


def rid_id(at: int) -> int:
    """Return the column id of the rids of the scan at a place."""
    return _RID_IDS - at


def is_rid(id: int) -> bool:
    """Whether a column id is that of some scan's `rid_field`."""
    return id <= _RID_IDS


def children(plan: Plan) -> tuple[Plan, ...]:
    """Return the inputs of `plan`, left to right."""
    match plan:
        case Scan() | Values():
            return ()
        case Join():
            return (plan.left, plan.right)
        case Union():
            return plan.inputs
        case Opaque():
            return plan.children
        case _:
            return (plan.child,)


def with_children(plan: Plan, inputs: tuple[Plan, ...]) -> Plan:
    """Return `plan` over other inputs, in the order of `children`."""
    match plan:
        case Scan() | Values():
            return plan
        case Join():
            left, right = inputs
            return replace(plan, left=left, right=right)
        case Union():
            return replace(plan, inputs=inputs)
        case Opaque():
            return replace(plan, children=inputs)
        case _:
            (child,) = inputs
            return replace(plan, child=child)


def output(plan: Plan) -> tuple[Field, ...]:
    """Return the columns `plan` offers, in order."""
    tail: list[tuple[Field, ...]] = []
    stack = [plan]  # never recursive: plans may be deep
    while stack:
        match stack.pop():
            case Scan() | Values() | Opaque() | Union() | Expand() as node:
                tail.append(node.columns)
            case Project() | Aggregate() as node:
                tail.append(_fields(node.columns))
            case Generate() as node:
                tail.append(node.kept + node.generated)
            case Join() as node:
                if node.exists is not None:
                    tail.append((node.exists,))
                stack.append(node.left)
                if node.kind.pairs:
                    stack.append(node.right)
            case Window() as node:
                tail.append(_fields(node.columns))
                stack.append(node.child)
            case Filter() | Sort() | Limit() | Offset() as node:
                stack.append(node.child)
    return tuple(field for fields in reversed(tail) for field in fields)


def place(plan: Plan) -> str:
    """Return how messages name an operator: its kind and its place in the plan."""
    name = plan.name if isinstance(plan, Opaque) else type(plan).__name__
    if isinstance(plan, Join):
        name = _JOIN_NAMES[plan.kind]
    return f"{name} (operator {plan.at})"


_JOIN_NAMES = {
    JoinKind.INNER: "Join",
    JoinKind.LEFT_OUTER: "Left outer join",
    JoinKind.RIGHT_OUTER: "Right outer join",
    JoinKind.FULL_OUTER: "Full outer join",
    JoinKind.LEFT_SEMI: "Semi join",
    JoinKind.LEFT_ANTI: "Anti join",
    JoinKind.EXISTENCE: "Existence join",
}


def _fields(columns: tuple[Named, ...]) -> tuple[Field, ...]:
    return tuple(Field(column.id, column.name, column.type) for column in columns)
