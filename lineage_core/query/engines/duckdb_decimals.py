"""Exact division of decimals in DuckDB, which itself divides them as floats.

A decimal is taken as a whole number of units of its last place, in 128 bits. What does not fit is
an error of the query, never another value.
"""

from __future__ import annotations

from sqlglot import exp

from lineage_core.query.compile import Sql, call
from lineage_core.query.types import sql_type

HUGE = exp.DataType(this=exp.DataType.Type.INT128)

MAX_PRECISION = 38


def units(decimal: Sql) -> Sql:
    """Return a decimal as the number of units of its last place."""
    text = exp.Cast(this=decimal, to=sql_type("string"))
    return huge(call("replace", text, exp.Literal.string("."), exp.Literal.string("")))


def huge(sql: Sql) -> Sql:
    """Return a whole number, or the text of one, in 128 bits."""
    return exp.Cast(this=sql, to=HUGE.copy())


def power(exponent: int) -> Sql:
    """Return a power of ten."""
    return huge(exp.Literal.string(str(10**exponent)))


def decimal(units: Sql, scale: int) -> Sql:
    """Return `units` of the last of `scale` places as a decimal of 38 digits."""
    whole = exp.Cast(this=exp.paren(units), to=sql_type(f"decimal({MAX_PRECISION},0)"))
    if not scale:
        return whole
    unit = exp.Cast(
        this=exp.Literal.string(f"0.{'1':0>{scale}}"), to=sql_type(f"decimal({scale},{scale})")
    )
    return exp.Mul(this=whole, expression=unit)


def quotient(dividend: Sql, divisor: Sql, shift: int) -> Sql:
    """Return `dividend * 10^shift / divisor` of whole numbers, rounded half away from zero; null
    for a divisor of 0."""
    by = call("nullif", divisor, exp.Literal.number(0))
    whole = exp.paren(exp.IntDiv(this=dividend.copy(), expression=by.copy()))
    rest = exp.paren(exp.Mod(this=dividend.copy(), expression=by.copy()))
    size = call("abs", by.copy())
    twice = exp.Mul(this=exp.Literal.number(2), expression=size)
    doubled = _times(call("abs", rest), exp.Literal.number(2), power(shift))
    nearest = exp.IntDiv(
        this=exp.paren(exp.Add(this=doubled, expression=size.copy())), expression=exp.paren(twice)
    )
    signed = _times(call("sign", dividend.copy()), call("sign", by.copy()), exp.paren(nearest))
    return exp.paren(exp.Add(this=_times(whole, power(shift)), expression=signed))


def _times(*factors: Sql) -> Sql:
    product = factors[0]
    for factor in factors[1:]:
        product = exp.Mul(this=product, expression=factor)
    return product
