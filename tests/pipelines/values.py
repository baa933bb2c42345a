"""Values as Spark has them: their order, their equality, and what expressions make of them.

NaN equals itself and is greatest, 0.0 equals -0.0, strings are compared by their bytes, and truth
has three values. Written for reading, not for speed; shares nothing with what it is an oracle for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from lineage_core.plan.expr import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    IsIn,
    IsNull,
    Literal,
    Not,
    Or,
    Unknown,
)
from lineage_core.plan.relation import SortKey

Value: TypeAlias = Any
"""A Spark value: bool, int, float, str, None, or a tuple of these for an array."""

Values: TypeAlias = Mapping[int, Value]
"""The values of a row, by column id."""


def canonical(value: Value) -> Any:
    """Return something hashable that two values share exactly if they are the same in Spark."""
    if value is None:
        return ()
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    if isinstance(value, tuple):
        return ("array", *map(canonical, value))
    return (value.encode(),) if isinstance(value, str) else (value,)


def same(left: Value, right: Value) -> bool:
    """Return whether two values are null-safely equal."""
    return bool(canonical(left) == canonical(right))


def sign(left: Value, right: Value) -> int:
    """Return how two values that are not null are ordered: -1, 0 or 1."""
    a, b = canonical(left), canonical(right)
    return int(a > b) - int(a < b)


def ordered(keys: Sequence[SortKey], left: Sequence[Value], right: Sequence[Value]) -> int:
    """Return how two rows are ordered, by the values of their sort keys."""
    for key, a, b in zip(keys, left, right, strict=True):
        if a is None or b is None:
            found = (a is not None) - (b is not None)
            found = found if key.nulls_first else -found
        else:
            found = sign(a, b) if key.ascending else sign(b, a)
        if found:
            return found
    return 0


def evaluate(expr: Expr, row: Values) -> Value:
    """Return the value of an expression without aggregate and window calls over a row."""
    match expr:
        case Column():
            return row[expr.id]
        case Literal():
            return expr.value
        case Compare():
            return _compare(expr.op, evaluate(expr.left, row), evaluate(expr.right, row))
        case Call(name="case_when"):
            return _case_when(expr.args, row)
        case Call():
            return _FUNCTIONS[expr.name](*(evaluate(arg, row) for arg in expr.args))
        case Unknown(deterministic=True):
            return _udf(evaluate(expr.args[0], row))
        case _:
            return _truth(expr, row)


def holds(condition: Expr, row: Values) -> bool:
    """Return whether a condition is true, neither false nor unknown."""
    return evaluate(condition, row) is True


def _truth(expr: Expr, row: Values) -> bool | None:
    match expr:
        case IsNull(arg):
            return evaluate(arg, row) is None
        case IsIn(arg, values):
            value = evaluate(arg, row)
            return _any(_compare(Comparison.EQ, value, other.value) for other in values)
        case Not(arg):
            return _not(evaluate(arg, row))
        case And(args):
            return _not(_any(_not(evaluate(arg, row)) for arg in args))
        case Or(args):
            return _any(evaluate(arg, row) for arg in args)
        case _:
            raise NotImplementedError(expr)


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _any(values: Iterable[bool | None]) -> bool | None:
    found = list(values)
    return True if True in found else None if None in found else False


def _compare(op: Comparison, left: Value, right: Value) -> bool | None:
    if op is Comparison.SAME:
        return same(left, right)
    if left is None or right is None:
        return None
    found = sign(left, right)
    return {
        Comparison.EQ: found == 0,
        Comparison.LT: found < 0,
        Comparison.LE: found <= 0,
        Comparison.GT: found > 0,
        Comparison.GE: found >= 0,
    }[op]


def _case_when(args: Sequence[Expr], row: Values) -> Value:
    for condition, value in zip(args[:-1:2], args[1::2], strict=True):
        if holds(condition, row):
            return evaluate(value, row)
    return evaluate(args[-1], row)


def _strict(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function that is null when an argument is."""
    return lambda *args: None if None in args else function(*args)


def _extreme(wanted: int) -> Callable[..., Value]:
    """Return the function that gives the greatest (least) of its arguments, ignoring nulls."""

    def extreme(*args: Value) -> Value:
        best = None
        for arg in args:
            if arg is not None and (best is None or sign(arg, best) == wanted):
                best = arg
        return best

    return extreme


def _remainder(left: Value, right: Value) -> Value:
    rest = math.fmod(left, right)  # the sign is the dividend's, as in Java
    return int(rest) if isinstance(left, int) else rest


greatest, least = _extreme(1), _extreme(-1)

_udf = _strict(lambda value: (31 * value + 7) % 5)
"""What every user-defined function of the pipelines does to an integer."""

_FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "add": _strict(lambda a, b: a + b),
    "subtract": _strict(lambda a, b: a - b),
    "multiply": _strict(lambda a, b: a * b),
    "remainder": _strict(_remainder),
    "negative": _strict(lambda a: -a),
    "abs": _strict(abs),
    "cast": _strict(float),  # of an integer to a double
    "coalesce": lambda *args: next((arg for arg in args if arg is not None), None),
    "greatest": greatest,
    "least": least,
    "concat": _strict(lambda *args: "".join(args)),
    "upper": _strict(str.upper),
    "length": _strict(len),
}
