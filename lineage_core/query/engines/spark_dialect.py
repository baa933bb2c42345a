"""What Spark is told: its own functions, in the variants that give null where others would raise.

Constants that SQL text could distort (escapes, `${...}` substitution) are written in hexadecimal,
so that no setting of the session changes them. What depends on the session's time zone is only
evaluated in the zone that the pipeline ran in, which the engine is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlglot import exp

from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import Call, DataType, Literal, data_type
from lineage_core.plan.functions import SPARKS, ZONED
from lineage_core.query.compile import Dialect, Function, Sql, call
from lineage_core.query.engines.spark_calls import (
    AGGREGATE_FUNCTIONS,
    WINDOW_FUNCTIONS,
    distance,
    generate,
)
from lineage_core.query.types import FLOATS, canonical, sql_type

_PLAIN = re.compile(r"[ !#%&()*+,\-./0-9:;<=>?@A-Z\[\]^_a-z|~]*")

_ZONED = ("timestamp", {"string", "date", "timestamp_ntz"})

_EPOCH = datetime(1970, 1, 1)


def _text(value: str) -> Sql:
    if _PLAIN.fullmatch(value):
        return exp.Literal.string(value)
    return exp.Cast(this=exp.HexString(this=value.encode().hex()), to=sql_type("string"))


def _instant(micros: int) -> Sql:
    return call("timestamp_micros", exp.cast(exp.Literal.string(str(micros)), "BIGINT"))


def _local(micros: int) -> Sql:
    moment = _EPOCH + timedelta(microseconds=micros)
    text = exp.Literal.string(moment.isoformat(" ", "microseconds"))
    return exp.Cast(this=text, to=sql_type("timestamp_ntz"))


def _named(name: str) -> Function:
    return lambda _, args: call(name, *args)


def _cast(expr: Call, args: Sequence[Sql]) -> Sql:
    source, target = canonical(data_type(expr.args[0])), canonical(expr.type)
    zoned, others = _ZONED
    if (source == zoned and target in others) or (target == zoned and source in others):
        raise UnsupportedError(
            f"a conversion of {source} to {target} depends on the time zone of a Spark session",
            hint="ask by other columns, or by rids",
        )
    return exp.TryCast(this=args[0], to=sql_type(expr.type), safe=True)


def _case_when(_: Call, args: Sequence[Sql]) -> Sql:
    case = exp.Case()
    for condition, value in zip(args[:-1:2], args[1::2], strict=True):
        case.append("ifs", exp.If(this=condition, true=value))
    case.set("default", args[-1])
    return case


def _negative(expr: Call, args: Sequence[Sql]) -> Sql:
    if expr.type in FLOATS:
        return call("negative", args[0])
    return call("try_subtract", _zero(expr.type), args[0])


def _abs(expr: Call, args: Sequence[Sql]) -> Sql:
    if expr.type in FLOATS:
        return call("abs", args[0])
    negated = call("try_subtract", _zero(expr.type), args[0].copy())
    is_negative = exp.LT(this=args[0], expression=_zero(expr.type))
    return exp.If(this=is_negative, true=negated, false=args[0].copy())


def _zero(type: DataType) -> Sql:
    value = "0" if type.startswith("decimal") else 0
    return exp.Cast(this=exp.Literal.string(str(value)), to=sql_type(type))


def _like(expr: Call, args: Sequence[Sql]) -> Sql:
    match expr.args:
        case (_, Literal(str(pattern), _), Literal(str(escape), _)) if len(escape) == 1:
            like = exp.Like(this=args[0], expression=args[1])
            if escape in pattern and escape != "\\":
                return exp.paren(exp.Escape(this=like, expression=exp.Literal.string(escape)))
            if escape not in pattern and "\\" in pattern:
                # Without ESCAPE a backslash escapes; a character the pattern lacks takes its place.
                free = next(char for char in "!/|~" if char not in pattern)
                return exp.paren(exp.Escape(this=like, expression=exp.Literal.string(free)))
            return exp.paren(like)
        case _:
            raise UnsupportedError(
                "LIKE is evaluated with a constant pattern and escape character only",
                hint="ask by other columns, or by rids",
            )


def _element_at(expr: Call, args: Sequence[Sql]) -> Sql:
    return call("try_element_at", *args)


def _field(expr: Call, args: Sequence[Sql]) -> Sql:
    match expr.args:
        case (_, Literal(str(name))):
            return exp.Dot(this=args[0], expression=exp.to_identifier(name, quoted=True))
    raise UnsupportedError("a field of a struct is given by its name")


def _size(_: Call, args: Sequence[Sql]) -> Sql:
    # A session may say that null has -1 elements.
    is_null = exp.Is(this=args[0], expression=exp.null())
    return exp.If(this=is_null, true=exp.null(), false=call("size", args[0].copy()))


def _not_by_zero(expr: Call, args: Sequence[Sql]) -> Sql:
    zero = exp.Nullif(this=args[1], expression=_zero(data_type(expr.args[1])))
    if expr.name == "div":
        return exp.paren(exp.IntDiv(this=args[0], expression=zero))
    return call(expr.name, args[0], zero)


def _bits(operator: type[exp.Binary]) -> Function:
    return lambda _, args: exp.paren(operator(this=args[0], expression=args[1]))


_NAMES: dict[str, str] = {
    "add": "try_add",
    "subtract": "try_subtract",
    "multiply": "try_multiply",
    "divide": "try_divide",
    "remainder": "try_mod",
    "starts_with": "startswith",
    "ends_with": "endswith",
    "date_diff": "datediff",
}

_SAME = [
    "coalesce",
    "greatest",
    "least",
    "contains",
    "substring",
    "length",
    "concat",
    "upper",
    "lower",
    "trim",
    "year",
    "quarter",
    "month",
    "day",
    "date_add",
    "date_sub",
    "floor",
    "ceil",
    "round",
    "sqrt",
    "exp",
    "ln",
    "power",
    "isnan",
    "ltrim",
    "rtrim",
    "lpad",
    "rpad",
    "replace",
    "repeat",
    "instr",
    "translate",
    "initcap",
    "concat_ws",
    "rlike",
    "regexp_extract",
    "regexp_replace",
    "dayofweek",
    "dayofyear",
    "weekofyear",
    "last_day",
    "add_months",
    "array",
    "map",
    "named_struct",
    "get",
]

_BUILT: dict[str, Function] = {
    "cast": _cast,
    "case_when": _case_when,
    "negative": _negative,
    "abs": _abs,
    "like": _like,
    "element_at": _element_at,
    "field": _field,
    "size": _size,
    "div": _not_by_zero,
    "pmod": _not_by_zero,
    "bitwise_and": _bits(exp.BitwiseAnd),
    "bitwise_or": _bits(exp.BitwiseOr),
    "bitwise_xor": _bits(exp.BitwiseXor),
    "bitwise_not": lambda _, args: exp.paren(exp.BitwiseNot(this=args[0])),
}

def _to_unix_timestamp(expr: Call, args: Sequence[Sql]) -> Sql:
    if data_type(expr.args[0]) == "string":
        # Of text that is no time, the function itself may make an error.
        return call("unix_seconds", call("try_to_timestamp", *args))
    return call("to_unix_timestamp", *args)


_ZONED_FUNCTIONS: dict[str, Function] = {
    "to_unix_timestamp": _to_unix_timestamp,
    "zoned_cast": lambda expr, args: exp.TryCast(this=args[0], to=sql_type(expr.type), safe=True),
    "to_timestamp": lambda _, args: call("try_to_timestamp", *args),
    "to_timestamp_ntz": lambda expr, args: exp.Cast(
        this=call("try_to_timestamp", *args), to=sql_type(expr.type)
    ),
}

_ZONED_PARTS = frozenset({"year", "quarter", "month", "day", "date_add", "date_sub", "date_diff"})


def _dated(function: Function) -> Function:
    def build(expr: Call, args: Sequence[Sql]) -> Sql:
        if any(data_type(arg) == "timestamp" for arg in expr.args):
            raise UnsupportedError(
                f"{expr.name} of a timestamp depends on the time zone of a Spark session",
                hint="ask by other columns, or by rids",
            )
        return function(expr, args)

    return build


def _table() -> dict[str, Function]:
    named: dict[str, Function] = {name: _named(name) for name in (*_SAME, *SPARKS)}
    named |= {name: _named(spark) for name, spark in _NAMES.items()}
    zoned = {name: _dated(function) for name, function in named.items() if name in _ZONED_PARTS}
    return named | zoned | _BUILT


def _in_zone(name: str, enter: Callable[[str], None]) -> Function:
    function = _ZONED_FUNCTIONS.get(name, _named(name))

    def build(expr: Call, args: Sequence[Sql]) -> Sql:
        match expr.args[-1]:
            case Literal(str(zone)):
                enter(zone)
                return function(expr, args[:-1])
        raise UnsupportedError(f"{name} is evaluated in a constant time zone only")

    return build


def dialect(enter: Callable[[str], None]) -> Dialect:
    """Return what Spark is told.

    Args:
        enter: makes a time zone that of the session, or raises UnsupportedError.
    """
    return Dialect(
        "spark",
        FUNCTIONS | {name: _in_zone(name, enter) for name in ZONED},
        _text,
        _instant,
        _local,
        AGGREGATE_FUNCTIONS,
        WINDOW_FUNCTIONS,
        distance,
        generate,
        materializes=False,
    )


FUNCTIONS: dict[str, Function] = _table()
"""The functions that are the same in any time zone."""
