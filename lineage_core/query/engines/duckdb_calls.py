"""The aggregate and window functions that DuckDB has in exactly Spark's meaning.

Sums are made exactly, in 128 bits, and narrowed to Spark's type. Left out: sums of floats, which
depend on the order of rows; averages that Spark makes of decimals by floats (11 digits or less);
`first` and its like of a group, which depend on it too; the statistical functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import AggregateCall, DataType, Expr, Literal, WindowCall, data_type
from lineage_core.plan.functions import POSITION
from lineage_core.plan.relation import Generate, place
from lineage_core.query.compile import Clause, GroupFunction, Sql, call
from lineage_core.query.engines import duckdb_decimals as decimals
from lineage_core.query.engines.duckdb_decimals import MAX_PRECISION
from lineage_core.query.types import INTEGERS, decimal_of, sql_type

_BY_FLOATS = 11
"""Decimals of so many digits are averaged by Spark's optimizer as floats."""

_EXACT_SCALE = 20
"""An average of decimals of so small a scale is rounded once, as far as can be told: Spark
divides to 39 digits first."""

_EXACT = 1 << 53
"""Below this, sums of whole numbers are exact as doubles in any order."""


def _refuse(expr: AggregateCall | WindowCall, why: str = "") -> UnsupportedError:
    types = ", ".join(data_type(arg) for arg in expr.args)
    return UnsupportedError(
        f"the duckdb engine does not have {expr.name}({types}) in Spark's meaning{why}",
        hint="ask with engine='spark'",
    )


def _bare(expr: AggregateCall | WindowCall, name: str, *args: Sql) -> Sql:
    given = [exp.Distinct(expressions=list(args))] if expr.distinct else args
    return call(name, *given)


def _is_null(sql: Sql) -> Sql:
    return exp.Is(this=sql, expression=exp.null())


def _count(expr: AggregateCall | WindowCall, args: Sequence[Sql], clause: Clause) -> Sql:
    if not args:
        return clause(exp.Count(this=exp.Star()))
    if len(args) == 1:
        return clause(_bare(expr, "count", args[0]))
    some_null = exp.or_(*(_is_null(arg.copy()) for arg in args), copy=False)
    row = call("row", *args) if expr.distinct else exp.Boolean(this=True)
    whole = exp.Case().when(some_null, exp.null()).else_(row)
    return clause(_bare(expr, "count", whole))


def _sum(expr: AggregateCall | WindowCall, args: Sequence[Sql], clause: Clause) -> Sql:
    type = data_type(expr.args[0])
    total = clause(_bare(expr, "sum", args[0]))
    decimal = decimal_of(type)
    if type in INTEGERS and expr.type == "long":
        return exp.TryCast(this=total, to=sql_type("long"))
    if decimal is None or expr.type != _wider(decimal, 10, 0):
        raise _refuse(expr)
    if decimal[0] + 10 <= MAX_PRECISION:
        return exp.TryCast(this=total, to=sql_type(expr.type))
    # DuckDB's own sums may have more digits than their type.
    most = exp.Cast(this=exp.Literal.string(_greatest(decimal[1])), to=sql_type(expr.type))
    fits = exp.LTE(this=call("abs", total), expression=most)
    return exp.Case().when(fits, total.copy()).else_(exp.null())


def _wider(decimal: tuple[int, int], digits: int, scale: int) -> DataType:
    precision, places = decimal[0] + digits, decimal[1] + scale
    return f"decimal({min(precision, MAX_PRECISION)},{min(places, MAX_PRECISION)})"


def _greatest(scale: int) -> str:
    digits = "9" * MAX_PRECISION
    return f"{digits[scale:]}.{digits[:scale]}" if scale else digits


def _avg(expr: AggregateCall | WindowCall, args: Sequence[Sql], clause: Clause) -> Sql:
    type = data_type(expr.args[0])
    if type in INTEGERS and expr.type == "double":
        return _avg_of_integers(expr, args[0], clause)
    decimal = decimal_of(type)
    if decimal is None or expr.type != _wider(decimal, 4, 4):
        raise _refuse(expr)
    if decimal[0] <= _BY_FLOATS:
        raise _refuse(expr, " (made of floats)")
    if not 0 <= decimal[1] <= _EXACT_SCALE:
        raise _refuse(expr, " (rounded twice)")
    return _avg_of_decimals(expr, args[0], clause, decimal[1])


def _avg_of_integers(expr: AggregateCall | WindowCall, arg: Sql, clause: Clause) -> Sql:
    huge = decimals.huge(arg)
    total = clause(_bare(expr, "sum", huge))
    size = clause(_bare(expr, "sum", call("abs", huge.copy())))
    count = clause(_bare(expr, "count", arg.copy()))
    quotient = exp.Div(this=exp.Cast(this=total, to=sql_type("double")), expression=count)
    exact = exp.LT(this=size, expression=exp.Literal.number(_EXACT))
    inexact = call("error", exp.Literal.string("an average is not exact"))
    empty = exp.EQ(this=count.copy(), expression=exp.Literal.number(0))
    return exp.Case().when(empty, exp.null()).when(exact, quotient).else_(inexact)


def _avg_of_decimals(
    expr: AggregateCall | WindowCall, arg: Sql, clause: Clause, scale: int
) -> Sql:
    total = decimals.units(clause(_bare(expr, "sum", arg)))
    count = decimals.huge(clause(_bare(expr, "count", arg.copy())))
    units = decimals.quotient(total, count, 4)
    return exp.TryCast(this=decimals.decimal(units, scale + 4), to=sql_type(expr.type))


def _extreme(name: str) -> GroupFunction:
    def build(expr: AggregateCall | WindowCall, args: Sequence[Sql], clause: Clause) -> Sql:
        return clause(call(name, args[0]))

    return build


def _of_window(name: str) -> GroupFunction:
    def build(expr: AggregateCall | WindowCall, args: Sequence[Sql], clause: Clause) -> Sql:
        return exp.Cast(this=clause(call(name, *args)), to=sql_type(expr.type))

    return build


def _pick(name: str) -> GroupFunction:
    """A function that gives the value of one row of its frame."""

    def build(expr: AggregateCall | WindowCall, args: Sequence[Sql], clause: Clause) -> Sql:
        assert isinstance(expr, WindowCall)
        given, ignore = list(args), expr.ignore_nulls
        if expr.name in ("first", "last") and len(given) == 2:
            given, ignore = given[:1], expr.args[1] == Literal(True, "boolean")
        bare: Sql = call(name, *given)
        return clause(exp.IgnoreNulls(this=bare) if ignore else bare)

    return build


AGGREGATE_FUNCTIONS: dict[str, GroupFunction] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _extreme("min"),
    "max": _extreme("max"),
}

WINDOW_FUNCTIONS: dict[str, GroupFunction] = {
    **{
        name: _of_window(name)
        for name in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
    },
    POSITION: lambda expr, _, clause: _of_window("row_number")(expr, (), clause),
    "lag": _pick("lag"),
    "lead": _pick("lead"),
    "first": _pick("first_value"),
    "last": _pick("last_value"),
    "nth_value": _pick("nth_value"),
}


def distance(key: Expr, sql: Sql) -> Sql:
    """Return an order key as a number in which distances do not overflow; dates count in days."""
    type = data_type(key)
    if type in INTEGERS:
        return decimals.huge(sql)
    if type == "date":
        epoch = exp.Cast(this=exp.Literal.string("1970-01-01"), to=sql_type("date"))
        return decimals.huge(exp.paren(exp.Sub(this=sql, expression=epoch)))
    raise UnsupportedError(
        f"the duckdb engine does not have a frame of distances of {type} in Spark's meaning",
        hint="ask with engine='spark'",
    )


def generate(
    node: Generate, args: Sequence[Sql], kept: exp.Select, made: Sequence[str]
) -> exp.Query:
    """Refuse: nested values are Spark's own."""
    raise UnsupportedError(
        f"the duckdb engine does not make the rows of {place(node)}",
        hint="ask with engine='spark'",
    )
