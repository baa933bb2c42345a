"""Scalar and predicate expressions over one row and, in a pushed predicate, one anchor row.

A predicate `P(x, a)` (DESIGN 4.3) is an expression in which `Column` refers to the row `x` at hand
and `Anchor` to the row `a` of the relation it was pushed from. Columns are resolved ids, never bare
names. Nodes are plain immutable data; simplification lives in functions (`conj`, `disj`, `negate`,
`is_in`), and traversal in `traverse`. Truth is Spark's three-valued logic; a row is selected when a
predicate is *true*.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

DataType: TypeAlias = str
"""A Spark type by its JSON name: `long`, `decimal(15,2)`, `timestamp_ntz`; nested ones as JSON."""

Scalar: TypeAlias = bool | int | float | str | None
"""A literal's value: decimals, dates, binary as canonical text, timestamps as UTC microseconds."""


class Comparison(StrEnum):
    """How two values are compared; all but `SAME` are unknown when a side is null."""

    EQ = "="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    SAME = "<=>"


@dataclass(frozen=True, slots=True)
class Column:
    """The value of column `id` in the row at hand."""

    id: int
    type: DataType


@dataclass(frozen=True, slots=True)
class Anchor:
    """The value of column `id` in the anchor row."""

    id: int
    type: DataType


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of a Spark type."""

    value: Scalar
    type: DataType


@dataclass(frozen=True, slots=True)
class Compare:
    """Whether `left` stands in relation `op` to `right`."""

    op: Comparison
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether `arg` is null; never unknown."""

    arg: Expr


@dataclass(frozen=True, slots=True)
class IsIn:
    """Whether `arg` equals one of `values`; unknown when null is compared and none matches."""

    arg: Expr
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The three-valued negation of `arg`."""

    arg: Expr


@dataclass(frozen=True, slots=True)
class And:
    """The three-valued conjunction of `args`; build it with `conj`."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """The three-valued disjunction of `args`; build it with `disj`."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """The value of the deterministic function `name`, in Spark's meaning, of `args`.

    `name` is one of `FUNCTIONS` in `plan.functions`. An engine that does not have the function in
    Spark's meaning refuses it by name.
    """

    name: str
    args: tuple[Expr, ...]
    type: DataType


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value nobody but Spark can compute again: a UDF, a random number, a function without IR
    form.

    It depends on `args`, and on more than them unless `deterministic`. It never enters a pushed
    predicate.
    """

    name: str
    args: tuple[Expr, ...]
    type: DataType
    deterministic: bool


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """The value of the aggregate function `name` over a group's rows where `filter` is true."""

    name: str
    args: tuple[Expr, ...]
    type: DataType
    distinct: bool
    filter: Expr | None


class FrameUnit(StrEnum):
    """How a window frame counts: rows of the order, or distances between order values."""

    ROWS = "rows"
    RANGE = "range"


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of a partition that a window function looks at, seen from one of them.

    A bound is None where the frame is unbounded; else a constant distance from the current row, in
    rows or in order values, negative before it and zero for the row (with `RANGE`: its peers).
    """

    unit: FrameUnit
    lower: Literal | None
    upper: Literal | None


@dataclass(frozen=True, slots=True)
class WindowCall:
    """The value of window function `name` over a row's frame, of the rows where `filter` is true.

    It stands alone as the expression of a `Window`'s column. Ranking functions have the frame that
    Spark gives them; `lag` and `lead` one of a single row.
    """

    name: str
    args: tuple[Expr, ...]
    type: DataType
    frame: Frame
    distinct: bool = False
    filter: Expr | None = None
    ignore_nulls: bool = False


Expr: TypeAlias = (
    Column
    | Anchor
    | Literal
    | Compare
    | IsNull
    | IsIn
    | Not
    | And
    | Or
    | Call
    | Unknown
    | AggregateCall
    | WindowCall
)

TRUE = Literal(True, "boolean")
FALSE = Literal(False, "boolean")


def conj(args: Iterable[Expr]) -> Expr:
    """Return the flat, deduplicated conjunction of `args`, in order of first appearance."""
    flat = _flatten(args, And)
    if FALSE in flat:
        return FALSE
    flat.pop(TRUE, None)
    return _join(list(flat), And, TRUE)


def disj(args: Iterable[Expr]) -> Expr:
    """Return the flat, deduplicated disjunction of `args`, in order of first appearance."""
    flat = _flatten(args, Or)
    if TRUE in flat:
        return TRUE
    flat.pop(FALSE, None)
    return _join(list(flat), Or, FALSE)


def negate(arg: Expr) -> Expr:
    """Return the negation of `arg`, without double negation."""
    match arg:
        case Not(inner):
            return inner
        case Literal(bool(value), "boolean"):
            return FALSE if value else TRUE
        case _:
            return Not(arg)


def is_in(arg: Expr, values: Iterable[Literal]) -> Expr:
    """Return membership of `arg` in `values`; one value becomes an equality, none becomes false."""
    unique = tuple(dict.fromkeys(values))
    match unique:
        case ():
            return FALSE
        case (value,):
            return Compare(Comparison.EQ, arg, value)
        case _:
            return IsIn(arg, unique)


def same(left: Expr, right: Expr) -> Expr:
    """Return the null-safe equality `left <=> right`."""
    return Compare(Comparison.SAME, left, right)


def data_type(expr: Expr) -> DataType:
    """Return the type of the values of `expr`."""
    match expr:
        case (
            Column() | Anchor() | Literal() | Call() | Unknown() | AggregateCall() | WindowCall()
        ):
            return expr.type
        case _:
            return "boolean"


def conjuncts(predicate: Expr) -> tuple[Expr, ...]:
    """Return the conjuncts of `predicate`: none for `TRUE`, itself when it is no conjunction."""
    if predicate == TRUE:
        return ()
    return predicate.args if isinstance(predicate, And) else (predicate,)


def _flatten(args: Iterable[Expr], kind: type[And] | type[Or]) -> dict[Expr, None]:
    # Arguments built by `conj` and `disj` are flat already, so one level is enough.
    flat: dict[Expr, None] = {}
    for arg in args:
        flat.update(dict.fromkeys(arg.args if isinstance(arg, kind) else (arg,)))
    return flat


def _join(args: list[Expr], kind: type[And] | type[Or], empty: Literal) -> Expr:
    if not args:
        return empty
    return args[0] if len(args) == 1 else kind(tuple(args))
