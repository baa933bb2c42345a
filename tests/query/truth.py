"""What expressions of the IR are worth, over plain Python values: the oracle of the query tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from lineage_core.plan.expr import (
    Anchor,
    And,
    Column,
    Compare,
    Comparison,
    Expr,
    IsIn,
    IsNull,
    Literal,
    Not,
    Or,
)


def row_value(value: object, type: str) -> Any:
    """Return the Python value of a literal of the IR."""
    match type, value:
        case _, None:
            return None
        case "date", str(text):
            return date.fromisoformat(text)
        case "timestamp", int(micros):
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
        case "timestamp_ntz", int(micros):
            return datetime(1970, 1, 1) + timedelta(microseconds=micros)
        case "binary", str(digits):
            return bytes.fromhex(digits)
        case _, str(text) if type.startswith("decimal"):
            return Decimal(text)
        case _:
            return value


def order(value: Any) -> Any:
    """Return a key by which Spark's order is Python's: NaN is equal to itself and greatest."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, str):
        return value.encode()
    return value


def compare(op: Comparison, left: Any, right: Any) -> bool | None:
    if op is Comparison.SAME:
        if left is None or right is None:
            return left is None and right is None
        return bool(order(left) == order(right))
    if left is None or right is None:
        return None
    a, b = order(left), order(right)
    return bool(
        {
            Comparison.EQ: lambda: a == b,
            Comparison.LT: lambda: a < b,
            Comparison.LE: lambda: a <= b,
            Comparison.GT: lambda: a > b,
            Comparison.GE: lambda: a >= b,
        }[op]()
    )


def truth(expr: Expr, row: Mapping[int, Any], anchor: Mapping[int, Any]) -> Any:
    """Return the value of `expr` in three-valued logic, None for unknown."""
    match expr:
        case Column(id, _):
            return row[id]
        case Anchor(id, _):
            return anchor[id]
        case Literal(value, type):
            return row_value(value, type)
        case Compare(op, left, right):
            return compare(op, truth(left, row, anchor), truth(right, row, anchor))
        case IsNull(arg):
            return truth(arg, row, anchor) is None
        case IsIn(arg, values):
            value = truth(arg, row, anchor)
            found = [compare(Comparison.EQ, value, row_value(v.value, v.type)) for v in values]
            return True if True in found else None if None in found else False
        case Not(arg):
            value = truth(arg, row, anchor)
            return None if value is None else not value
        case And(args):
            parts = [truth(arg, row, anchor) for arg in args]
            return False if False in parts else None if None in parts else True
        case Or(args):
            parts = [truth(arg, row, anchor) for arg in args]
            return True if True in parts else None if None in parts else False
        case _:
            raise AssertionError(expr)
