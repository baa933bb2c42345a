"""Spark's types as the query stage sees them: what can be compared, and their names elsewhere.

A Spark type is its JSON name (`plan.expr.DataType`). Types without an entry here (arrays,
structs, maps, intervals, collated strings, variants) are read and handed on, but not compared.
"""

from __future__ import annotations

import re

import pyarrow as pa
from sqlglot import exp

from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import DataType, Expr, Literal

_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")

INTEGERS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
"""Bits of each integer type."""

FLOATS = frozenset({"float", "double"})

TIMESTAMPS = frozenset({"timestamp", "timestamp_ntz"})

_ARROW = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}

_SQL = {
    "boolean": exp.DataType.Type.BOOLEAN,
    "byte": exp.DataType.Type.TINYINT,
    "short": exp.DataType.Type.SMALLINT,
    "integer": exp.DataType.Type.INT,
    "long": exp.DataType.Type.BIGINT,
    "float": exp.DataType.Type.FLOAT,
    "double": exp.DataType.Type.DOUBLE,
    "string": exp.DataType.Type.TEXT,
    "binary": exp.DataType.Type.BINARY,
    "date": exp.DataType.Type.DATE,
    "timestamp": exp.DataType.Type.TIMESTAMPTZ,
    "timestamp_ntz": exp.DataType.Type.TIMESTAMPNTZ,
}


def decimal_of(type: DataType) -> tuple[int, int] | None:
    """Return precision and scale of a decimal type, None for any other."""
    match = _DECIMAL.fullmatch(type)
    return (int(match[1]), int(match[2])) if match else None


def canonical(type: DataType) -> DataType:
    """Return `type` with `char(n)` and `varchar(n)` as the strings they are read as."""
    return "string" if type.startswith(("char(", "varchar(")) else type


def is_numeric(type: DataType) -> bool:
    """Whether `type` is an integer, floating point or decimal type."""
    return type in INTEGERS or type in FLOATS or decimal_of(type) is not None


def arrow_type(type: DataType) -> pa.DataType:
    """Return the Arrow type of a comparable type."""
    if (decimal := decimal_of(type)) is not None:
        return pa.decimal128(*decimal)
    try:
        return _ARROW[canonical(type)]
    except KeyError:
        raise _refusal(type) from None


def sql_type(type: DataType) -> exp.DataType:
    """Return the SQL type of a comparable type, to be spelled by an engine's dialect."""
    if (decimal := decimal_of(type)) is not None:
        params = [exp.DataTypeParam(this=exp.Literal.number(number)) for number in decimal]
        return exp.DataType(this=exp.DataType.Type.DECIMAL, expressions=params)
    try:
        return exp.DataType(this=_SQL[canonical(type)])
    except KeyError:
        raise _refusal(type) from None


def is_literal(expr: Expr) -> bool:
    """Whether `expr` is a constant that is not null."""
    return isinstance(expr, Literal) and expr.value is not None


def _refusal(type: DataType) -> UnsupportedError:
    return UnsupportedError(
        f"values of type {type} cannot be compared in a lineage query",
        hint="ask by columns of other types, or by rids",
    )
