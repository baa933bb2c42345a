"""Numbers in a `where` text: suffixes, single precision, and integers that a double cannot hold."""

from __future__ import annotations

import struct

import pytest

from lineage_core.errors import PredicateError
from lineage_core.plan.expr import Call, Column, Compare, Comparison, Expr, IsIn, Literal
from lineage_core.query.where import parse_where
from lineage_core.snapshot import ColumnType, Snapshot

_TYPES = {"l": "long", "f": "float", "d": "double", "m": "decimal(10,2)"}
_SNAPSHOT = Snapshot(
    "file:///data/t", "parquet", tuple(ColumnType(name, type) for name, type in _TYPES.items()), ()
)
_SINGLE: float = struct.unpack("f", struct.pack("f", 1.1))[0]


def _column(name: str) -> Column:
    return Column(list(_TYPES).index(name), _TYPES[name])


def _equal(left: Expr, value: object, type: str) -> Compare:
    assert isinstance(value, int | float | str)
    return Compare(Comparison.EQ, left, Literal(value, type))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m = 1.5BD", _equal(_column("m"), "1.50", "decimal(10,2)")),
        ("m = -1.5bd", _equal(_column("m"), "-1.50", "decimal(10,2)")),
        ("m = 1.5e1BD", _equal(_column("m"), "15.00", "decimal(10,2)")),
        ("l = 7BD", _equal(_column("l"), 7, "long")),
        # Spark's constant of type float is the nearest one, not the number as it is spelled.
        ("f = 1.1F", _equal(_column("f"), _SINGLE, "float")),
        ("f = CAST(1.1 AS FLOAT)", _equal(_column("f"), _SINGLE, "float")),
        ("d = 1.1F", _equal(_column("d"), _SINGLE, "double")),
        ("f > FLOAT('1e39')", Compare(Comparison.GT, _column("f"), Literal(float("inf"), "float"))),
    ],
)
def test_constants_with_a_type(text: str, expected: Expr) -> None:
    assert parse_where(text, _SNAPSHOT) == expected


def test_integers_are_compared_with_doubles_as_doubles_where_those_are_coarser() -> None:
    as_double = Call("cast", (_column("l"),), "double")
    huge = float(1 << 53)
    assert parse_where("l = 9007199254740992e0", _SNAPSHOT) == _equal(as_double, huge, "double")
    assert parse_where("l = 9007199254740991e0", _SNAPSHOT) == _equal(
        _column("l"), (1 << 53) - 1, "long"
    )
    assert parse_where("l IN (9007199254740992)", _SNAPSHOT) in (
        _equal(_column("l"), 1 << 53, "long"),
        IsIn(_column("l"), (Literal(1 << 53, "long"),)),
    )


def test_a_text_that_ends_in_a_suffix_is_no_number() -> None:
    with pytest.raises(PredicateError, match="no number"):
        parse_where("l = '7BD'", _SNAPSHOT)
