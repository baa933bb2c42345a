"""Spark types and constants as the IR writes them, from the JSON form of Catalyst nodes."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from lineage_core.plan.expr import DataType, Literal

INTEGRAL = frozenset({"byte", "short", "integer", "long"})

_READ_AS_INT = INTEGRAL | {"timestamp_ntz"}
_READ_AS_TEXT = ("date", "string", "time(")


def read_type(tree: Any) -> DataType:
    """Return the IR's name of the type whose Catalyst JSON is `tree`."""
    return tree if isinstance(tree, str) else json.dumps(tree, separators=(",", ":"))


def is_numeric(type: DataType) -> bool:
    """Whether values of `type` are numbers."""
    return type in INTEGRAL or type in ("float", "double") or type.startswith("decimal")


def is_nested(type: DataType) -> bool:
    """Whether `type` has parts (array, map, struct, user defined)."""
    return type.startswith("{")


def has_collation(type: DataType) -> bool:
    """Whether values of `type` are equal by another rule than byte for byte."""
    return "collat" in type.lower()


def read_literal(text: str | None, type: DataType, value: Callable[[], Any]) -> Literal | None:
    """Return the constant of `type` that Catalyst prints as `text`, or None if it has no IR form.

    Args:
        text: the printed value; a timestamp's depends on the session's time zone, a binary's says
            nothing.
        type: the constant's type.
        value: gives Catalyst's internal value, asked for only where the text does not tell it.
    """
    if text is None:
        return None if is_nested(type) else Literal(None, type)
    if type in _READ_AS_INT or type.startswith("interval "):
        return Literal(int(text), type)
    if type.startswith(_READ_AS_TEXT):
        return Literal(text, type)
    if type.startswith("decimal"):
        return Literal(format(Decimal(text), "f"), type)
    match type:
        case "boolean":
            return Literal(text == "true", type)
        case "double":
            return Literal(float(text), type)
        case "float":
            return Literal(_as_float32(float(text)), type)
        case "timestamp":
            return Literal(int(value()), type)
        case "binary":
            return Literal(bytes(value()).hex(), type)
        case _:
            return None


def _as_float32(value: float) -> float:
    """Return the exact value of the single precision number that prints as `value`."""
    single: float = struct.unpack("f", struct.pack("f", value))[0]
    return single
