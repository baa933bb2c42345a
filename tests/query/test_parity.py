"""Predicates mean the same on both engines, and what they mean in Python's three-valued logic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path as LocalPath
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import (
    TRUE,
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
from lineage_core.plan.functions import FUNCTIONS
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.query.chain import Path
from lineage_core.query.compile import compile_expr
from lineage_core.query.engines.choice import Engines
from lineage_core.query.engines.duckdb_dialect import DIALECT as DUCKDB
from lineage_core.query.engines.duckdb_dialect import FUNCTIONS as DUCKDB_FUNCTIONS
from lineage_core.query.engines.spark_dialect import dialect as spark_dialect
from lineage_core.query.protocol import Engine, value
from lineage_core.query.reader import Reader
from lineage_core.query.relations import Relations
from lineage_core.query.selection import Where

pytestmark = pytest.mark.usefixtures("spark")

_MOMENT = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)

VALUES: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "byte": [0, -128, 127, None],
    "integer": [0, 1, -1, 7, 2**31 - 1, -(2**31), None],
    "long": [0, 3, -(2**63), 2**63 - 1, 2**53 + 1, None],
    "float": [0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 3.4e38, None],
    "double": [0.0, -0.0, 0.1, math.nan, math.inf, -math.inf, 1e300, 5e-324, None],
    "decimal(10,2)": [Decimal(0), Decimal("-1.25"), Decimal("99999999.99"), None],
    "decimal(38,6)": [Decimal("0.000001"), Decimal("-1.250000"), Decimal(10) ** 31, None],
    "string": ["", "a", "A", "ab", " b ", "é", "🙈", "it's", "a%_\\\n${b}", "\0", None],
    "binary": [b"", b"\x00", b"\xff\x00", b"'", None],
    "date": [date(1970, 1, 1), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), None],
    "timestamp": [_MOMENT, datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), None],
    "timestamp_ntz": [datetime(2026, 3, 29, 2, 30), datetime(1900, 1, 1), None],
}
"""Each type's values: the edges, and null."""

_TYPES = sorted(VALUES)
_COLUMNS = {type: (2 * i, 2 * i + 1) for i, type in enumerate(_TYPES)}


def _rows() -> list[tuple[Any, ...]]:
    """Return rows in which each type's two columns together take every pair of its values."""
    length = max(len(values) ** 2 for values in VALUES.values())
    rows = []
    for number in range(length):
        row: list[Any] = []
        for type in _TYPES:
            values = VALUES[type]
            row += [values[number % len(values)], values[number // len(values) % len(values)]]
        rows.append(tuple(row))
    return rows


@dataclass(frozen=True)
class Sample:
    table: Any
    engines: Engines

    def evaluate(self, engine: str, expressions: list[Expr]) -> list[list[Any]]:
        """Return the values of each expression over all rows, in the order of the rows."""
        snapshot = self.table.snapshot

        def ask(opened: Engine) -> Any:
            scan = opened.scan(snapshot, tuple(range(len(snapshot.columns))), rids=True)
            sql = [
                compile_expr(e, lambda c: exp.column(value(c.id), table="x"), opened.dialect)
                for e in expressions
            ]
            named = [exp.alias_(each, f"e{i}") for i, each in enumerate(sql)]
            query = exp.select(exp.column("row", table="x"), *named).from_(scan.subquery("x"))
            return opened.run(query, {}).sort_by("row")

        table = self.engines.ask(engine, ask)
        return [_as_list(column) for column in table.columns[1:]]

    def select(self, engine: str, predicate: Expr) -> list[int]:
        """Return the rids of the rows that a predicate selects."""
        steps = (Step(StepKind.TARGET, -1, TRUE, (), 0, "sample"),)
        relations = Relations(LineageProgram(steps), {0: self.table.snapshot}, ({},))
        reader = Reader(self.engines, engine)
        return list(reader.rids(Path(relations, (0,), Where(predicate))).to_pylist())


@pytest.fixture(scope="module")
def sample(
    tmp_path_factory: pytest.TempPathFactory,
    lake_at: Callable[[LocalPath], Any],
    engines: Engines,
) -> Sample:
    columns = {f"{type}_{i}": type for type in _TYPES for i in (0, 1)}
    lake = lake_at(tmp_path_factory.mktemp("sample"))
    return Sample(lake.write("sample", columns, [_rows()]), engines)


def _as_list(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())  # some are beyond what Python's dates hold
    return list(column.to_pylist())


def _literal(value: Any, type: str) -> Literal:
    match value:
        case datetime() if type == "timestamp":
            micros = (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
            return Literal(micros, type)
        case datetime():
            return Literal((value - datetime(1970, 1, 1)) // timedelta(microseconds=1), type)
        case date():
            return Literal(value.isoformat(), type)
        case Decimal():
            return Literal(format(value, "f"), type)
        case bytes():
            return Literal(value.hex(), type)
        case _:
            return Literal(value, type)


def _literals(type: str) -> st.SearchStrategy[Literal]:
    return st.sampled_from([_literal(value, type) for value in VALUES[type]])


@st.composite
def _atoms(draw: st.DrawFn) -> Expr:
    type = draw(st.sampled_from(_TYPES))
    left, right = (Column(id, type) for id in _COLUMNS[type])
    match draw(st.integers(0, 4)):
        case 0:
            return IsNull(left)
        case 1:
            return IsIn(left, tuple(draw(st.lists(_literals(type), min_size=2, max_size=4))))
        case 2 if type == "boolean":
            return left
        case 3:
            return Compare(draw(st.sampled_from(Comparison)), draw(_literals(type)), right)
        case _:
            other = draw(st.one_of(st.just(right), _literals(type)))
            return Compare(draw(st.sampled_from(Comparison)), left, other)


def _connected(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    lists = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(parts.map(Not), lists.map(And), lists.map(Or))


_PREDICATES = st.recursive(_atoms(), _connected, max_leaves=6)


@given(st.lists(_PREDICATES, min_size=30, max_size=30))
@settings(max_examples=8, suppress_health_check=list(HealthCheck), derandomize=True)
def test_predicates_have_sparks_truth(
    sample: Sample, oracle: Callable[..., Any], predicates: list[Expr]
) -> None:
    expected = [
        [oracle(predicate, dict(enumerate(row.values())), {}) for row in sample.table.rows.values()]
        for predicate in predicates
    ]
    for engine in ("duckdb", "spark"):
        found = sample.evaluate(engine, predicates)
        for predicate, here, there in zip(predicates, found, expected, strict=True):
            assert here == there, (engine, predicate)


@given(_PREDICATES)
@settings(
    max_examples=150, suppress_health_check=list(HealthCheck), derandomize=True
)
def test_a_filter_keeps_the_rows_where_it_is_true(
    sample: Sample, oracle: Callable[..., Any], predicate: Expr
) -> None:
    """Unlike a value, a filter is pushed into the scan, where it meets the file's statistics."""
    expected = [
        rid
        for rid, row in sample.table.rows.items()
        if oracle(predicate, dict(enumerate(row.values())), {}) is True
    ]
    assert sample.select("duckdb", predicate) == expected


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("type", ["float", "double"])
def test_nan_is_found_beyond_the_files_statistics(
    sample: Sample, oracle: Callable[..., Any], engine: str, type: str
) -> None:
    column = Column(_COLUMNS[type][0], type)
    nan, big = Literal(math.nan, type), Literal(math.inf, type)
    for predicate in (
        Compare(Comparison.EQ, column, nan),
        Compare(Comparison.SAME, column, nan),
        Compare(Comparison.GT, column, big),
        Not(Compare(Comparison.LE, column, big)),
        IsIn(column, (nan, Literal(1.5, type))),
    ):
        rows = sample.table.rows.items()
        values = {rid: dict(enumerate(row.values())) for rid, row in rows}
        expected = [rid for rid, row in values.items() if oracle(predicate, row, {}) is True]
        assert expected
        assert sample.select(engine, predicate) == expected


def _pair(type: str) -> tuple[Column, Column]:
    first, second = _COLUMNS[type]
    return Column(first, type), Column(second, type)


def _arithmetic() -> Iterator[Call]:
    for type in ("byte", "integer", "long", "float", "double"):
        for name in ("add", "subtract", "multiply", "remainder"):
            yield Call(name, _pair(type), type)
        for name in ("negative", "abs"):
            yield Call(name, _pair(type)[:1], type)
    small = _pair("decimal(10,2)")
    yield Call("add", small, "decimal(11,2)")
    yield Call("subtract", small, "decimal(11,2)")
    yield Call("multiply", small, "decimal(21,4)")
    yield Call("negative", small[:1], "decimal(10,2)")
    yield Call("divide", small, "decimal(23,13)")
    wide = tuple(Call("cast", (each,), "decimal(38,4)") for each in small)
    yield Call("divide", wide, "decimal(38,6)")
    yield Call("multiply", wide, "decimal(38,6)")
    yield Call("divide", _pair("double"), "double")
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        for type in ("byte", "integer", "long"):
            yield Call(name, _pair(type), type)
    yield Call("bitwise_not", _pair("long")[:1], "long")
    yield Call("div", _pair("long"), "long")


def _of_all_types() -> Iterator[Call]:
    for type in _TYPES:
        for target in _TYPES:
            yield Call("cast", _pair(type)[:1], target)
        for name in ("coalesce", "greatest", "least"):
            yield Call(name, _pair(type), type)
        condition = Compare(Comparison.LT, *_pair(type))
        yield Call("case_when", (condition, *_pair(type)), type)


_PATTERNS = [
    ("a%", "\\"),
    ("_", "\\"),
    ("%\\%\\_%", "\\"),
    ("%!%%", "!"),
    ("%\\%", "!"),
    ("a%_\\\\\n%", "\\"),
    ("", "\\"),
]


def _of_strings() -> Iterator[Call]:
    text, other = _pair("string")
    for name in ("starts_with", "ends_with", "contains"):
        yield Call(name, (text, other), "boolean")
    for pattern in _PATTERNS:
        constants = [Literal(part, "string") for part in pattern]
        yield Call("like", (text, *constants), "boolean")
    for place in [(1, 1), (0, 2), (2, 9), (5, 0)]:
        yield Call("substring", (text, *(Literal(n, "integer") for n in place)), "string")
    yield Call("length", (text,), "integer")
    yield Call("concat", (text, other), "string")
    yield Call("trim", (text,), "string")


def _of_dates() -> Iterator[Call]:
    day, end = _pair("date")
    for name in ("year", "quarter", "month", "day"):
        yield Call(name, (day,), "integer")
    yield Call("date_diff", (day, end), "integer")
    yield Call("date_add", (day, Literal(0, "integer")), "date")
    yield Call("date_sub", (day, Literal(31, "integer")), "date")
    for unit in ("year", "Quarter", "MM", "week"):
        yield Call("trunc", (day, Literal(unit, "string")), "date")


def _of_clocks() -> Iterator[Call]:
    utc = Literal("Etc/UTC", "string")
    moment, shown, day = (_pair(type)[0] for type in ("timestamp", "timestamp_ntz", "date"))
    for source, type in [
        (moment, "date"),
        (moment, "timestamp_ntz"),
        (shown, "timestamp"),
        (day, "timestamp"),
    ]:
        yield Call("zoned_cast", (source, utc), type)
    for name in ("hour", "minute", "second"):
        yield Call(name, (moment, utc), "integer")
        yield Call(name, (shown, utc), "integer")
    for unit in ("YEAR", "quarter", "mon", "week", "dd", "hour", "minute", "second"):
        yield Call("date_trunc", (Literal(unit, "string"), moment, utc), "timestamp")


def _calls() -> list[Call]:
    """Return calls of every function, over columns of every type it may take."""
    return [*_arithmetic(), *_of_all_types(), *_of_strings(), *_of_dates(), *_of_clocks()]


def _supported(call: Call) -> bool:
    try:
        compile_expr(call, lambda c: exp.column(value(c.id)), DUCKDB)
    except UnsupportedError:
        return False
    return True


def test_functions_give_the_same_values(sample: Sample) -> None:
    calls = [call for call in _calls() if _supported(call)]
    assert {call.name for call in calls} == set(DUCKDB_FUNCTIONS)
    found = {engine: sample.evaluate(engine, list(calls)) for engine in ("duckdb", "spark")}
    for call, here, there in zip(calls, found["duckdb"], found["spark"], strict=True):
        for row, (one, other) in enumerate(zip(here, there, strict=True)):
            assert _shown(one) == _shown(other), (call, list(sample.table.rows.values())[row])


def test_every_function_of_the_ir_is_on_spark() -> None:
    assert set(spark_dialect(lambda _: None).functions) == FUNCTIONS
    assert set(DUCKDB_FUNCTIONS) <= FUNCTIONS


def test_what_duckdb_lacks_is_refused_by_name() -> None:
    text = Column(_COLUMNS["string"][0], "string")
    with pytest.raises(UnsupportedError, match="upper"):
        compile_expr(Call("upper", (text,), "string"), lambda c: exp.column("k"), DUCKDB)
    with pytest.raises(UnsupportedError, match=r"cast\(double\) to long"):
        number = Column(_COLUMNS["double"][0], "double")
        compile_expr(Call("cast", (number,), "long"), lambda c: exp.column("k"), DUCKDB)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return repr(value + 0.0)  # the sign of a zero is no difference
    return repr(Decimal(value).normalize() if isinstance(value, Decimal) else value)
