"""What DuckDB has in exactly Spark's meaning: its literals and its table of functions.

Arithmetic is done in a wider type and narrowed with TRY_CAST, as a result that does not fit is
null. Left out because the meanings differ: `upper` and `lower` (special casing of some letters),
conversions from and to text, and what depends on a time zone other than UTC: the rules of a zone
are data, of which Spark's Java and DuckDB have their own versions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import Call, DataType, Expr, Literal, data_type
from lineage_core.query.compile import Dialect, Function, Sql, call, literal
from lineage_core.query.engines import duckdb_decimals as decimals
from lineage_core.query.engines.duckdb_calls import (
    AGGREGATE_FUNCTIONS,
    WINDOW_FUNCTIONS,
    distance,
    generate,
)
from lineage_core.query.types import FLOATS, INTEGERS, canonical, decimal_of, sql_type

_WIDE = exp.DataType(this=exp.DataType.Type.INT128)

_EXACT_DIGITS = 15
"""A decimal of so many digits converts to the nearest double by one division."""

_MAX_PRECISION = 38

_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z", "+00:00"})

_UNITS = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    "week": "week",
    **dict.fromkeys(("day", "dd"), "day"),
    "hour": "hour",
    "minute": "minute",
    "second": "second",
}
"""Spark's names of units, and DuckDB's."""


def _text(value: str) -> Sql:
    # A NUL would end the statement's text.
    parts: list[Sql] = []
    for i, part in enumerate(value.split("\0")):
        if i:
            parts.append(call("chr", exp.Literal.number(0)))
        parts.append(exp.Literal.string(part))
    return _concat(parts)


def _concat(parts: Sequence[Sql]) -> Sql:
    joined = parts[0]
    for part in parts[1:]:
        joined = exp.DPipe(this=joined, expression=part)
    return exp.paren(joined) if len(parts) > 1 else joined


def _instant(micros: int) -> Sql:
    return call("make_timestamptz", exp.cast(exp.Literal.string(str(micros)), "BIGINT"))


def _local(micros: int) -> Sql:
    return call("make_timestamp", exp.cast(exp.Literal.string(str(micros)), "BIGINT"))


def _refuse(expr: Call, why: str = "") -> UnsupportedError:
    types = ", ".join(data_type(arg) for arg in expr.args)
    to = f" to {expr.type}" if expr.name == "cast" else ""
    return UnsupportedError(
        f"the duckdb engine does not have {expr.name}({types}){to} in Spark's meaning{why}",
        hint="ask with engine='spark'",
    )


def _try(value: Sql, type: DataType) -> Sql:
    return exp.TryCast(this=value, to=sql_type(type))


def _arithmetic(operator: type[exp.Binary]) -> Function:
    def build(expr: Call, args: Sequence[Sql]) -> Sql:
        kind = {data_type(arg) for arg in expr.args}
        if kind == {expr.type} and expr.type in FLOATS:
            return exp.paren(operator(this=args[0], expression=args[1]))
        if kind == {expr.type} and expr.type in INTEGERS:
            wide = [exp.Cast(this=arg, to=_WIDE.copy()) for arg in args]
            return _try(operator(this=wide[0], expression=wide[1]), expr.type)
        return _try(_decimal_arithmetic(expr, operator, args), expr.type)

    return build


def _decimal_arithmetic(expr: Call, operator: type[exp.Binary], args: Sequence[Sql]) -> Sql:
    (p1, s1), (p2, s2) = (_precision_of(expr, data_type(arg)) for arg in expr.args)
    scale = max(s1, s2)
    scales = (s1, s2) if operator is exp.Mul else (scale, scale)
    whole = max(p1 - s1, p2 - s2)
    # A product of more digits than there can be is an error of the query, if it is met at all.
    if s1 + s2 > _MAX_PRECISION if operator is exp.Mul else whole + scale + 1 > _MAX_PRECISION:
        raise _refuse(expr, " (more than 38 digits)")
    # As wide as can be: in a narrower type DuckDB's own result may overflow, which is an error.
    left, right = (sql_type(f"decimal({_MAX_PRECISION},{scale})") for scale in scales)
    return operator(
        this=exp.Cast(this=args[0], to=left), expression=exp.Cast(this=args[1], to=right)
    )


def _precision_of(expr: Call, type: DataType) -> tuple[int, int]:
    decimal = decimal_of(type)
    if decimal is None or decimal_of(expr.type) is None:
        raise _refuse(expr)
    return decimal


def _divide(operator: type[exp.Binary]) -> Function:
    def build(expr: Call, args: Sequence[Sql]) -> Sql:
        if operator is exp.Div and decimal_of(expr.type) is not None:
            return _divide_decimals(expr, args)
        same = {data_type(arg) for arg in expr.args} == {expr.type}
        fits = expr.type in FLOATS or (operator is exp.Mod and expr.type in INTEGERS)
        if not (same and fits):
            raise _refuse(expr)
        zero = literal(Literal(0, expr.type), DIALECT)
        divisor = exp.Nullif(this=args[1], expression=zero)
        if operator is exp.Mod and expr.type in INTEGERS:
            # The least integer modulo -1 overflows in its own type.
            wide = [exp.Cast(this=arg, to=_WIDE.copy()) for arg in (args[0], divisor)]
            return _try(operator(this=wide[0], expression=wide[1]), expr.type)
        return exp.paren(operator(this=args[0], expression=divisor))

    return build


def _divide_decimals(expr: Call, args: Sequence[Sql]) -> Sql:
    (_, s1), (_, s2) = (_precision_of(expr, data_type(arg)) for arg in expr.args)
    _, scale = _precision_of(expr, expr.type)
    shift = scale + s2 - s1
    if not 0 <= shift <= _MAX_PRECISION:
        raise _refuse(expr)
    dividend, divisor = map(decimals.units, args)
    units = decimals.quotient(dividend, divisor, shift)
    # Spark rounds to 39 places first; with a divisor of so many digits that could be seen.
    most = decimals.power(_MAX_PRECISION - scale)
    small = exp.LT(this=call("abs", divisor.copy()), expression=most)
    null = exp.Is(this=divisor.copy(), expression=exp.null())
    refused = call("error", exp.Literal.string("a quotient of decimals is rounded twice"))
    value = exp.Case().when(null, exp.null()).when(small, units).else_(refused)
    return _try(decimals.decimal(value, scale), expr.type)


def _sign(build_wide: Callable[[Sql], Sql]) -> Function:
    def build(expr: Call, args: Sequence[Sql]) -> Sql:
        if data_type(expr.args[0]) != expr.type:
            raise _refuse(expr)
        if expr.type in INTEGERS:
            return _try(build_wide(exp.Cast(this=args[0], to=_WIDE.copy())), expr.type)
        if expr.type in FLOATS or decimal_of(expr.type):
            return build_wide(args[0])
        raise _refuse(expr)

    return build


def _cast(expr: Call, args: Sequence[Sql]) -> Sql:
    source, target = canonical(data_type(expr.args[0])), canonical(expr.type)
    if source == target:
        return args[0]
    if not _casts_alike(source, target):
        raise _refuse(expr)
    return _try(args[0], target)


def _casts_alike(source: DataType, target: DataType) -> bool:
    """Whether both engines convert every value of `source` to the same of `target`, or null."""
    decimal = decimal_of(source)
    match source, target:
        case _ if source in INTEGERS:
            return (
                target in INTEGERS
                or target in FLOATS
                or target in ("string", "boolean")
                or (decimal_of(target) is not None)
            )
        case _ if decimal is not None:
            return decimal_of(target) is not None or (
                target == "double" and decimal[0] <= _EXACT_DIGITS
            )
        case "boolean", _:
            return target in INTEGERS or target == "string"
        case ("float", "double") | ("date", "timestamp_ntz"):
            return True
        case _:
            return False


def _case_when(_: Call, args: Sequence[Sql]) -> Sql:
    case = exp.Case()
    for condition, value in zip(args[:-1:2], args[1::2], strict=True):
        case.append("ifs", exp.If(this=condition, true=value))
    case.set("default", args[-1])
    return case


def _alike(name: str) -> Function:
    """A function of the same meaning for arguments that all have the result's type."""

    def build(expr: Call, args: Sequence[Sql]) -> Sql:
        if any(canonical(data_type(arg)) != canonical(expr.type) for arg in expr.args):
            raise _refuse(expr)
        return call(name, *args)

    return build


def _over(type: DataType, build_sql: Callable[[Sequence[Sql]], Sql]) -> Function:
    """A function whose arguments must all have one type."""

    def build(expr: Call, args: Sequence[Sql]) -> Sql:
        if any(canonical(data_type(arg)) != type for arg in expr.args):
            raise _refuse(expr)
        return build_sql(args)

    return build


def _named(name: str) -> Callable[[Sequence[Sql]], Sql]:
    return lambda args: call(name, *args)


def _like(expr: Call, args: Sequence[Sql]) -> Sql:
    match expr.args:
        case (value, Literal(str(pattern), _), Literal(str(escape), _)) if (
            canonical(data_type(value)) == "string" and len(escape) == 1
        ):
            like = exp.Like(this=args[0], expression=args[1])
            if escape in pattern:
                return exp.paren(exp.Escape(this=like, expression=args[2]))
            return exp.paren(like)
        case _:
            raise _refuse(expr, " (unless pattern and escape are constants)")


def _substring(expr: Call, args: Sequence[Sql]) -> Sql:
    match expr.args:
        case (value, Literal(int(position), _), Literal(int(length), _)) if (
            canonical(data_type(value)) == "string" and position >= 0 and length >= 0
        ):
            start = exp.Literal.number(max(position, 1))  # Spark reads position 0 as 1
            return call("substring", args[0], start, exp.Literal.number(length))
        case _:
            raise _refuse(expr, " (unless position and length are constants, not negative)")


def _shift_date(operator: type[exp.Binary]) -> Function:
    def build(expr: Call, args: Sequence[Sql]) -> Sql:
        if data_type(expr.args[0]) != "date" or data_type(expr.args[1]) not in INTEGERS:
            raise _refuse(expr)
        days = exp.Cast(this=args[1], to=sql_type("integer"))
        return exp.paren(operator(this=args[0], expression=days))

    return build


def _whole(build_wide: Callable[[Sequence[Sql]], Sql]) -> Function:
    """A function of integers, computed in a wider type; null where its result does not fit."""

    def build(expr: Call, args: Sequence[Sql]) -> Sql:
        if any(data_type(arg) not in INTEGERS for arg in expr.args):
            raise _refuse(expr)
        return _try(build_wide([exp.Cast(this=arg, to=_WIDE.copy()) for arg in args]), expr.type)

    return build


def _quotient(wide: Sequence[Sql]) -> Sql:
    divisor = exp.Nullif(this=wide[1], expression=exp.Literal.number(0))
    return exp.IntDiv(this=wide[0], expression=divisor)


def _bits(operator: type[exp.Binary]) -> Function:
    return _whole(lambda wide: operator(this=wide[0], expression=wide[1]))


def _utc(function: Function) -> Function:
    """A function of a time zone, which has to be UTC; the session of the engine is in it."""

    def build(expr: Call, args: Sequence[Sql]) -> Sql:
        match expr.args:
            case (*_, Literal(str(zone))) if zone in _UTC:
                return function(expr, args[:-1])
        raise _refuse(expr, " (in other time zones than UTC)")

    return build


def _zoned_cast(expr: Call, args: Sequence[Sql]) -> Sql:
    source, target = canonical(data_type(expr.args[0])), canonical(expr.type)
    if "string" in (source, target):
        raise _refuse(expr)
    return exp.Cast(this=_shown(args[0]), to=sql_type(target))


def _shown(instant: Sql) -> Sql:
    """Return what a clock in UTC shows."""
    return exp.Cast(this=instant, to=sql_type("timestamp_ntz"))


def _time_part(name: str) -> Function:
    def build(expr: Call, args: Sequence[Sql]) -> Sql:
        return exp.Cast(this=call(name, _shown(args[0])), to=sql_type("integer"))

    def any_zone(expr: Call, args: Sequence[Sql]) -> Sql:
        shown = data_type(expr.args[0]) == "timestamp_ntz"
        return build(expr, args) if shown else _utc(build)(expr, args)

    return any_zone


def _date_trunc(expr: Call, args: Sequence[Sql]) -> Sql:
    unit = _unit(expr, expr.args[0])
    start = call("date_trunc", exp.Literal.string(unit), _shown(args[1]))
    return exp.Cast(this=_shown(start), to=sql_type("timestamp"))


def _trunc(expr: Call, args: Sequence[Sql]) -> Sql:
    unit = _unit(expr, expr.args[1])
    if unit not in ("year", "quarter", "month", "week"):
        raise _refuse(expr, f" (to a {unit})")
    return exp.Cast(this=call("date_trunc", exp.Literal.string(unit), args[0]), to=sql_type("date"))


def _unit(expr: Call, arg: Expr) -> str:
    match arg:
        case Literal(str(text)) if text.lower() in _UNITS:
            return _UNITS[text.lower()]
    raise _refuse(expr, " (unless the unit is a constant)")


FUNCTIONS: dict[str, Function] = {
    "add": _arithmetic(exp.Add),
    "subtract": _arithmetic(exp.Sub),
    "multiply": _arithmetic(exp.Mul),
    "divide": _divide(exp.Div),
    "remainder": _divide(exp.Mod),
    "negative": _sign(lambda value: exp.paren(exp.Neg(this=value))),
    "abs": _sign(lambda value: call("abs", value)),
    "cast": _cast,
    "div": _whole(_quotient),
    "bitwise_and": _bits(exp.BitwiseAnd),
    "bitwise_or": _bits(exp.BitwiseOr),
    "bitwise_xor": _bits(exp.BitwiseXor),
    "bitwise_not": _whole(lambda wide: exp.BitwiseNot(this=wide[0])),
    "case_when": _case_when,
    "coalesce": _alike("coalesce"),
    "greatest": _alike("greatest"),
    "least": _alike("least"),
    "starts_with": _over("string", _named("starts_with")),
    "ends_with": _over("string", _named("suffix")),
    "contains": _over("string", _named("contains")),
    "like": _like,
    "substring": _substring,
    "length": _over("string", _named("length")),
    "concat": _over("string", _concat),
    "trim": _over("string", lambda args: call("trim", args[0], exp.Literal.string(" "))),
    "year": _over("date", _named("year")),
    "quarter": _over("date", _named("quarter")),
    "month": _over("date", _named("month")),
    "day": _over("date", _named("day")),
    "date_add": _shift_date(exp.Add),
    "date_sub": _shift_date(exp.Sub),
    "date_diff": _over("date", lambda args: exp.paren(exp.Sub(this=args[0], expression=args[1]))),
    "trunc": _trunc,
    "zoned_cast": _utc(_zoned_cast),
    "date_trunc": _utc(_date_trunc),
    "hour": _time_part("hour"),
    "minute": _time_part("minute"),
    "second": _time_part("second"),
}

DIALECT = Dialect(
    "duckdb",
    FUNCTIONS,
    _text,
    _instant,
    _local,
    AGGREGATE_FUNCTIONS,
    WINDOW_FUNCTIONS,
    distance,
    generate,
    materializes=True,
)
