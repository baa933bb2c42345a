"""Which of Spark's types can be compared in a predicate that is evaluated again."""

from __future__ import annotations

import re

from lineage_core.plan.expr import DataType

_SCALARS = frozenset(
    {
        "boolean",
        "byte",
        "short",
        "integer",
        "long",
        "float",
        "double",
        "string",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
    }
)
_SIZED = re.compile(r"decimal\(\d+,-?\d+\)|(var)?char\(\d+\)")


def holds_map(type: DataType) -> bool:
    """Whether `type` is a map, or has one in it."""
    return '"type":"map"' in type


def is_comparable(type: DataType) -> bool:
    """Whether every engine can compare values of `type` in Spark's meaning.

    Arrays, structs, maps, intervals, collated strings and variants are handed on, but not compared.
    """
    return type in _SCALARS or _SIZED.fullmatch(type) is not None
