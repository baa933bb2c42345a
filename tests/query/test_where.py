"""The `where` text: what it means, what it refuses, and that no input breaks it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_core.errors import PredicateError
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
)
from lineage_core.query.where import parse_where
from lineage_core.snapshot import ColumnType, Snapshot

TYPES = {
    "i": "integer",
    "l": "long",
    "f": "float",
    "d": "double",
    "m": "decimal(10,2)",
    "s": "string",
    "v": "varchar(10)",
    "day": "date",
    "t": "timestamp",
    "n": "timestamp_ntz",
    "b": "binary",
    "flag": "boolean",
    "we ird`": "string",
    "arr": '{"type":"array","elementType":"long","containsNull":true}',
    "Twice": "long",
    "twice": "long",
}
SNAPSHOT = Snapshot(
    "file:///data/t", "parquet", tuple(ColumnType(n, t) for n, t in TYPES.items()), ()
)
EQ, LT, GE, LE, GT, SAME = (Comparison(op) for op in ("=", "<", ">=", "<=", ">", "<=>"))


def column(name: str) -> Column:
    type = TYPES[name]
    return Column(list(TYPES).index(name), "string" if type == "varchar(10)" else type)


def wider(name: str, type: str) -> Call:
    return Call("cast", (column(name),), type)


ACCEPTED: list[tuple[str, Expr]] = [
    ("i = 1", Compare(EQ, column("i"), Literal(1, "integer"))),
    ("1 < I", Compare(GT, column("i"), Literal(1, "integer"))),
    ("i <> 1", Not(Compare(EQ, column("i"), Literal(1, "integer")))),
    ("i != -1", Not(Compare(EQ, column("i"), Literal(-1, "integer")))),
    ("`i` <=> null", Compare(SAME, column("i"), Literal(None, "integer"))),
    ("l == 3L", Compare(EQ, column("l"), Literal(3, "long"))),
    ("i = '7'", Compare(EQ, column("i"), Literal(7, "integer"))),
    ("i < 1.5", Compare(LT, wider("i", "decimal(11,1)"), Literal("1.5", "decimal(11,1)"))),
    ("i < 1.0", Compare(LT, column("i"), Literal(1, "integer"))),
    (
        "i < 3000000000",
        Compare(LT, wider("i", "decimal(10,0)"), Literal("3000000000", "decimal(10,0)")),
    ),
    ("m = 1", Compare(EQ, column("m"), Literal("1.00", "decimal(10,2)"))),
    ("m = -0.5", Compare(EQ, column("m"), Literal("-0.50", "decimal(10,2)"))),
    ("m > 0.125", Compare(GT, wider("m", "decimal(11,3)"), Literal("0.125", "decimal(11,3)"))),
    ("d = 0.1", Compare(EQ, column("d"), Literal(0.1, "double"))),
    ("d = 1e3", Compare(EQ, column("d"), Literal(1000.0, "double"))),
    ("f = 0.5", Compare(EQ, column("f"), Literal(0.5, "float"))),
    ("f = 0.1", Compare(EQ, wider("f", "double"), Literal(0.1, "double"))),
    ("s = 'it''s'", Compare(EQ, column("s"), Literal("it's", "string"))),
    ("s = 'it\\'s'", Compare(EQ, column("s"), Literal("it's", "string"))),
    ('s = "x\\n\\\\"', Compare(EQ, column("s"), Literal("x\n\\", "string"))),
    ("s = 'é🙈\0;--'", Compare(EQ, column("s"), Literal("é🙈\0;--", "string"))),
    ("v = 'x'", Compare(EQ, column("v"), Literal("x", "string"))),
    ("`we ird``` = ''", Compare(EQ, column("we ird`"), Literal("", "string"))),
    ("day >= date '2024-02-29'", Compare(GE, column("day"), Literal("2024-02-29", "date"))),
    ("day = '2024-2-9'", Compare(EQ, column("day"), Literal("2024-02-09", "date"))),
    ("day = cast('2024-02-09' as date)", Compare(EQ, column("day"), Literal("2024-02-09", "date"))),
    (
        "t = timestamp '1970-01-01 00:00:01.5'",
        Compare(EQ, column("t"), Literal(1_500_000, "timestamp")),
    ),
    ("t = '1970-01-01T02:00:00+02:00'", Compare(EQ, column("t"), Literal(0, "timestamp"))),
    ("t = '1969-12-31'", Compare(EQ, column("t"), Literal(-86_400_000_000, "timestamp"))),
    ("n = timestamp_ntz '1970-01-01 00:00'", Compare(EQ, column("n"), Literal(0, "timestamp_ntz"))),
    ("b = X'00ff'", Compare(EQ, column("b"), Literal("00ff", "binary"))),
    ("flag", column("flag")),
    ("not flag", Not(column("flag"))),
    ("flag = true", Compare(EQ, column("flag"), Literal(True, "boolean"))),
    ("arr is null", IsNull(column("arr"))),
    ("s IS NOT NULL", Not(IsNull(column("s")))),
    ("i in (1, 2, null)", IsIn(column("i"), tuple(Literal(v, "integer") for v in (1, 2, None)))),
    ("i not in (1)", Not(Compare(EQ, column("i"), Literal(1, "integer")))),
    (
        "i in (1, 2.5)",
        Or(
            (
                Compare(EQ, column("i"), Literal(1, "integer")),
                Compare(EQ, wider("i", "decimal(11,1)"), Literal("2.5", "decimal(11,1)")),
            )
        ),
    ),
    (
        "i between 1 and 2 and flag",
        And(
            (
                Compare(GE, column("i"), Literal(1, "integer")),
                Compare(LE, column("i"), Literal(2, "integer")),
                column("flag"),
            )
        ),
    ),
    (
        "s not like 'a\\_%'",
        Not(
            Call(
                "like",
                (column("s"), Literal("a\\_%", "string"), Literal("\\", "string")),
                "boolean",
            )
        ),
    ),
    (
        "s like 'a!%' escape '!'",
        Call("like", (column("s"), Literal("a!%", "string"), Literal("!", "string")), "boolean"),
    ),
    ("i = l", Compare(EQ, wider("i", "decimal(19,0)"), wider("l", "decimal(19,0)"))),
    ("i < d", Compare(LT, wider("i", "double"), column("d"))),
    ("Twice = 1", Compare(EQ, column("Twice"), Literal(1, "long"))),
    ("((i = 1))", Compare(EQ, column("i"), Literal(1, "integer"))),
]


@pytest.mark.parametrize(("text", "expected"), ACCEPTED, ids=[text for text, _ in ACCEPTED])
def test_accepted(text: str, expected: Expr) -> None:
    assert parse_where(text, SNAPSHOT) == expected


def test_nan_is_a_constant() -> None:
    found = parse_where("d = 'NaN'", SNAPSHOT)
    assert isinstance(found, Compare) and isinstance(found.right, Literal)
    assert isinstance(found.right.value, float) and math.isnan(found.right.value)


REFUSED = [
    ("i = (select 1)", "subquery", 12),
    ("i in (select i from t)", "subquery", 0),
    ("exists (select 1)", "subquery", 15),
    ("i = 1 or f(i) = 1", "function call", 9),
    ("i = current_date", "function call", 0),
    ("i + 1 = 2", "operator", 0),
    ("i = 1 -- comment", "comment", 4),
    ("i = 1 /* comment */", "comment", 4),
    ("i = 1; drop table t", "more than one statement", 5),
    ("*", "*", 0),
    ("t.i = 1", "without its table", 0),
    ("arr[0] = 1", "part of a column", 0),
    ("arr = 1", "cannot be compared", 0),
    ("i = :p", "a parameter", None),
    ("case when flag then flag end", "CASE", None),
    ("i = 'seven'", "column i is integer: 'seven' is no number", None),
    ("i = date '2024-01-01'", "column i is integer", None),
    ("i = true", "no number", None),
    ("s = 1", "column s is string", None),
    ("day = 5", "column day is date", None),
    ("day = '2024-02-30'", "is no date", None),
    ("t = '2024-01-01 25:00:00'", "is no timestamp", None),
    ("n = '2024-01-01 00:00:00Z'", "is no timestamp_ntz", None),
    ("b = 'x'", "is no binary", None),
    ("b = x'0'", "", None),
    ("flag = 'maybe'", "is no boolean", None),
    ("i", "not boolean", 0),
    ("1 = 1", "two constants", 0),
    ("i is true", "IS is allowed", 0),
    ("i like 'x'", "LIKE is for strings", 0),
    ("s like 'x\\\\'", "must stand before", None),
    ("s ilike 'x'", "not allowed", None),
    ("s rlike 'x'", "not allowed", None),
    ("s = 'a' 'b'", "side by side", None),
    ("s = '\\x41'", "escape", None),
    ("s = day", "cannot be compared with a date", None),
    ("m = 1e999", "", None),
    ("m = 123456789012345678901234567890123456789", "too many digits", None),
    ("cast(i as long) = 1", "", None),
    ("i = cast('x' as int)", "", None),
    ("TWICE = 1", "several columns", 0),
    ("itn = 1", "has no column 'itn'", 0),
    ("i = 1 and", "does not parse", None),
    ("i = 1)", "does not parse", None),
    ("i = 'open", "a quote is not closed", None),
    ("", "empty", None),
    ("  \n", "empty", None),
    ("i = 1 and s = '\ud800'", "not valid Unicode", None),
    ("(i, l) = (1, 2)", "tuple", None),
    ("select * from t", "", None),
    ("drop table t", "", None),
]


@pytest.mark.parametrize(("text", "message", "place"), REFUSED, ids=[ascii(r[0]) for r in REFUSED])
def test_refused(text: str, message: str, place: int | None) -> None:
    with pytest.raises(PredicateError) as caught:
        parse_where(text, SNAPSHOT)
    assert message in caught.value.what
    if place is not None:
        line, caret = caught.value.what.split("\n")[-2:]
        assert line == f"  {text}"
        assert caret == f"  {' ' * place}^"


def test_an_unknown_column_lists_close_ones() -> None:
    with pytest.raises(PredicateError) as caught:
        parse_where("flagg = 1", SNAPSHOT)
    assert "flag" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000 + "i = 1" + ")" * 5_000,
        "not " * 5_000 + "flag",
        "i = " + "-" * 5_001 + "1",
        "i = " + "- " * 5_000 + "1",
        "i = cast(" * 3_000 + "1" + " as int)" * 3_000,
        "s = '" + "a" * 5_000_000,
        "(" * 5_000,
    ],
    ids=lambda text: text[:12],
)
def test_what_is_too_deep_or_long_is_refused(text: str) -> None:
    with pytest.raises(PredicateError):
        parse_where(text, SNAPSHOT)


def test_what_is_only_wide_works() -> None:
    many = ", ".join(map(str, range(10_000)))
    found = parse_where(f"i in ({many})", SNAPSHOT)
    assert isinstance(found, IsIn) and len(found.values) == 10_000
    found = parse_where(" or ".join(f"i = {n}" for n in range(5_000)), SNAPSHOT)
    assert isinstance(found, Or) and len(found.args) == 5_000


@given(st.text(alphabet=st.sampled_from("is()'\"`=<>!-;*/., \\ntandor0123456789x"), max_size=40))
def test_any_text_is_a_predicate_or_a_predicate_error(text: str) -> None:
    try:
        parse_where(text, SNAPSHOT)
    except PredicateError as error:
        assert error.what
