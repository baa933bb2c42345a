"""Rows made of arrays, maps and structs: exact, by Spark, against the rows in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

import lineage_core as lc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row: TypeAlias = tuple[Any, ...]

SCHEMA = (
    "id int, s string, a array<string>, m map<string,int>, st struct<f:int,g:string>, "
    "ast array<struct<f:int,g:string>>"
)
ROWS: list[Row] = [
    (1, "a,b;c", ["x", "y", "x", None], {"k": 1, "z": 2}, (5, "p"), [(1, "q"), None, (3, "q")]),
    (2, "", [], {"k": None}, (None, None), []),
    (3, "c", ["k", "y"], {}, (0, ""), [(None, "r"), (3, "r")]),
    (4, None, None, None, None, None),
    (5, "b,b", ["y"], {"k": 1}, (5, ""), [(3, None)]),
]

Made: TypeAlias = Callable[[Row], list[Row]]


def exploded(row: Row) -> list[Row]:
    return [(row[0], e) for e in row[2] or ()]


def outer(row: Row) -> list[Row]:
    return [(row[0], e) for e in row[2] or [None]]


def pieces(row: Row) -> list[Row]:
    found = [] if row[1] is None else row[1].replace(";", ",").split(",")
    return [(p, e) for p, e in enumerate(found) if e]


def entries(row: Row) -> list[Row]:
    return list((row[3] or {}).items())


def inlined(row: Row) -> list[Row]:
    return [e or (None, None) for e in row[5] or ()]


def fields(row: Row) -> list[Row]:
    return [(e and e[0],) for e in row[5] or ()]


CASES: list[tuple[str, Made]] = [
    ("select id, e from nested lateral view explode(a) v as e", exploded),
    ("select id, e from nested lateral view outer explode(a) v as e", outer),
    (
        "select p, e from nested lateral view posexplode(split(s, '[,;]')) v as p, e where e <> ''",
        pieces,
    ),
    ("select k, n from nested lateral view explode(m) v as k, n", entries),
    ("select f, g from nested lateral view inline(ast) v as f, g", inlined),
    ("select e.f from nested lateral view explode(ast) v as e", fields),
    ("select st.f from nested", lambda row: [(row[4] and row[4][0],)]),
    ("select st.f from nested group by st.f", lambda row: [(row[4] and row[4][0],)]),
    (
        "select e from nested lateral view explode(a) v as e group by e",
        lambda row: [(e,) for e in row[2] or ()],
    ),
    ("select id from nested where size(a) > 1", lambda row: [(row[0],)] * (len(row[2] or ()) > 1)),
    (
        "select m['k'] as k from nested where array_contains(a, 'y')",
        lambda row: [((row[3] or {}).get("k"),)] * ("y" in (row[2] or ())),
    ),
]


@pytest.mark.parametrize(("query", "made"), CASES, ids=[query for query, _ in CASES])
@pytest.mark.parametrize("materialize", ["auto", "inject"])
def test_rows_of_nested_values(
    spark: SparkSession, tmp_path: Path, query: str, made: Made, materialize: str
) -> None:
    data, out = str(tmp_path / "data"), str(tmp_path / "out")
    spark.createDataFrame(ROWS, SCHEMA).coalesce(1).write.parquet(data)
    spark.read.parquet(data).createOrReplaceTempView("nested")
    store = lc.open_store(str(tmp_path / "store"))
    with store.capture(spark, job="nested", materialize=materialize):
        spark.sql(query).coalesce(1).write.parquet(out)
    written = [tuple(row) for row in spark.read.parquet(out).collect()]
    assert sorted(map(repr, set(written))) == sorted({repr(r) for row in ROWS for r in made(row)})
    for rid, row in enumerate(written):
        (source,) = store.backward(out, rids=[rid]).sources
        reasons = {reason for reason in source.reasons if "in every column" not in reason}
        assert reasons == set()
        expected = {mine[0] for mine in ROWS if row in made(mine)}
        assert set(source.to_arrow(["id"]).column("id").to_pylist()) == expected, row
