"""A plan compiled to SQL gives on both engines the bag of rows that Spark itself gives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path as LocalPath
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Call,
    Column,
    Compare,
    Comparison,
    DataType,
    Expr,
    Frame,
    FrameUnit,
    IsNull,
    Literal,
    Not,
    Unknown,
    WindowCall,
    conj,
    disj,
    same,
)
from lineage_core.plan.functions import AGGREGATES, WINDOWS
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Field,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Named,
    Offset,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    Union,
    Values,
    Window,
    output,
    rid_field,
)
from lineage_core.query.engines.choice import Engines
from lineage_core.query.engines.duckdb_dialect import DIALECT as DUCKDB
from lineage_core.query.engines.spark_dialect import dialect as spark_dialect
from lineage_core.query.plans import column_name, compile_plan
from lineage_core.query.protocol import Engine, value
from lineage_core.snapshot import RID_SHIFT, Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES = ("duckdb", "spark")

TYPES = {
    "k": "integer",
    "n": "long",
    "s": "string",
    "x": "double",
    "d": "decimal(15,2)",
    "w": "decimal(38,6)",
    "day": "date",
    "ok": "boolean",
    "f": "float",
}

_A, _B = date(2020, 2, 29), date(1969, 12, 31)
_BIG = Decimal("1234567890123456789012345.123456")

T = [
    (1, 10, "a", 0.0, Decimal("1.25"), Decimal("0.000001"), _A, True, math.nan),
    (1, -10, "a", -0.0, Decimal("-1.25"), Decimal("-0.000001"), _A, False, 1.5),
    (1, 2**53 + 1, "é", math.nan, Decimal("0.01"), _BIG, _B, None, -0.0),
    (2, None, "", 1.5, Decimal("0.02"), -_BIG, None, True, 0.0),
    (2, None, "", 1.5, Decimal("0.02"), -_BIG, None, True, 0.0),
    (2, 7, None, math.inf, None, Decimal(1), _B, True, None),
    (None, 7, "🙈", None, Decimal("9999999999999.99"), None, date(1, 1, 1), None, math.inf),
    (None, -(2**62), "b", -math.inf, Decimal("-9999999999999.98"), None, _A, False, -1.0),
    (3, 2**62, "B", math.nan, Decimal("0.05"), Decimal("2.5"), date(9999, 12, 31), False, 2.0),
    (-5, 0, " ", 2.5, Decimal("-0.05"), Decimal("3.5"), _B, True, math.nan),
]
U = [
    (1, 1, "a", 0.0, Decimal("1.25"), Decimal(0), _A, True, 0.0),
    (1, 2, "A", math.nan, Decimal("1.25"), None, _B, False, math.nan),
    (2, 3, None, 1.5, None, Decimal("1.5"), None, None, None),
    (None, 4, "", None, Decimal("-1.25"), Decimal("1.5"), _A, True, 2.0),
    (7, 5, "z", -1.0, Decimal("0.01"), Decimal("-1.5"), _A, True, 2.0),
    (7, 5, "z", -1.0, Decimal("0.01"), Decimal("-1.5"), _A, True, 2.0),
]
TABLES: Mapping[str, Sequence[Sequence[tuple[Any, ...]]]] = {
    "t": [T[:4], T[4:], []],
    "u": [U[:5], U[5:]],
    "none": [[]],
}

Bag = Counter[tuple[str, ...]]


@dataclass(frozen=True)
class World:
    """Tables on disk, as views of the session and as snapshots by source number."""

    spark: SparkSession
    snapshots: tuple[Snapshot, ...]
    engines: Engines

    def query(self, plan: Plan, engine: Engine) -> exp.Select:
        def leaf(scan: Scan) -> exp.Select:
            return scanned(scan, self.snapshots[scan.source], engine)

        return compile_plan(plan, leaf, engine.dialect)

    def rows(self, plan: Plan, engine: str) -> Bag:
        """Return what an engine computes of a plan."""
        table = self.engines.ask(engine, lambda e: e.run(self.query(plan, e), {}))
        assert table.column_names == [column_name(f.id) for f in output(plan)]
        return bag(table)

    def sql(self, text: str) -> Bag:
        return bag(self.spark.sql(text).toArrow())

    def check(self, plan: Plan, text: str, engines: Sequence[str] = ENGINES) -> None:
        expected = self.sql(text)
        for engine in engines:
            assert self.rows(plan, engine) == expected, engine


def scanned(scan: Scan, snapshot: Snapshot, engine: Engine) -> exp.Select:
    names = [column.name for column in snapshot.columns]
    ordinals = {f.id: names.index(f.name) for f in scan.columns if f.name != "rid"}
    rids = len(ordinals) < len(scan.columns)
    relation = engine.scan(snapshot, tuple(ordinals.values()), rids=rids)
    selected: list[Any] = [
        exp.alias_(exp.column(value(ordinal)), column_name(id)) for id, ordinal in ordinals.items()
    ]
    if rids:
        file = exp.Mul(this=exp.column("file"), expression=exp.Literal.number(1 << RID_SHIFT))
        rid = exp.Add(this=file, expression=exp.column("row"))
        selected.append(exp.alias_(rid, column_name(rid_field(scan).id)))
    return exp.select(*(selected or [exp.Literal.number(1)])).from_(relation.subquery("s"))


def bag(table: pa.Table) -> Bag:
    columns = [_texts(column) for column in table.columns]
    return Counter(zip(*columns, strict=True)) if columns else Counter()


def _texts(column: pa.ChunkedArray) -> list[str]:
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return [_text(each) for each in column.to_pylist()]


def _text(each: Any) -> str:
    match each:
        case float():
            return repr(each + 0.0)
        case Decimal():
            return f"{each:f}"
        case _:
            return repr(each)


@pytest.fixture(scope="module")
def world(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    lake_at: Callable[[LocalPath], Any],
    engines: Engines,
) -> Iterator[World]:
    lake = lake_at(tmp_path_factory.mktemp("plans"))
    snapshots = []
    for name, files in TABLES.items():
        snapshots.append(lake.write(name, TYPES, files).snapshot)
        spark.read.parquet(str(lake.root / name)).createOrReplaceTempView(name)
    yield World(spark, tuple(snapshots), engines)
    for name in TABLES:
        spark.catalog.dropTempView(name)


def scan(name: str, base: int = 0, *columns: str, rid: bool = False) -> Scan:
    """Return the scan of a table at place `base`; its columns have ids from `base`."""
    wanted = columns or tuple(TYPES)
    fields = tuple(
        Field(base + i, column, type)
        for i, (column, type) in enumerate(TYPES.items())
        if column in wanted
    )
    found = Scan(base, list(TABLES).index(name), name, fields)
    if not rid:
        return found
    return Scan(base, found.source, name, (*fields, rid_field(found)))


def col(name: str, base: int = 0) -> Column:
    return Column(base + list(TYPES).index(name), TYPES[name])


def num(value: int, type: DataType = "integer") -> Literal:
    return Literal(value, type)


def gt(left: Expr, right: Expr) -> Expr:
    return Compare(Comparison.GT, left, right)


def eq(left: Expr, right: Expr) -> Expr:
    return Compare(Comparison.EQ, left, right)


def named(id: int, expr: Expr, type: DataType) -> Named:
    return Named(id, f"n{id}", expr, type)


def agg(name: str, *args: Expr, type: DataType, distinct: bool = False, filter: Any = None) -> Expr:
    return AggregateCall(name, args, type, distinct, filter)


def one(expr: Expr, type: DataType, *keys: Expr, source: Plan | None = None) -> Aggregate:
    columns = [named(101 + i, key, getattr(key, "type", "boolean")) for i, key in enumerate(keys)]
    return Aggregate(90, keys, (*columns, named(100, expr, type)), source or scan("t"))


PLUS = Call("add", (col("k"), num(1)), "integer")


def test_a_scan_gives_all_rows(world: World) -> None:
    world.check(scan("t"), "SELECT * FROM t")
    world.check(scan("none"), "SELECT * FROM none")
    world.check(scan("t", 0, "s"), "SELECT s FROM t")


def test_rids_are_handed_on(world: World) -> None:
    plan = Filter(50, gt(col("k"), num(1)), scan("t", 0, "k", rid=True))
    for engine in ENGINES:
        rows = world.rows(plan, engine)
        assert sum(rows.values()) == 4 and max(rows.values()) == 1


def test_no_columns_are_still_rows(world: World) -> None:
    plan = Project(60, (), Filter(50, gt(col("k"), num(1)), scan("t", 0, "k")))
    for engine in ENGINES:
        table = world.engines.ask(engine, lambda e: e.run(world.query(plan, e), {}))
        assert table.num_rows == 4


def test_filters_and_projections(world: World) -> None:
    inner = Project(
        50, (named(20, PLUS, "integer"), Named(2, "s", col("s"), "string")), scan("t")
    )
    above = Filter(51, gt(Column(20, "integer"), num(2)), inner)
    twice = Call("add", (Column(20, "integer"), Column(20, "integer")), "integer")
    plan = Project(52, (named(21, twice, "integer"), Named(2, "s", col("s"), "string")), above)
    world.check(plan, "SELECT (k + 1) + (k + 1), s FROM t WHERE k + 1 > 2")
    nan = Filter(50, gt(col("x"), Literal(math.inf, "double")), scan("t"))
    # A sum, because Spark itself loses NaN to the statistics of the files.
    world.check(nan, "SELECT * FROM t WHERE x + 0 > double('inf')")


ON = {
    "k": (eq(col("k"), col("k", 20)), "a.k = b.k"),
    "safe": (same(col("s"), col("s", 20)), "a.s <=> b.s"),
    "float": (eq(col("x"), col("x", 20)), "a.x = b.x"),
    "less": (gt(col("n"), col("n", 20)), "a.n > b.n"),
    "mixed": (
        conj([eq(col("k"), col("k", 20)), disj([gt(col("x"), col("x", 20)), col("ok")])]),
        "a.k = b.k AND (a.x > b.x OR a.ok)",
    ),
    "one side": (conj([eq(col("k"), col("k", 20)), col("ok", 20)]), "a.k = b.k AND b.ok"),
    "not in": (
        disj([eq(col("k"), col("k", 20)), IsNull(eq(col("k"), col("k", 20)))]),
        "a.k = b.k OR (a.k = b.k) IS NULL",
    ),
    "true": (TRUE, "true"),
    "decimal": (eq(col("d"), col("d", 20)), "a.d = b.d"),
}
KINDS = {
    JoinKind.INNER: "JOIN",
    JoinKind.LEFT_OUTER: "LEFT JOIN",
    JoinKind.RIGHT_OUTER: "RIGHT JOIN",
    JoinKind.FULL_OUTER: "FULL JOIN",
    JoinKind.LEFT_SEMI: "LEFT SEMI JOIN",
    JoinKind.LEFT_ANTI: "LEFT ANTI JOIN",
}


@pytest.mark.parametrize("on", ON)
@pytest.mark.parametrize("kind", KINDS)
def test_joins(world: World, kind: JoinKind, on: str) -> None:
    condition, text = ON[on]
    left = Filter(40, Not(eq(col("s"), Literal("b", "string"))), scan("t"))
    right = Filter(41, Not(IsNull(col("d", 20))), scan("u", 20))
    world.check(
        Join(50, kind, condition, left, right),
        f"SELECT * FROM (SELECT * FROM t WHERE s <> 'b') a {KINDS[kind]} "
        f"(SELECT * FROM u WHERE d IS NOT NULL) b ON {text}",
        ENGINES if on in ("mixed", "not in") else ENGINES[:1],
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("one", "other"), [("t", "none"), ("none", "u")])
def test_joins_with_nothing(world: World, kind: JoinKind, one: str, other: str) -> None:
    plan = Join(50, kind, eq(col("k"), col("k", 20)), scan(one), scan(other, 20))
    text = f"SELECT * FROM {one} a {KINDS[kind]} {other} b ON a.k = b.k"
    world.check(plan, text, ENGINES[:1])


@pytest.mark.parametrize("on", ON)
@pytest.mark.parametrize("other", ["u", "none"])
def test_existence_joins(world: World, on: str, other: str) -> None:
    condition, text = ON[on]
    exists = Field(60, "exists", "boolean")
    right = Filter(41, Not(IsNull(col("d", 20))), scan(other, 20))
    join = Join(50, JoinKind.EXISTENCE, condition, scan("t"), right, exists)
    found = f"SELECT 1 FROM {other} b WHERE d IS NOT NULL AND ({text})"
    plan = Filter(51, disj([Column(60, "boolean"), gt(col("k"), num(2))]), join)
    world.check(join, f"SELECT *, EXISTS({found}) FROM t a")
    world.check(plan, f"SELECT *, EXISTS({found}) FROM t a WHERE EXISTS({found}) OR k > 2")


def test_outer_joins_compute_before_they_add_nulls(world: World) -> None:
    one = Named(60, "one", num(1), "integer")
    right = Project(41, (Named(20, "k", col("k", 20), "integer"), one), scan("u", 20))
    side = "(SELECT k, 1 AS one FROM u) b"
    condition = eq(col("k"), col("k", 20))
    plan = Join(50, JoinKind.LEFT_OUTER, condition, scan("t"), right)
    world.check(plan, f"SELECT * FROM t a LEFT JOIN {side} ON a.k = b.k")
    plan = Join(50, JoinKind.RIGHT_OUTER, condition, right, scan("t"))
    world.check(plan, f"SELECT * FROM {side} RIGHT JOIN t a ON a.k = b.k")
    plan = Join(50, JoinKind.FULL_OUTER, condition, right, scan("t"))
    above = Filter(51, disj([IsNull(Column(60, "integer")), gt(col("k"), num(1))]), plan)
    world.check(
        above, f"SELECT * FROM {side} FULL JOIN t a ON a.k = b.k WHERE one IS NULL OR a.k > 1"
    )


def test_chains_of_joins(world: World) -> None:
    none = IsNull(col("k", 20))
    outer = Join(50, JoinKind.LEFT_OUTER, eq(col("k"), col("k", 20)), scan("t"), scan("u", 20))
    semi = Join(51, JoinKind.LEFT_SEMI, eq(col("s"), col("s", 40)), outer, scan("t", 40))
    inner = Join(52, JoinKind.INNER, gt(col("n", 60), col("n")), semi, scan("u", 60))
    world.check(
        Filter(53, disj([none, col("ok", 60)]), inner),
        "SELECT * FROM t a LEFT JOIN u b ON a.k = b.k LEFT SEMI JOIN t c ON a.s = c.s "
        "JOIN u e ON e.n > a.n WHERE b.k IS NULL OR e.ok",
    )
    right = Join(52, JoinKind.RIGHT_OUTER, eq(col("n", 60), col("n")), semi, scan("u", 60))
    world.check(
        right,
        "SELECT * FROM t a LEFT JOIN u b ON a.k = b.k LEFT SEMI JOIN t c ON a.s = c.s "
        "RIGHT JOIN u e ON e.n = a.n",
    )


def test_unions(world: World) -> None:
    fields = (Field(60, "k", "integer"), Field(61, "s", "string"), Field(62, "x", "double"))
    inputs = (Filter(40, gt(col("k"), num(1)), scan("t")), scan("u", 20), scan("t", 40))
    plan = Union(50, fields, ((0, 2, 3), (20, None, 23), (40, 42, 43)), inputs)
    text = "SELECT k, s, x FROM t WHERE k > 1 UNION ALL SELECT k, null, x FROM u UNION ALL "
    world.check(plan, text + "SELECT k, s, x FROM t")
    key = Column(62, "double")
    group = Aggregate(51, (key,), (named(63, key, "double"),), plan)
    world.check(group, f"SELECT DISTINCT x FROM ({text} SELECT k, s, x FROM t)")


def test_expands(world: World) -> None:
    null = Literal(None, "string")
    plan = Expand(
        50,
        ((col("k"), col("s"), num(0)), (col("k"), null, num(1)), (PLUS, null, num(3))),
        (Field(60, "k", "integer"), Field(61, "s", "string"), Field(62, "g", "integer")),
        Filter(40, col("ok"), scan("t")),
    )
    text = (
        "SELECT k, s, 0 FROM t WHERE ok UNION ALL SELECT k, null, 1 FROM t WHERE ok UNION ALL "
        "SELECT k + 1, null, 3 FROM t WHERE ok"
    )
    world.check(plan, text)


@pytest.mark.parametrize("key", TYPES)
def test_groups(world: World, key: str) -> None:
    plan = one(agg("count", num(1), type="long"), "long", col(key))
    world.check(plan, f"SELECT {key}, count(1) FROM t GROUP BY {key}")


def test_grouping_by_expressions(world: World) -> None:
    total = agg("sum", col("d"), type="decimal(25,2)")
    count = Call("cast", (agg("count", col("s"), type="long"),), "integer")
    mixed = Call("add", (PLUS, count), "integer")
    columns = (
        named(60, PLUS, "integer"),
        named(61, mixed, "integer"),
        named(62, total, "decimal(25,2)"),
    )
    plan = Aggregate(50, (PLUS, Literal("q", "string")), columns, scan("t"))
    text = "SELECT k + 1, k + 1 + int(count(s)), sum(d) FROM t GROUP BY k + 1"
    world.check(plan, text)
    world.check(
        Filter(51, gt(Column(61, "integer"), num(2)), plan), f"{text} HAVING k + 1 + count(s) > 2"
    )


def test_one_group_of_nothing_is_a_row(world: World) -> None:
    nothing = Filter(40, gt(col("k"), num(100)), scan("t"))
    count = agg("count", num(1), type="long")
    world.check(one(count, "long", source=nothing), "SELECT 0L")
    most = agg("max", col("k"), type="integer")
    world.check(one(most, "integer", source=scan("none")), "SELECT int(null)")
    world.check(one(num(4), "integer", source=nothing), "SELECT 4")
    world.check(one(count, "long", col("k"), source=nothing), "SELECT k, 0L FROM none")
    plan = Aggregate(50, (), (), scan("t"))
    for engine in ENGINES:
        assert world.engines.ask(engine, lambda e: e.run(world.query(plan, e), {})).num_rows == 1


def _aggregates() -> Iterator[tuple[Expr, DataType, str]]:
    for name, type in TYPES.items():
        for function in ("min", "max"):
            yield agg(function, col(name), type=type), type, f"{function}({name})"
        for distinct in (False, True):
            text = f"count({'DISTINCT ' if distinct else ''}{name})"
            yield agg("count", col(name), type="long", distinct=distinct), "long", text
    sums = {"k": "long", "d": "decimal(25,2)", "w": "decimal(38,6)"}
    for name, type in sums.items():
        yield agg("sum", col(name), type=type), type, f"try_sum({name})"
        distinct_sum = agg("sum", col(name), type=type, distinct=True)
        yield distinct_sum, type, f"try_sum(DISTINCT {name})"
        filtered = agg("sum", col(name), type=type, filter=gt(col("x"), num(0, "double")))
        yield filtered, type, f"try_sum({name}) FILTER (WHERE x > 0D)"
    averages = {"k": "double", "d": "decimal(19,6)", "w": "decimal(38,10)"}
    for name, type in averages.items():
        yield agg("avg", col(name), type=type), type, f"try_avg({name})"
        yield agg("avg", col(name), type=type, distinct=True), type, f"try_avg(DISTINCT {name})"
        filtered = agg("avg", col(name), type=type, filter=col("ok"))
        yield filtered, type, f"try_avg({name}) FILTER (WHERE ok)"
    pair = (col("k"), col("s"))
    yield agg("count", *pair, type="long"), "long", "count(k, s)"
    yield agg("count", *pair, type="long", distinct=True), "long", "count(DISTINCT k, s)"
    yield agg("count", num(1), type="long", filter=col("ok")), "long", "count(1) FILTER (WHERE ok)"


@pytest.mark.parametrize("keys", [(), ("k",), ("s", "ok")])
@pytest.mark.parametrize("table", ["t", "none"])
def test_aggregates_are_sparks(world: World, keys: tuple[str, ...], table: str) -> None:
    of_floats = [
        (agg(name, col("x"), type="double"), "double", f"{name}(x)") for name in ("sum", "avg")
    ]
    for calls, engines in ((list(_aggregates()), ENGINES), (of_floats, ENGINES[1:])):
        grouped = [named(60 + i, col(key), TYPES[key]) for i, key in enumerate(keys)]
        made = [named(100 + i, expr, type) for i, (expr, type, _) in enumerate(calls)]
        plan = Aggregate(90, tuple(map(col, keys)), (*grouped, *made), scan(table))
        texts = ", ".join((*keys, *(text for _, _, text in calls)))
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        world.check(plan, f"SELECT {texts} FROM {table}{by}", engines)


@pytest.mark.parametrize("scale", [0, 2, 6])
def test_averages_of_decimals_round_half_up(world: World, scale: int) -> None:
    """Sums and counts for which the last place is a tie, or next to one."""
    type, unit = f"decimal(16,{scale})", Decimal(1).scaleb(-scale)
    rows = ", ".join(
        f"({group}, CAST({unit * number:f} AS {type}))"
        for group, numbers in enumerate(
            [(1, 0, 0), (-1, 0, 0), (2, 0, 0), (1,) + (0,) * 31, (-1,) + (0,) * 31, (5,) * 7]
        )
        for number in numbers
    )
    expected = world.sql(f"SELECT g, avg(v) FROM VALUES {rows} AS q(g, v) GROUP BY g")
    average = agg("avg", Column(1, type), type=f"decimal(20,{scale + 4})")
    fields = (Field(0, "g", "integer"), Field(1, "v", type))
    plan = Aggregate(
        2,
        (Column(0, "integer"),),
        (named(5, Column(0, "integer"), "integer"), named(6, average, f"decimal(20,{scale + 4})")),
        Scan(1, 0, "q", fields),
    )
    values = f"SELECT g AS c0, CAST(v AS {type}) AS c1 FROM (VALUES {rows}) AS q(g, v)"
    for engine in ENGINES:
        found = world.engines.ask(
            engine, lambda e: e.run(compile_plan(plan, lambda _: parsed(values), e.dialect), {})
        )
        assert bag(found) == expected


def parsed(text: str) -> exp.Select:
    tree = parse_one(text, read="duckdb")
    assert isinstance(tree, exp.Select)
    return tree


WHOLE = Frame(FrameUnit.ROWS, None, None)
SO_FAR = Frame(FrameUnit.ROWS, None, num(0))
PEERS = Frame(FrameUnit.RANGE, None, num(0))
ORDER = (
    SortKey(col("n"), True, True),
    SortKey(col("d"), False, False),
    SortKey(col("k"), True, True),
)
OVER = "PARTITION BY ok ORDER BY n, d DESC NULLS LAST, k"


def _windows() -> Iterator[tuple[WindowCall, str]]:
    for name, type in [
        ("row_number", "integer"),
        ("rank", "integer"),
        ("dense_rank", "integer"),
        ("percent_rank", "double"),
        ("cume_dist", "double"),
    ]:
        yield WindowCall(name, (), type, SO_FAR), f"{name}() OVER ({OVER})"
    yield WindowCall("ntile", (num(3),), "integer", SO_FAR), f"ntile(3) OVER ({OVER})"
    for name in ("lag", "lead"):
        args = (col("s"), num(1), Literal(None, "string"))
        row = Frame(FrameUnit.ROWS, num(-1), num(-1))
        yield WindowCall(name, args, "string", row), f"{name}(s) OVER ({OVER})"
        ignoring = WindowCall(name, args, "string", row, ignore_nulls=True)
        yield ignoring, f"{name}(s) IGNORE NULLS OVER ({OVER})"
    for name in ("first", "last"):
        yield WindowCall(name, (col("s"),), "string", SO_FAR), (
            f"{name}(s) OVER ({OVER} ROWS UNBOUNDED PRECEDING)"
        )
        yield WindowCall(name, (col("s"), TRUE), "string", WHOLE), (
            f"{name}(s) IGNORE NULLS OVER ({OVER} ROWS BETWEEN UNBOUNDED PRECEDING AND "
            "UNBOUNDED FOLLOWING)"
        )
    near = Frame(FrameUnit.ROWS, num(-1), num(2))
    near_text = f"({OVER} ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING)"
    yield WindowCall("sum", (col("d"),), "decimal(25,2)", near), f"sum(d) OVER {near_text}"
    yield WindowCall("avg", (col("d"),), "decimal(19,6)", near), f"avg(d) OVER {near_text}"
    yield WindowCall("max", (col("x"),), "double", near), f"max(x) OVER {near_text}"
    yield WindowCall("nth_value", (col("s"), num(2)), "string", near), (
        f"nth_value(s, 2) OVER {near_text}"
    )
    yield WindowCall("count", (col("s"),), "long", PEERS), f"count(s) OVER ({OVER})"
    yield WindowCall("min", (col("f"),), "float", WHOLE), (
        f"min(f) OVER ({OVER} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    )


def test_windows(world: World) -> None:
    calls = list(_windows())
    columns = tuple(named(60 + i, call, call.type) for i, (call, _) in enumerate(calls))
    child = Filter(40, Not(eq(col("s"), Literal("B", "string"))), scan("t"))
    plan = Window(50, (col("ok"),), ORDER, columns, child)
    texts = ", ".join(f"{text} AS w{i}" for i, (_, text) in enumerate(calls))
    text = f"SELECT *, {texts} FROM t WHERE s <> 'B'"
    world.check(plan, text)
    filtered = Filter(51, gt(Column(61, "integer"), num(1)), plan)
    world.check(filtered, f"SELECT * FROM ({text}) WHERE w1 > 1")


RANGES: list[tuple[str, DataType, Any, Any, str]] = [
    ("k", "integer", -1, 0, "BETWEEN 1 PRECEDING AND CURRENT ROW"),
    ("n", "long", 0, 20, "BETWEEN CURRENT ROW AND 20 FOLLOWING"),
    ("day", "integer", -30, 30, "BETWEEN 30 PRECEDING AND 30 FOLLOWING"),
    ("day", "integer", None, -1, "BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"),
]


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("case", RANGES)
def test_ranges(world: World, case: tuple[str, DataType, Any, Any, str], ascending: bool) -> None:
    key, type, low, high, text = case
    bounds = [None if bound is None else Literal(bound, type) for bound in (low, high)]
    call = WindowCall("count", (num(1),), "long", Frame(FrameUnit.RANGE, *bounds))
    order = (SortKey(col(key), ascending, ascending),)
    source = Filter(40, Not(eq(col("s"), Literal("B", "string"))), scan("t"))
    plan = Window(50, (), order, (named(60, call, "long"),), source)
    direction = "" if ascending else " DESC"
    over = f"(ORDER BY {key}{direction} RANGE {text})"
    world.check(plan, f"SELECT *, count(1) OVER {over} FROM t WHERE s <> 'B'")


@pytest.mark.parametrize("key", ["s", "x", "f", "w", "day"])
@pytest.mark.parametrize(("ascending", "nulls_first"), [(True, False), (False, True), (True, True)])
def test_the_first_rows_of_an_order(
    world: World, key: str, ascending: bool, nulls_first: bool
) -> None:
    keys = (SortKey(col(key), ascending, nulls_first),)
    child = Project(41, (named(60, col(key), TYPES[key]),), Sort(40, keys, True, scan("t")))
    direction, nulls = "ASC" if ascending else "DESC", "FIRST" if nulls_first else "LAST"
    order = f"ORDER BY {key} {direction} NULLS {nulls}"
    world.check(Limit(50, 4, child), f"SELECT {key} FROM t {order} LIMIT 4", ENGINES[:1])
    plan = Limit(51, 4, Offset(50, 3, child))
    world.check(plan, f"SELECT {key} FROM t {order} LIMIT 4 OFFSET 3")


def test_an_order_by_what_is_not_kept(world: World) -> None:
    keys = (SortKey(PLUS, False, False), SortKey(col("n"), True, True))
    child = Project(41, (named(60, col("s"), "string"),), Sort(40, keys, True, scan("t")))
    plan = Filter(52, Not(IsNull(Column(60, "string"))), Limit(51, 5, child))
    text = "SELECT s FROM t ORDER BY k + 1 DESC NULLS LAST, n LIMIT 5"
    world.check(plan, f"SELECT * FROM ({text}) WHERE s IS NOT NULL")


@pytest.mark.parametrize(("levels", "names"), [(40, ENGINES), (150, ["duckdb"])])
def test_deep_plans(world: World, levels: int, names: list[str]) -> None:
    plan: Plan = scan("t", 0, "k")
    column = col("k")
    for at in range(100, 100 + levels):
        plan = Filter(at, disj([gt(column, num(-at)), IsNull(column)]), plan)
        more = Call("add", (column, num(1)), "integer")
        plan = Project(at + 1000, (named(at, more, "integer"),), plan)
        column = Column(at, "integer")
    world.check(plan, f"SELECT k + {levels} FROM t", names)


def test_long_chains_are_one_select(world: World) -> None:
    plan: Plan = scan("t", 0, "k")
    for at in range(300, 600):
        plan = Filter(at, disj([gt(col("k"), num(-at)), IsNull(col("k"))]), plan)
    world.check(plan, "SELECT k FROM t")


def test_wide_unions(world: World) -> None:
    inputs = tuple(scan("u", 20 * i, "k") for i in range(200))
    plan = Union(9999, (Field(9000, "k", "integer"),), tuple((20 * i,) for i in range(200)), inputs)
    world.check(plan, "SELECT k FROM u LATERAL VIEW explode(sequence(1, 200)) AS e")


def test_generators_are_sparks(world: World) -> None:
    generated = (Field(60, "a", "integer"), Field(61, "b", "integer"))
    stack = Unknown("stack", (num(2), col("k"), num(1), PLUS), "struct", True)
    kept = (Field(2, "s", "string"),)
    plan = Generate(50, stack, False, kept, generated, scan("t"))
    world.check(plan, "SELECT s, stack(2, k, 1, k + 1) FROM t", ["spark"])
    with pytest.raises(UnsupportedError, match="duckdb"):
        world.rows(plan, "duckdb")


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (Values(3, (Field(0, "k", "integer"),)), r"Values \(operator 3\)"),
        (Opaque(3, "MapGroups", "it runs code", (), (scan("t"),)), "MapGroups.*it runs code"),
        (Filter(3, Unknown("udf", (), "boolean", True), scan("t")), "udf"),
        (one(agg("collect_list", col("k"), type="string"), "string"), "collect_list"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_cannot_be_computed_is_refused(
    world: World, engine: str, plan: Plan, why: str
) -> None:
    with pytest.raises(UnsupportedError, match=why):
        world.rows(plan, engine)


@pytest.mark.parametrize(
    "call",
    [
        agg("sum", col("x"), type="double"),
        agg("avg", col("f"), type="double"),
        agg("avg", Call("cast", (col("d"),), "decimal(11,2)"), type="decimal(15,6)"),
        agg("first", col("k"), type="integer"),
        agg("max_by", col("k"), col("n"), type="integer"),
        agg("stddev_samp", col("x"), type="double"),
    ],
)
def test_what_duckdb_does_otherwise_is_refused(world: World, call: AggregateCall) -> None:
    with pytest.raises(UnsupportedError, match=call.name):
        world.rows(one(call, call.type), "duckdb")


def test_an_average_that_depends_on_the_order_is_refused(world: World) -> None:
    with pytest.raises(UnsupportedError):
        world.rows(one(agg("avg", col("n"), type="double"), "double"), "duckdb")


def test_spark_has_all_functions_of_many_rows() -> None:
    spark = spark_dialect(lambda _: None)
    assert set(spark.aggregates) == AGGREGATES
    assert set(spark.windows) == WINDOWS
    assert set(DUCKDB.aggregates) <= AGGREGATES
    assert set(DUCKDB.windows) <= WINDOWS | AGGREGATES
