"""Random queries through real Spark: every pair of rows is held against an annotated twin.

Each query is made twice: plain, and with a column `lin` that carries the places of the source rows
along (PredTrace Table 2: whole groups, all partners of a semi join). The twin runs in plain Spark,
without capture, and shares nothing with the code under test.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lineage_core import open_store
from lineage_core.datasets import canonical
from lineage_core.lineage import LineageStore
from lineage_core.query.answer import Answer, Precision, SourceAnswer

Key = tuple[object, ...]
Pairs = set[tuple[int, int]]

TYPES = {
    "int": pa.int32(),
    "string": pa.string(),
    "double": pa.float64(),
    "decimal(10,2)": pa.decimal128(10, 2),
    "date": pa.date32(),
    "boolean": pa.bool_(),
}
VALUES: dict[str, list[Any]] = {
    "int": [0, 1, 2, None],
    "string": ["", "a", "it's", "日本 %", None],
    "double": [0.0, -0.0, 1.5, math.nan, None],
    "decimal(10,2)": [Decimal("0.00"), Decimal("1.50"), Decimal("-1.25"), None],
    "date": [date(2020, 2, 29), date(1999, 12, 31), None],
    "boolean": [True, False, None],
}
CONSTANTS = {
    "int": ["0", "1", "2"],
    "string": ["'a'", "''", r"'it\'s'"],
    "double": ["0.0D", "-0.0D", "double('NaN')", "1.5D"],
    "decimal(10,2)": ["0.00", "1.5"],
    "date": ["DATE'2020-02-29'", "DATE'2000-01-01'"],
    "boolean": ["true", "false"],
}
COLUMNS = {
    "k": "int",
    "Gr oup": "string",
    "x.y": "double",
    "dé,c": "decimal(10,2)",
    "day": "date",
    "OK": "boolean",
}
FILES = {"t": (5, 4, 0), "u": (3, 3), "empty": (0,)}
PARTITIONS = {"u": ("x", "it's/ü")}


@dataclass(frozen=True)
class World:
    """The session with the tables as views, `r_` before the names of those that carry `lin`."""

    spark: SparkSession
    store: LineageStore
    folder: Path


@dataclass(frozen=True)
class Rel:
    """A query, its annotated twin, and the types of its columns by name."""

    columns: dict[str, str]
    plain: str
    twin: str

    @property
    def names(self) -> str:
        return ", ".join(self.columns)


class Maker:
    """Makes random relations; every column gets a name of its own."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._numbers = count()

    def new(self) -> str:
        return f"n{next(self._numbers)}"

    def relation(self, depth: int) -> Rel:
        if depth == 0:
            return self.scan()
        below = self.relation(depth - 1)
        match self.random.choice("FFPJJJSSAAADLU"):
            case "F":
                return self.over(below, below.names, f"WHERE {self.condition(below)}")
            case "P":
                return self.project(below)
            case "J":
                again = self.random.random() < 0.3
                return self.join(below, self.renamed(below) if again else self.relation(depth - 1))
            case "S":
                return self.semi(below, self.relation(depth - 1))
            case "A":
                return self.aggregate(below)
            case "D":
                return self.grouped(below, list(below.columns), {}, "")
            case "L":
                return self.over(below, below.names, f"ORDER BY {below.names} LIMIT 3")
            case _:
                return self.union(below)

    def scan(self) -> Rel:
        table = self.random.choice(list(FILES)[:2])
        chosen = {self.new(): name for name in self.random.sample(list(COLUMNS), 4)}
        types = {new: COLUMNS[name] for new, name in chosen.items()}
        if table == "u":
            chosen[self.new()] = "part"
            types[list(chosen)[-1]] = "string"
        listed = ", ".join(f"`{name}` AS {new}" for new, name in chosen.items())
        return Rel(types, f"SELECT {listed} FROM {table}", f"SELECT {listed}, lin FROM r_{table}")

    def over(self, rel: Rel, listed: str, rest: str, types: dict[str, str] | None = None) -> Rel:
        return Rel(
            types or rel.columns,
            f"SELECT {listed} FROM ({rel.plain}) {rest}",
            f"SELECT {listed}, lin FROM ({rel.twin}) {rest}",
        )

    def renamed(self, rel: Rel) -> Rel:
        new = {self.new(): name for name in rel.columns}
        listed = ", ".join(f"{name} AS {other}" for other, name in new.items())
        return self.over(rel, listed, "", {o: rel.columns[name] for o, name in new.items()})

    def project(self, rel: Rel) -> Rel:
        types, exprs = {}, []
        for _ in range(self.random.randint(1, 3)):
            name, type = self.random.choice(list(rel.columns.items()))
            constant, other = self.random.choice(CONSTANTS[type]), self.new()
            expr = self.random.choice(
                [
                    name,
                    f"coalesce({name}, {constant})",
                    f"CASE WHEN {self.condition(rel)} THEN {name} ELSE {constant} END",
                    f"nullif({name}, {constant})",
                    *([f"{name} * 2 + 1"] if type == "int" else []),
                    *([f"concat({name}, '-')", f"trim({name})"] if type == "string" else []),
                ]
            )
            types[other] = type
            exprs.append(f"CAST({expr} AS {type}) AS {other}")
        return self.over(rel, ", ".join(exprs), "", types)

    def condition(self, rel: Rel) -> str:
        name, type = self.random.choice(list(rel.columns.items()))
        one, two = self.random.choices(CONSTANTS[type], k=2)
        simple = [
            f"{name} {self.random.choice(['=', '<>', '<', '>=', '<=>'])} {one}",
            f"{name} IN ({one}, {two})",
            f"{name} IS NOT NULL",
            f"({name} IS NULL OR {name} BETWEEN {one} AND {two})",
            *([f"{name} LIKE '%a%'"] if type == "string" else []),
        ]
        return self.random.choice(simple)

    def on(self, left: Rel, right: Rel) -> str:
        pairs = [
            (a, b) for a, t in left.columns.items() for b, u in right.columns.items() if t == u
        ]
        parts = [
            f"{a} {self.random.choice(['=', '=', '=', '<=>', '<'])} {b}"
            for a, b in self.random.sample(pairs, min(len(pairs), self.random.randint(1, 2)))
        ]
        return " AND ".join(parts) or "true"

    def join(self, left: Rel, right: Rel) -> Rel:
        on = self.on(left, right)
        both = left.columns | right.columns
        kept = {name: both[name] for name in self.random.sample(list(both), (len(both) + 1) // 2)}
        return Rel(
            kept,
            f"SELECT {', '.join(kept)} FROM ({left.plain}) JOIN ({right.plain}) ON {on}",
            f"SELECT {', '.join(kept)}, concat(l.lin, r.lin) AS lin "
            f"FROM ({left.twin}) l JOIN ({right.twin}) r ON {on}",
        )

    def semi(self, left: Rel, right: Rel) -> Rel:
        on = self.on(left, right)
        firsts = ", ".join(f"first({name}) AS {name}" for name in left.columns)
        return Rel(
            left.columns,
            f"SELECT {left.names} FROM ({left.plain}) "
            f"WHERE EXISTS (SELECT 1 FROM ({right.plain}) WHERE {on})",
            f"SELECT {firsts}, concat(l.lin, flatten(collect_list(r.lin))) AS lin "
            f"FROM ({left.twin}) l JOIN ({right.twin}) r ON {on} GROUP BY l.lin",
        )

    def aggregate(self, rel: Rel) -> Rel:
        keys = self.random.sample(list(rel.columns), min(len(rel.columns), 1))
        name = self.random.choice(list(rel.columns))
        calls = {self.new(): (f"max({name})", rel.columns[name]), self.new(): ("count(*)", "long")}
        having = self.random.choice(["", "HAVING count(*) > 1"])
        counted = self.grouped(rel, keys, calls, having)
        hidden = {k: t for k, t in counted.columns.items() if t != "long" and k not in keys}
        kept = self.random.choice([hidden, {k: rel.columns[k] for k in keys} | hidden])
        return self.over(counted, ", ".join(kept), "", kept)

    def grouped(
        self, rel: Rel, keys: list[str], calls: dict[str, tuple[str, str]], having: str
    ) -> Rel:
        listed = ", ".join([*keys, *(f"{call} AS {name}" for name, (call, _) in calls.items())])
        rest = f"GROUP BY {', '.join(keys)} {having}"
        types = {key: rel.columns[key] for key in keys} | {n: t for n, (_, t) in calls.items()}
        return Rel(
            types,
            f"SELECT {listed} FROM ({rel.plain}) {rest}",
            f"SELECT {listed}, flatten(collect_list(lin)) AS lin FROM ({rel.twin}) {rest}",
        )

    def union(self, rel: Rel) -> Rel:
        # A tag tells rows that both sides give; places are what has bars in it.
        tagged = f"SELECT {rel.names}, concat(lin, array('%s')) AS lin FROM ({rel.twin})"
        one, two = (f"SELECT {rel.names} FROM ({rel.plain})" for _ in range(2))
        twin = f"{tagged % self.new()} UNION ALL {tagged % self.new()}"
        return Rel(rel.columns, f"{one} UNION ALL {two}", twin)


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("fuzz [1] %20")
    random = Random(1)
    for table, sizes in FILES.items():
        _write(folder / table, sizes, PARTITIONS.get(table, ()), random)
        rows = spark.read.parquet(str(folder / table).replace("[", "\\[").replace("]", "\\]"))
        rows.createOrReplaceTempView(table)
        place = rows.metadataColumn("_metadata")
        lin = F.concat(F.lit(f"{table}|"), place["file_path"], F.lit("|"), place["row_index"])
        rows.select("*", F.array(lin).alias("lin")).createOrReplaceTempView(f"r_{table}")
    yield World(spark, open_store(str(tmp_path_factory.mktemp("store"))), folder)
    for table in FILES:
        spark.catalog.dropTempView(table)
        spark.catalog.dropTempView(f"r_{table}")


def _write(folder: Path, sizes: tuple[int, ...], parts: tuple[str, ...], random: Random) -> None:
    for number, size in enumerate(sizes):
        place = folder / f"part={quote(parts[number], safe='')}" if parts else folder
        place.mkdir(parents=True, exist_ok=True)
        rows = {
            name: pa.array([random.choice(VALUES[type]) for _ in range(size)], TYPES[type])
            for name, type in COLUMNS.items()
        }
        # Tiny row groups: their statistics do not count NaN.
        pq.write_table(pa.table(rows), place / f"file {number}.parquet", row_group_size=2)


def _plain(value: object) -> object:
    """Return a value so that what Spark groups together is equal."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def _keys(table: pa.Table) -> list[Key]:
    columns = ([_plain(value) for value in column.to_pylist()] for column in table.columns)
    return list(zip(*columns, strict=True))


def _written(folder: Path) -> dict[int, Key]:
    """Return the rows of a dataset by rid, read without Spark and without our code."""
    found: dict[int, Key] = {}
    for number, file in enumerate(sorted(folder.glob("*.parquet"))):
        keys = _keys(pq.ParquetFile(file).read())
        found.update({(number << 40) | row: key for row, key in enumerate(keys)})
    return found


def _pairs(answer: SourceAnswer) -> Pairs:
    pairs = answer.pairs()
    return set(zip(pairs["out_rid"].to_pylist(), pairs["in_rid"].to_pylist(), strict=True))


def _expected(answer: SourceAnswer, rows: dict[int, Key], places: dict[Key, set[str]]) -> Pairs:
    """Return the pairs of rids that the twin's places stand for, in one source."""
    numbers = {file.path: number for number, file in enumerate(answer.snapshot.files)}
    found = set()
    for rid, key in rows.items():
        for _, path, row in (place.split("|") for place in places[key]):
            if canonical(path) in numbers:
                found.add((rid, (numbers[canonical(path)] << 40) | int(row)))
    return found


def _check(answer: Answer, rows: dict[int, Key], places: dict[Key, set[str]]) -> None:
    found = 0
    for source in answer.sources:
        pairs, expected = _pairs(source), _expected(source, rows, places)
        found += len(expected)
        assert pairs == expected if source.precision is Precision.EXACT else pairs >= expected
        assert set(source.rids().to_pylist()) == {rid for _, rid in pairs}
    assert found == sum(len(places[key]) for key in rows.values())  # no source is missing


def _run(world: World, rel: Rel, folder: Path, how: str, engines: tuple[str, ...]) -> Answer:
    twin = world.spark.sql(rel.twin).toArrow()
    keys = _keys(twin.drop_columns(["lin"]))
    places: dict[Key, set[str]] = defaultdict(set)
    for key, lin in zip(keys, twin["lin"].to_pylist(), strict=True):
        places[key].update(place for place in lin if "|" in place)
    with world.store.capture(world.spark, job="fuzz", materialize=how) as run:
        world.spark.sql(rel.plain).write.parquet(str(folder))
    assert not run.outputs[0].uncaptured
    rows = _written(folder)
    assert sorted(map(repr, rows.values())) == sorted(map(repr, keys))
    for engine in engines:
        answer = world.store.backward(str(folder), hops=1, engine=engine)
        _check(answer, rows, places)
    for source in answer.sources:
        forward = world.store.forward(source.dataset, run=run.id, hops=1, engine=engines[0])
        assert set().union(*map(_pairs, forward.outputs)) == _pairs(source)
    return answer


@pytest.mark.parametrize("seed", range(6))
def test_random_queries_answer_as_their_annotated_twins(
    world: World, tmp_path: Path, seed: int
) -> None:
    rel = Maker(seed).relation(2 + seed % 2)
    how = ("inject", "defer", "never")[seed % 3]
    engines = ("duckdb", "spark") if seed % 4 == 0 else ("duckdb",)
    _run(world, rel, tmp_path / "out", how, engines)


CASES = {
    "a global aggregate over nothing": (
        "SELECT count(*) AS n FROM t WHERE k > 99",
        "SELECT count(*) AS n, flatten(collect_list(lin)) AS lin FROM r_t WHERE k > 99",
    ),
    "zeros and NaN as join keys": (
        "SELECT a.k FROM t a JOIN u b ON a.`x.y` = b.`x.y`",
        "SELECT a.k, concat(a.lin, b.lin) AS lin FROM r_t a JOIN r_u b ON a.`x.y` = b.`x.y`",
    ),
    "text of a grouped zero": (
        "SELECT CAST(`x.y` AS STRING) AS z FROM t GROUP BY `x.y`",
        "SELECT CAST(`x.y` AS STRING) AS z, flatten(collect_list(lin)) AS lin "
        "FROM r_t GROUP BY `x.y`",
    ),
    "a query written once and used twice": (
        "WITH g AS (SELECT k, max(day) AS d FROM t GROUP BY k) "
        "SELECT a.d FROM g a JOIN g b ON a.d = b.d AND a.k <= b.k",
        "WITH g AS (SELECT k, max(day) AS d, flatten(collect_list(lin)) AS lin "
        "FROM r_t GROUP BY k) "
        "SELECT a.d, concat(a.lin, b.lin) AS lin FROM g a JOIN g b ON a.d = b.d AND a.k <= b.k",
    ),
    "an empty table": (
        "SELECT t.k FROM t WHERE k = 1 OR k IN (SELECT k FROM empty)",
        "SELECT k, lin FROM r_t WHERE k = 1",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_cases_worth_a_name(world: World, tmp_path: Path, case: str) -> None:
    plain, twin = CASES[case]
    _run(world, Rel({}, plain, twin), tmp_path / "out", "inject", ("duckdb", "spark"))


def test_the_comparison_would_notice_a_wrong_answer(world: World, tmp_path: Path) -> None:
    rel = Rel({}, "SELECT k FROM t", "SELECT k, lin FROM r_t")
    answer = _run(world, rel, tmp_path / "out", "never", ("duckdb",))
    rows = _written(tmp_path / "out")
    (source,) = answer.sources
    assert source.precision is Precision.EXACT
    with pytest.raises(AssertionError):
        _check(answer, rows, defaultdict(set))
