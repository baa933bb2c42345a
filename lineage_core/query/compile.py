"""Compile predicates of the IR to SQL trees that mean on an engine what they mean in Spark.

The tree is sqlglot's; only an engine spells it. What differs between engines is data: a `Dialect`
holds how literals are written and which functions exist in exactly Spark's meaning. What an
engine does not have is refused by name, never approximated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import (
    AggregateCall,
    Anchor,
    And,
    Call,
    Column,
    Compare,
    Comparison,
    DataType,
    Expr,
    IsIn,
    IsNull,
    Literal,
    Not,
    Or,
    Unknown,
    WindowCall,
    data_type,
)
from lineage_core.plan.relation import Generate
from lineage_core.plan.types import is_comparable
from lineage_core.query.types import FLOATS, decimal_of, sql_type

Sql: TypeAlias = exp.Expr

Resolve: TypeAlias = Callable[[Column | Anchor], Sql]
"""Gives the SQL column that a column of the row or of the anchor row is found in."""

Function: TypeAlias = Callable[[Call, Sequence[Sql]], Sql]
"""Builds a function's SQL from the call and its compiled arguments, or raises UnsupportedError."""

Clause: TypeAlias = Callable[[Sql], Sql]
"""Gives an aggregate or window function its FILTER and OVER clauses."""

GroupFunction: TypeAlias = Callable[[AggregateCall | WindowCall, Sequence[Sql], Clause], Sql]
"""Builds the SQL of a function of many rows, or raises UnsupportedError."""

Generator: TypeAlias = Callable[[Generate, Sequence[Sql], exp.Select, Sequence[str]], exp.Query]
"""Builds the rows of a Generate from the generator's compiled arguments, the SELECT of the columns
it keeps, and the names of the columns it makes; or raises UnsupportedError."""

_OPERATORS: dict[Comparison, type[exp.Binary]] = {
    Comparison.EQ: exp.EQ,
    Comparison.LT: exp.LT,
    Comparison.LE: exp.LTE,
    Comparison.GT: exp.GT,
    Comparison.GE: exp.GTE,
    Comparison.SAME: exp.NullSafeEQ,
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine says what the IR means.

    Attributes:
        engine: the engine's name, for messages.
        functions: the IR's functions that the engine has in Spark's meaning.
        text: the SQL of a string.
        instant: the SQL of a timestamp, given UTC microseconds.
        local: the SQL of a timestamp without zone, given microseconds.
        aggregates: the aggregate functions, of groups and of window frames, that the engine has in
            Spark's meaning.
        windows: its functions of windows alone.
        distance: gives the SQL of an order key in which the engine counts the distances of a frame.
        generate: the rows of a Generate.
        materializes: whether the engine can be told to compute a common table expression as it
            stands; it then does not weigh up, often wrongly, to join it with what refers to it.
    """

    engine: str
    functions: Mapping[str, Function]
    text: Callable[[str], Sql]
    instant: Callable[[int], Sql]
    local: Callable[[int], Sql]
    aggregates: Mapping[str, GroupFunction]
    windows: Mapping[str, GroupFunction]
    distance: Callable[[Expr, Sql], Sql]
    generate: Generator
    materializes: bool


def compile_expr(expr: Expr, resolve: Resolve, dialect: Dialect) -> Sql:
    """Return the SQL of `expr`, whose values are compared: with others, to group or to sort.

    Raises:
        UnsupportedError: the engine lacks a function, type or conversion in exactly Spark's
            meaning, or values of the type cannot be compared.
    """
    type = data_type(expr)
    if not is_comparable(type):
        raise UnsupportedError(f"a value of type {type} cannot be compared")
    return compile_value(expr, resolve, dialect)


def compile_value(expr: Expr, resolve: Resolve, dialect: Dialect) -> Sql:
    """Return the SQL of `expr`, whose values may be of any type, but are only handed on.

    Raises:
        UnsupportedError: the engine lacks a function, type or conversion in exactly Spark's
            meaning.
    """
    try:
        return _compile(expr, resolve, dialect)
    except RecursionError:
        raise UnsupportedError("a predicate is nested too deeply to be compiled") from None


def _compile(expr: Expr, resolve: Resolve, dialect: Dialect) -> Sql:
    match expr:
        case Column() | Anchor():
            return _column(expr, resolve)
        case Literal():
            return literal(expr, dialect)
        case Call():
            return _call(expr, resolve, dialect)
        case Unknown() | AggregateCall() | WindowCall():
            raise UnsupportedError(f"{expr.name} cannot be evaluated in a lineage predicate")
        case _:
            return _condition(expr, resolve, dialect)


def _condition(
    expr: Compare | IsNull | IsIn | Not | And | Or, resolve: Resolve, dialect: Dialect
) -> Sql:
    match expr:
        case Compare(op, left, right):
            sides = (compile_expr(side, resolve, dialect) for side in (left, right))
            return exp.paren(_OPERATORS[op](this=next(sides), expression=next(sides)), copy=False)
        case IsNull(arg):
            return exp.paren(exp.Is(this=_bare(arg, resolve, dialect), expression=exp.null()))
        case IsIn(arg, values):
            listed = [literal(value, dialect) for value in values]
            return exp.paren(exp.In(this=compile_expr(arg, resolve, dialect), expressions=listed))
        case Not(arg):
            return exp.paren(exp.Not(this=_compile(arg, resolve, dialect)), copy=False)
        case And(args):
            return balanced(exp.And, [_compile(arg, resolve, dialect) for arg in args])
        case Or(args):
            return balanced(exp.Or, [_compile(arg, resolve, dialect) for arg in args])


def balanced(kind: type[exp.Connector], args: Sequence[Sql]) -> Sql:
    """Return the connection of `args` as a tree of logarithmic depth: engines limit the depth."""
    if len(args) == 1:
        return args[0]
    middle = len(args) // 2
    left, right = balanced(kind, args[:middle]), balanced(kind, args[middle:])
    return exp.paren(kind(this=left, expression=right), copy=False)


def literal(value: Literal, dialect: Dialect) -> Sql:
    """Return the SQL of a constant, typed so that no engine reads it as anything else."""
    match value:
        case Literal(None, type):
            return null(type)
        case Literal(bool(truth), "boolean"):
            return exp.Boolean(this=truth)
        case Literal(str(text), "string"):
            return dialect.text(text)
        case Literal(str(digits), "binary"):
            return call("unhex", exp.Literal.string(digits))
        case Literal(int(micros), "timestamp"):
            return dialect.instant(micros)
        case Literal(int(micros), "timestamp_ntz"):
            return dialect.local(micros)
        case Literal(str(text), type) if type == "date" or decimal_of(type) is not None:
            return _cast(exp.Literal.string(text), type)
        case Literal(int() | float() as number, type) if is_comparable(type):
            return _cast(exp.Literal.string(_number(number)), type)
        case _:
            raise UnsupportedError(f"a literal of type {value.type} cannot be compared")


def null(type: DataType) -> Sql:
    """Return the SQL of a null of `type`; of no type of its own where values cannot be compared."""
    return _cast(exp.null(), type) if is_comparable(type) else exp.null()


def call(name: str, *args: Sql) -> Sql:
    """Return a call of the engine's own function `name`, spelled as given."""
    return exp.Anonymous(this=name, expressions=list(args))


def not_a_number() -> Sql:
    """Return the SQL of NaN."""
    return _cast(exp.Literal.string("NaN"), "double")


def _bare(expr: Expr, resolve: Resolve, dialect: Dialect) -> Sql:
    """Return the SQL of a value that is only asked to be null, which is known of any type."""
    return resolve(expr) if isinstance(expr, Column | Anchor) else _compile(expr, resolve, dialect)


def _column(expr: Column | Anchor, resolve: Resolve) -> Sql:
    column = resolve(expr)
    if expr.type not in FLOATS:
        return column
    # Parquet's statistics do not count NaN, yet engines skip row groups by them: with a bare column
    # the rows that are greatest would be lost (seen with DuckDB 2.0). No engine sees through this.
    nan = _cast(not_a_number(), expr.type)
    return exp.If(this=call("isnan", column), true=nan, false=column.copy())


def _call(expr: Call, resolve: Resolve, dialect: Dialect) -> Sql:
    function = dialect.functions.get(expr.name)
    if function is None:
        raise UnsupportedError(
            f"the {dialect.engine} engine does not have function {expr.name} in Spark's meaning",
            hint="ask with engine='spark'",
        )
    return function(expr, [_compile(arg, resolve, dialect) for arg in expr.args])


def _cast(value: Sql, type: str) -> Sql:
    return exp.Cast(this=value, to=sql_type(type))


def _number(value: int | float) -> str:
    if isinstance(value, int):
        return str(value)
    return str(value).replace("nan", "NaN").replace("inf", "Infinity")
