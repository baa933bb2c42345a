"""Compare columns with constants and with each other, in a type that loses nothing.

A constant takes the column's type where that can hold it. A number that it cannot hold is
compared in a wider type, with the column converted, as Spark does: `int_column < 1.5` is not
`int_column < 1`.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

from lineage_core.plan.expr import (
    Call,
    Column,
    Compare,
    Comparison,
    DataType,
    Expr,
    Literal,
    Scalar,
)
from lineage_core.plan.types import is_comparable
from lineage_core.query.types import FLOATS, INTEGERS, decimal_of, is_numeric

_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TIMESTAMP = re.compile(
    r"(?P<date>\d{4}-\d{1,2}-\d{1,2})"
    r"(?:[ T](?P<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 19}
_MAX_PRECISION = 38
_INEXACT = 1 << 53
"""From here on a double equals several integers, as Spark compares them."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of a `where` text: its value, and the type that its spelling gives it.

    Timestamps are UTC microseconds. `decimal` without size is the type of a number with a point.
    """

    value: bool | int | float | Decimal | str | bytes | date | None
    type: DataType


class Mismatch(Exception):
    """A constant or column cannot be compared with a column; `{column}` stands for its name."""

    def __init__(self, what: str, column: Column | None = None) -> None:
        super().__init__(what)
        self._what = what
        self._column = column

    def about(self, names: Mapping[int, str]) -> str:
        """Return what is wrong, given the names of the columns."""
        if self._column is None:
            return self._what
        return f"column {names[self._column.id]} is {self._column.type}: {self._what}"


def coerced(op: Comparison, column: Column, constant: Constant) -> Expr:
    """Return the comparison of `column` with `constant`.

    Raises:
        Mismatch: the constant is of another kind than the column.
    """
    _check_comparable(column)
    if constant.value is None:
        return Compare(op, column, Literal(None, column.type))
    try:
        if is_numeric(column.type):
            return _with_number(op, column, _number(constant))
        value = converted(constant, column.type).value
    except Mismatch as mismatch:
        raise Mismatch(str(mismatch), column) from None
    return Compare(op, column, Literal(_scalar(value), column.type))


def aligned(op: Comparison, left: Column, right: Column) -> Expr:
    """Return the comparison of two columns, converted to a type that holds the values of both.

    Raises:
        Mismatch: they are of different kinds.
    """
    _check_comparable(left)
    _check_comparable(right)
    if left.type == right.type:
        return Compare(op, left, right)
    if not (is_numeric(left.type) and is_numeric(right.type)):
        raise Mismatch(f"it cannot be compared with a {right.type}", left)
    if left.type in FLOATS or right.type in FLOATS:
        type = "double"
    else:
        sizes = [_size(column.type) for column in (left, right)]
        type = _decimal(max(whole for whole, _ in sizes), max(scale for _, scale in sizes))
    return Compare(op, _cast(left, type), _cast(right, type))


def converted(constant: Constant, target: DataType) -> Constant:
    """Return a constant as one of type `target`.

    Raises:
        Mismatch: it is no value of that type.
    """
    if constant.value is None or constant.type == target:
        return Constant(constant.value, target)
    if is_numeric(target):
        return Constant(_fitted(_number(constant), target), target)
    if target not in _CONVERSIONS:
        raise Mismatch(f"it cannot be compared with {_shown(constant)}")
    value = _CONVERSIONS[target](constant)
    if value is None:
        raise Mismatch(f"{_shown(constant)} is no {target}" + _EXAMPLES.get(target, ""))
    return Constant(value, target)


_EXAMPLES = {
    "string": "; put it in quotes",
    "date": "; write it as '2024-01-31'",
    "timestamp": "; write it as '2024-01-31 13:45:00' (UTC unless it has an offset)",
    "timestamp_ntz": "; write it as '2024-01-31 13:45:00'",
    "binary": "; write it as X'00FF'",
}


def _to_boolean(constant: Constant) -> bool | None:
    return {"true": True, "false": False}.get(str(constant.value).lower())


def _to_date(constant: Constant) -> date | None:
    match = _DATE.fullmatch(constant.value.strip()) if isinstance(constant.value, str) else None
    return _valid(lambda: date(*map(int, match.groups()))) if match else None


def _to_instant(constant: Constant) -> int | None:
    if constant.type == "date" and isinstance(constant.value, date):
        return _micros(datetime(*constant.value.timetuple()[:3], tzinfo=UTC))
    return _parsed(constant, with_zone=True)


def _to_local(constant: Constant) -> int | None:
    if constant.type == "date":
        return _to_instant(constant)
    return _parsed(constant, with_zone=False)


def _parsed(constant: Constant, *, with_zone: bool) -> int | None:
    match = (
        _TIMESTAMP.fullmatch(constant.value.strip()) if isinstance(constant.value, str) else None
    )
    if match is None or (match["zone"] and not with_zone):
        return None
    day = _to_date(Constant(match["date"], "string"))
    if day is None:
        return None
    parts = (match["time"] or "0:00").split(":")
    hour, minute, second = int(parts[0]), int(parts[1]), Decimal(parts[2] if len(parts) > 2 else 0)
    if hour > 23 or minute > 59 or second >= 60:
        return None
    micros = ((hour * 60 + minute) * 60) * 1_000_000 + int(second * 1_000_000)
    midnight = _micros(datetime(day.year, day.month, day.day, tzinfo=UTC))
    return midnight + micros - _offset(match["zone"])


def _offset(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    micros = (int(digits[:2]) * 60 + int(digits[2:])) * 60 * 1_000_000
    return -micros if zone[0] == "-" else micros


def _micros(moment: datetime) -> int:
    passed = moment - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def _valid(build: Callable[[], date]) -> date | None:
    try:
        return build()
    except ValueError:
        return None


_CONVERSIONS: dict[DataType, Callable[[Constant], bool | date | int | str | bytes | None]] = {
    "string": lambda constant: None,
    "boolean": _to_boolean,
    "date": _to_date,
    "timestamp": _to_instant,
    "timestamp_ntz": _to_local,
    "binary": lambda constant: None,
}


def _scalar(value: object) -> Scalar:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, date):
        return value.isoformat()
    assert value is None or isinstance(value, bool | int | float | str)
    return value


def _number(constant: Constant) -> int | float | Decimal:
    match constant.value:
        case bool():
            raise Mismatch(f"{_shown(constant)} is no number")
        case int() | float() | Decimal() if is_numeric(constant.type) or constant.type == "decimal":
            return constant.value
        case str(text) if text.strip().lower() in ("nan", "infinity", "-infinity"):
            return float(text)
        case str(text):
            try:
                return Decimal(text.strip())
            except InvalidOperation:
                raise Mismatch(f"{_shown(constant)} is no number") from None
        case _:
            raise Mismatch(f"{_shown(constant)} is no number")


def _fitted(number: int | float | Decimal, type: DataType) -> int | float | Decimal:
    """Return a number as a value of a numeric type, if that can hold it."""
    try:
        if type in FLOATS:
            return float(number) if type == "double" else _single(float(number))
        exact = Decimal(number)
        if (
            type in INTEGERS
            and exact == int(exact)
            and -(1 << INTEGERS[type] - 1) <= exact < 1 << INTEGERS[type] - 1
        ):
            return int(exact)
        decimal = decimal_of(type)
        if decimal is not None:
            whole, scale = _digits(exact)
            if whole <= decimal[0] - decimal[1] and scale <= decimal[1]:
                return exact
    except (OverflowError, ValueError):
        pass
    raise Mismatch(f"{number} is no {type}")


def _with_number(op: Comparison, column: Column, number: int | float | Decimal) -> Expr:
    if column.type == "double":
        return Compare(op, column, Literal(float(_fitted(number, "double")), "double"))
    if column.type == "float":
        value = float(_fitted(number, "double"))
        if value != value or _single(value) == value:
            return Compare(op, column, Literal(value, "float"))
        return Compare(op, _cast(column, "double"), Literal(value, "double"))
    if isinstance(number, float):
        return _with_double(op, column, number)
    try:
        return Compare(op, column, _literal(Decimal(_fitted(number, column.type)), column.type))
    except Mismatch:
        whole, scale = (
            max(pair) for pair in zip(_size(column.type), _digits(Decimal(number)), strict=True)
        )
        type = _decimal(whole, scale)
        return Compare(op, _cast(column, type), _literal(Decimal(number), type))


def _with_double(op: Comparison, column: Column, number: float) -> Expr:
    if (
        column.type in INTEGERS
        and number.is_integer()
        and abs(number) < min(_INEXACT, 1 << INTEGERS[column.type] - 1)
    ):
        return Compare(op, column, Literal(int(number), column.type))
    return Compare(op, _cast(column, "double"), Literal(number, "double"))


def _literal(number: Decimal, type: DataType) -> Literal:
    if type in INTEGERS:
        return Literal(int(number), type)
    decimal = decimal_of(type)
    assert decimal is not None
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    # Not quantize: its precision is the context's, which may be less than 38 digits.
    unscaled = int("".join(map(str, digits)) or "0") * 10 ** max(exponent + decimal[1], 0)
    unscaled //= 10 ** max(-(exponent + decimal[1]), 0)
    text = str(unscaled).rjust(decimal[1] + 1, "0")
    whole, fraction = (text[: -decimal[1]], text[-decimal[1] :]) if decimal[1] else (text, "")
    return Literal(("-" if sign else "") + whole + ("." + fraction if fraction else ""), type)


def _digits(number: Decimal) -> tuple[int, int]:
    """Return how many digits `number` has before and after the point, without zeros at the end."""
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise Mismatch(f"{number} is no exact number")
    if abs(exponent) > 10 * _MAX_PRECISION:
        raise Mismatch("the number has too many digits")
    while len(digits) > 1 and digits[-1] == 0 and exponent < 0:
        digits, exponent = digits[:-1], exponent + 1
    return max(len(digits) + exponent, 0), max(-exponent, 0)


def _size(type: DataType) -> tuple[int, int]:
    decimal = decimal_of(type)
    return (decimal[0] - decimal[1], decimal[1]) if decimal else (_DIGITS[type], 0)


def _decimal(whole: int, scale: int) -> DataType:
    if whole + scale > _MAX_PRECISION:
        raise Mismatch("the number has too many digits")
    return f"decimal({max(whole + scale, 1)},{scale})"


def _cast(column: Column, type: DataType) -> Expr:
    return column if column.type == type else Call("cast", (column,), type)


def _single(value: float) -> float:
    """Return the single precision number closest to `value`, infinite beyond the largest."""
    try:
        single: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return single


def _check_comparable(column: Column) -> None:
    if not is_comparable(column.type):
        raise Mismatch("such values cannot be compared; only IS NULL is possible", column)


def _shown(constant: Constant) -> str:
    if isinstance(constant.value, str):
        return repr(constant.value if len(constant.value) <= 40 else constant.value[:40] + "...")
    return f"a {constant.type}" if isinstance(constant.value, bytes) else str(constant.value)
