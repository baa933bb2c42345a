"""Catalyst expressions as IR: the same meaning, or `Unknown`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from lineage_core.capture import read_dataframe
from lineage_core.capture.expressions import Scope, read
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
    Scalar,
    Unknown,
)
from lineage_core.plan.functions import FUNCTIONS
from lineage_core.plan.relation import Aggregate, Project
from lineage_core.plan.traverse import walk
from tests.sessions import configured

_SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("d", pa.float64()),
        ("m", pa.decimal128(15, 2)),
        ("s", pa.string()),
        ("b", pa.binary()),
        ("t", pa.date32()),
        ("z", pa.timestamp("us", "UTC")),
        ("n", pa.timestamp("us")),
    ]
)


@pytest.fixture
def read_one(spark: SparkSession, tmp_path: Path) -> Callable[[str], Expr]:
    """Gives the IR of one SQL expression over the table above."""
    pq.write_table(_SCHEMA.empty_table(), tmp_path / "t.parquet")

    def expression(sql: str) -> Expr:
        frame = spark.read.parquet(str(tmp_path / "t.parquet")).selectExpr(f"{sql} AS x")
        match read_dataframe(frame).plan:
            case Project(columns=(column,)):
                return column.expr
            case other:
                raise AssertionError(other)

    return expression


INT, L, D, M, S = (
    Column(number, type)
    for number, type in enumerate(("integer", "long", "double", "decimal(15,2)", "string"))
)
T = Column(6, "date")


def integer(value: int) -> Literal:
    return Literal(value, "integer")


def string(value: str) -> Literal:
    return Literal(value, "string")


@pytest.mark.parametrize(
    ("sql", "value", "type"),
    [
        ("true", True, "boolean"),
        ("1Y", 1, "byte"),
        ("-2S", -2, "short"),
        ("3", 3, "integer"),
        ("4L", 4, "long"),
        ("1e300D", 1e300, "double"),
        ("cast('-Infinity' as double)", float("-inf"), "double"),
        ("cast(1.1 as float)", 1.100000023841858, "float"),
        ("1.250", "1.250", "decimal(4,3)"),
        ("cast(0.0000000001 as decimal(20,10))", "0.0000000001", "decimal(20,10)"),
        ("'it\\'s'", "it's", "string"),
        ("X'00ff'", "00ff", "binary"),
        ("date '2020-02-29'", "2020-02-29", "date"),
        ("timestamp '2020-01-01 00:00:00.000001 UTC'", 1577836800000001, "timestamp"),
        ("timestamp '1969-12-31 23:59:59 UTC'", -1000000, "timestamp"),
        ("timestamp_ntz '2020-01-01 00:00:00'", 1577836800000000, "timestamp_ntz"),
        ("cast(null as int)", None, "integer"),
        ("interval '3' day", 259200000000, "interval day"),
        ("interval '2' month", 2, "interval month"),
    ],
)
def test_constants(read_one: Callable[[str], Expr], sql: str, value: Scalar, type: str) -> None:
    assert read_one(sql) == Literal(value, type)


def test_nan(read_one: Callable[[str], Expr]) -> None:
    match read_one("cast('NaN' as double)"):
        case Literal(float(value), "double"):
            assert value != value
        case other:
            raise AssertionError(other)


def test_a_timestamp_does_not_depend_on_the_time_zone(
    spark: SparkSession, read_one: Callable[[str], Expr]
) -> None:
    """Catalyst prints it in the session's zone, where an hour in autumn is there twice."""
    with configured(spark, zone="Europe/Berlin"):
        found = [
            read_one(f"timestamp '2023-10-29 02:30:00{offset}'") for offset in ("+02:00", "+01:00")
        ]
    assert found == [
        Literal(1698539400000000, "timestamp"),
        Literal(1698543000000000, "timestamp"),
    ]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("i = 1", Compare(Comparison.EQ, INT, integer(1))),
        ("i <=> 1", Compare(Comparison.SAME, INT, integer(1))),
        ("i <> 1", Not(Compare(Comparison.EQ, INT, integer(1)))),
        ("i is null", IsNull(INT)),
        ("i is not null", Not(IsNull(INT))),
        ("i in (1, 2, 1)", IsIn(INT, (integer(1), integer(2)))),
        ("i in (1, null)", IsIn(INT, (integer(1), Literal(None, "integer")))),
        ("i in (1)", Compare(Comparison.EQ, INT, integer(1))),
        (
            "l in (i, 2)",
            Or(
                (
                    Compare(Comparison.EQ, L, Call("cast", (INT,), "long")),
                    Compare(Comparison.EQ, L, Literal(2, "long")),
                )
            ),
        ),
        (
            "i = 1 and l > 2 and d < 3",
            And(
                (
                    Compare(Comparison.EQ, INT, integer(1)),
                    Compare(Comparison.GT, L, Literal(2, "long")),
                    Compare(Comparison.LT, D, Literal(3.0, "double")),
                )
            ),
        ),
        ("l + 1", Call("add", (L, Literal(1, "long")), "long")),
        ("try_subtract(i, 1)", Call("subtract", (INT, integer(1)), "integer")),
        ("m * m", Call("multiply", (M, M), "decimal(31,4)")),
        ("m / 3", Call("divide", (M, Literal("3", "decimal(1,0)")), "decimal(19,6)")),
        ("d / 2", Call("divide", (D, Literal(2.0, "double")), "double")),
        ("i % 3", Call("remainder", (INT, integer(3)), "integer")),
        ("-i", Call("negative", (INT,), "integer")),
        ("abs(d)", Call("abs", (D,), "double")),
        ("cast(s as int)", Call("cast", (S,), "integer")),
        ("try_cast(s as int)", Call("cast", (S,), "integer")),
        (
            "case when i > 1 then 'x' end",
            Call(
                "case_when",
                (Compare(Comparison.GT, INT, integer(1)), string("x"), Literal(None, "string")),
                "string",
            ),
        ),
        ("coalesce(s, 'x')", Call("coalesce", (S, string("x")), "string")),
        ("greatest(i, 2)", Call("greatest", (INT, integer(2)), "integer")),
        ("s like 'a%'", Call("starts_with", (S, string("a")), "boolean")),
        ("s like '%a%'", Call("contains", (S, string("a")), "boolean")),
        ("s like 'a_%b'", Call("like", (S, string("a_%b"), string("\\")), "boolean")),
        ("s like 'a|_b_' escape '|'", Call("like", (S, string("a|_b_"), string("|")), "boolean")),
        ("substring(s, 2, 3)", Call("substring", (S, integer(2), integer(3)), "string")),
        ("left(s, 2)", Call("substring", (S, integer(1), integer(2)), "string")),
        ("s || 'x'", Call("concat", (S, string("x")), "string")),
        ("trim(s)", Call("trim", (S,), "string")),
        ("length(s)", Call("length", (S,), "integer")),
        ("s rlike 'x'", Call("rlike", (S, string("x")), "boolean")),
        (
            "regexp_replace(s, 'a', 'b')",
            Call("regexp_replace", (S, string("a"), string("b"), integer(1)), "string"),
        ),
        ("replace(s, 'a')", Call("replace", (S, string("a"), string("")), "string")),
        ("lpad(s, 3)", Call("lpad", (S, integer(3), string(" ")), "string")),
        ("concat_ws(',', s, s)", Call("concat_ws", (string(","), S, S), "string")),
        ("nvl(i, 2)", Call("coalesce", (INT, integer(2)), "integer")),
        ("round(d, 1)", Call("round", (D, integer(1)), "double")),
        ("floor(d)", Call("floor", (D,), "long")),
        ("isnan(d)", Call("isnan", (D,), "boolean")),
        ("add_months(t, 2)", Call("add_months", (T, integer(2)), "date")),
        ("array(i, 2)[0]", INT),
        ("year(t)", Call("year", (T,), "integer")),
        ("extract(day from t)", Call("day", (T,), "integer")),
        ("t + interval 3 day", Call("date_add", (T, integer(3)), "date")),
        ("datediff(t, t)", Call("date_diff", (T, T), "integer")),
        ("substring(s, -2, i)", Call("substring", (S, integer(-2), INT), "string")),
    ],
)
def test_expressions(read_one: Callable[[str], Expr], sql: str, expected: Expr) -> None:
    found = read_one(sql)
    assert found == expected
    assert all(e.name in FUNCTIONS for e in walk(found) if isinstance(e, Call))


@pytest.mark.parametrize(
    ("sql", "name", "deterministic"),
    [
        ("rand()", "rand", False),
        ("uuid()", "uuid", False),
        ("monotonically_increasing_id()", "monotonically_increasing_id", False),
        ("input_file_name()", "input_file_name", False),
        ("trim('x' from s)", "string_trim", True),
        ("length(b)", "length", True),
        ("bround(i, -1)", "bround", True),  # may overflow
        ("slice(array(i), i, 1)", "slice", True),  # an error at 0
        ("hash(s collate utf8_lcase)", "murmur3_hash", True),
        ("t + interval 1 month", "date_add_yminterval", True),
        ("s collate utf8_lcase = 'X'", "equal_to", True),
        ("transform(array(i), x -> x + 1)", "array_transform", True),
        ("current_timestamp()", "current_timestamp", False),
        ("current_date()", "current_date", False),
        ("now()", "now", False),
    ],
)
def test_what_has_no_ir_form_is_unknown(
    read_one: Callable[[str], Expr], sql: str, name: str, deterministic: bool
) -> None:
    found = read_one(sql)
    assert isinstance(found, Unknown)
    assert (found.name, found.deterministic) == (name, deterministic)


@pytest.mark.parametrize(
    ("sql", "name", "type"),
    [
        ("cast(z as date)", "zoned_cast", "date"),
        ("cast(z as string)", "zoned_cast", "string"),
        ("cast(t as timestamp)", "zoned_cast", "timestamp"),
        ("hour(z)", "hour", "integer"),
    ],
)
def test_the_time_zone_of_the_session_is_written_down(
    spark: SparkSession, read_one: Callable[[str], Expr], sql: str, name: str, type: str
) -> None:
    with configured(spark, zone="Europe/Berlin"):
        found = read_one(sql)
    arg = T if "t as" in sql else Column(7, "timestamp")
    assert found == Call(name, (arg, Literal("Europe/Berlin", "string")), type)


def test_patterns_in_their_old_meaning_have_no_ir_form(
    spark: SparkSession, read_one: Callable[[str], Expr]
) -> None:
    sql = "date_format(z, 'yyyy')"
    assert isinstance(read_one(sql), Call)
    spark.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    try:
        assert isinstance(read_one(sql), Unknown)
    finally:
        spark.conf.unset("spark.sql.legacy.timeParserPolicy")


@pytest.mark.parametrize("sql", ["i + 1", "-i", "abs(i)", "cast(l as int)", "cast(d as int)"])
def test_legacy_integers_wrap_around(
    spark: SparkSession, read_one: Callable[[str], Expr], sql: str
) -> None:
    assert isinstance(read_one(sql), Call)
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        assert isinstance(read_one(sql), Unknown)
        assert isinstance(read_one("d + 1"), Call)
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_collated_keys_are_no_keys_to_compare(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(_SCHEMA.empty_table(), tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    grouped = frame.selectExpr("s collate utf8_lcase as s").groupBy("s").count()
    plan = read_dataframe(grouped).plan
    assert isinstance(plan, Aggregate) and isinstance(plan.keys[0], Unknown)


def _node(name: str, children: int, **fields: object) -> dict[str, Any]:
    return {"class": f"org.apache.spark.x.{name}", "num-children": children, **fields}


@pytest.mark.parametrize(("name", "kind"), [("And", And), ("Or", Or)])
def test_depth_is_no_recursion_error(name: str, kind: type) -> None:
    """A left-deep chain, longer than Python's stack, is read into one flat node."""
    terms = 20_000
    attribute: dict[str, Any] = {"exprId": {"id": 1}, "dataType": "integer"}
    tree = [_node(name, 2) for _ in range(terms - 1)]
    for number in range(terms):
        tree += [
            _node("EqualTo", 2),
            _node("AttributeReference", 0, **attribute),
            _node("Literal", 0, value=str(number), dataType="integer"),
        ]
    found = read(tree, Scope({1: 0}, lambda met: None), lambda: None)
    expected = tuple(Compare(Comparison.EQ, Column(0, "integer"), integer(n)) for n in range(terms))
    assert isinstance(found, kind) and isinstance(found, And | Or)
    assert found.args == expected
