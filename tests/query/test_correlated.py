"""Correlated subqueries that Spark computes for the distinct values of the outer rows.

These values are handed over and have no lineage: an outer row with the same value is another row.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

import lineage_core as lc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row: TypeAlias = tuple[int, int | None, int]
Made: TypeAlias = tuple[lc.LineageStore, Path]

# id, k, v
OUTER: list[Row] = [(1, 1, 4), (2, 1, 4), (3, 2, 5), (4, None, 6), (5, 2, 1), (6, 7, 5), (7, 1, 9)]
INNER: list[Row] = [(11, 1, 3), (12, 1, 5), (13, 2, 5), (14, None, 1), (15, 4, 2), (16, 1, 5)]

Matches: TypeAlias = Callable[[Row, Row], bool]


def equal(outer: Row, inner: Row) -> bool:
    return outer[1] is not None and outer[1] == inner[1]


def below(outer: Row, inner: Row) -> bool:
    return outer[1] is not None and inner[1] is not None and inner[1] < outer[1]


def equal_and_greater(outer: Row, inner: Row) -> bool:
    return equal(outer, inner) and inner[2] > outer[2]


MAX = "lateral (select max(v) m from inners i where i.k = o.k) z"
CASES: list[tuple[str, Matches]] = [
    (f"select o.id, z.m from outers o, {MAX}", equal),
    (f"select o.id, z.m from outers o, {MAX} where o.v > 1", equal),
    ("select o.id, (select max(v) from inners i where i.k < o.k) m from outers o", below),
    ("select o.id, (select count(*) from inners i where i.k < o.k) m from outers o", below),
    ("select o.id, (select count(*) from inners i where i.k = o.k) m from outers o", equal),
    (
        "select o.id, z.m from outers o left join lateral "
        "(select max(v) m, count(*) c from inners i where i.k = o.k and i.v > o.v) z",
        equal_and_greater,
    ),
]


@pytest.fixture
def made(spark: SparkSession, tmp_path: Path) -> Made:
    for name, rows in (("outers", OUTER), ("inners", INNER)):
        data = spark.createDataFrame(rows, "id int, k int, v int").coalesce(1)
        data.write.parquet(str(tmp_path / name))
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    return lc.open_store(str(tmp_path / "store")), tmp_path


def write(made: Made, spark: SparkSession, query: str) -> None:
    store, folder = made
    with store.capture(spark, job="correlated"):
        spark.sql(query).coalesce(1).write.parquet(str(folder / "out"))


def lineage(made: Made, condition: str, strategy: str) -> dict[str, tuple[str, set[int]]]:
    store, folder = made
    answer = store.backward(str(folder / "out"), condition, strategy=strategy)
    return {
        Path(source.dataset).name: (
            str(source.precision),
            set(source.to_arrow(["id"]).column("id").to_pylist()),
        )
        for source in answer.sources
    }


@pytest.mark.parametrize(("query", "matches"), CASES, ids=range(len(CASES)))
def test_a_row_is_made_of_itself_and_of_what_was_found_for_it(
    made: Made, spark: SparkSession, query: str, matches: Matches
) -> None:
    write(made, spark, query)
    for row in OUTER:
        if "o.v > 1" in query and row[2] <= 1:
            continue
        found = {inner[0] for inner in INNER if matches(row, inner)}
        for strategy in ("auto", "replay"):
            assert lineage(made, f"id = {row[0]}", strategy) == {
                "outers": ("exact", {row[0]}),
                "inners": ("exact", found),
            }, (row, strategy)


def test_iterative_stays_a_superset_of_it(made: Made, spark: SparkSession) -> None:
    write(made, spark, CASES[0][0])
    found = lineage(made, "id = 1", "iterative")
    assert {1} <= found["outers"][1] and {11, 12, 16} <= found["inners"][1]


def test_distinct_values_that_the_user_joins_with_are_rows_of_their_own(
    made: Made, spark: SparkSession
) -> None:
    query = (
        "select o.id, d.k from outers o join (select distinct k from outers) d on o.k <=> d.k"
    )
    write(made, spark, query)
    assert lineage(made, "id = 1", "auto") == {"outers": ("exact", {1, 2, 7})}
    assert lineage(made, "id = 4", "auto") == {"outers": ("exact", {4})}
