"""Shades: which types have values that compare equal without being identical (see `symbols`)."""

from __future__ import annotations

from lineage_core.plan.expr import DataType

_EXACT = ("boolean", "byte", "short", "integer", "long", "string", "binary", "date", "void")
_PLAIN = frozenset((*_EXACT, "timestamp", "timestamp_ntz"))


def is_shaded(kind: DataType) -> bool:
    """Whether values of this type can compare equal without being identical."""
    scalar = kind in _PLAIN or kind.startswith(("decimal", "char(", "varchar(", "interval"))
    return not scalar
