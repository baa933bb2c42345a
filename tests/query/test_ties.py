"""Limits: exact where the order of the rows decides which are kept, and the data says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lineage_core as lc
from lineage_core.query.answer import SourceAnswer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Made = tuple[lc.LineageStore, Path]


@pytest.fixture
def made(spark: SparkSession, tmp_path: Path) -> Made:
    rows = [(1, 10, "a"), (2, 20, "b"), (3, 20, "c"), (4, 30, "d"), (5, None, "e"), (6, 5, "a")]
    frame = spark.createDataFrame(rows, "id int, v int, name string")
    frame.coalesce(1).write.parquet(str(tmp_path / "t"))
    spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("ties")
    return lc.open_store(str(tmp_path / "store")), tmp_path


def ask(made: Made, spark: SparkSession, query: str, materialize: str) -> SourceAnswer:
    store, folder = made
    with store.capture(spark, job="top", materialize=materialize):
        spark.sql(query).coalesce(1).write.mode("overwrite").parquet(str(folder / "out"))
    (source,) = store.backward(str(folder / "out"), engine="duckdb").sources
    return source


@pytest.mark.parametrize("materialize", ["auto", "inject", "never"])
@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("select v, name from ties where v is not null order by v desc limit 1", [4]),
        ("select v, name from ties order by v desc limit 3", [2, 3, 4]),  # no tie at the boundary
        ("select v, name from ties order by v desc limit 100", [1, 2, 3, 4, 5, 6]),
        ("select name from (select * from ties order by v desc limit 1)", [4]),
        ("select count(*) n from (select * from ties order by v desc limit 3)", [2, 3, 4]),
        ("select v from ties order by v desc nulls last limit 1 offset 3", [1]),
    ],
)
def test_an_order_without_ties_at_the_boundary_is_exact(
    made: Made, spark: SparkSession, query: str, ids: list[int], materialize: str
) -> None:
    source = ask(made, spark, query, materialize)
    assert source.precision == "exact", source.reason
    assert sorted(source.to_arrow(["id"]).column("id").to_pylist()) == ids


@pytest.mark.parametrize("materialize", ["auto", "inject", "never"])
@pytest.mark.parametrize(
    "query",
    [
        "select v from ties order by v desc limit 2",
        "select name from (select * from ties order by v desc limit 2)",
        "select count(*) n from (select * from ties order by v desc limit 2)",
        "select v from ties order by v desc limit 1 offset 2",
    ],
)
def test_ties_at_the_boundary_are_a_superset_that_says_so(
    made: Made, spark: SparkSession, query: str, materialize: str
) -> None:
    """Rows 2 and 3 tie: nobody knows which of them was kept, so both may have been."""
    source = ask(made, spark, query, materialize)
    assert (source.precision == "superset" and "imit" in source.reason) or "ffset" in source.reason
    found = set(source.to_arrow(["id"]).column("id").to_pylist())
    assert found & {2, 3}, "whichever it was"
