"""Output rows that are equal in every column: nothing tells them apart, and the answer says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import lineage_core as lc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_one_of_two_equal_rows_is_answered_with_the_other(
    spark: SparkSession, tmp_path: Path
) -> None:
    store = lc.open_store(str(tmp_path / "store"))
    rows = [(1, "a", None), (2, "a", None), (3, "b", 1.5)]
    frame = spark.createDataFrame(rows, "id int, name string, x double")
    frame.coalesce(1).write.parquet(str(tmp_path / "in"))
    read = spark.read.parquet(str(tmp_path / "in"))
    with store.capture(spark, job="twins"):
        read.select("name", "x").coalesce(1).write.parquet(str(tmp_path / "out"))
    written = spark.read.parquet(str(tmp_path / "out")).collect()
    twin, single = [row["name"] for row in written].index("a"), 2
    assert written[single]["name"] == "b"

    (source,) = store.backward(str(tmp_path / "out"), rids=[twin]).sources
    assert source.to_arrow(["id"]).column("id").to_pylist() == [1, 2]
    assert source.precision == "superset" and "equal" in source.reason
    (source,) = store.backward(str(tmp_path / "out"), rids=[single]).sources
    assert source.precision == "exact" and source.count() == 1
    # Both rows, or a condition that cannot tell them apart: nothing too much is answered.
    for question in ({"rids": [0, 1]}, {"where": "name = 'a'"}, {"rows": [{"name": "a"}]}):
        (source,) = store.backward(str(tmp_path / "out"), **question).sources
        assert source.precision == "exact" and source.count() == 2


def test_rows_of_groups_have_no_twins(spark: SparkSession, tmp_path: Path) -> None:
    store = lc.open_store(str(tmp_path / "store"))
    spark.range(10).selectExpr("id % 3 k", "id").coalesce(1).write.parquet(str(tmp_path / "in"))
    read = spark.read.parquet(str(tmp_path / "in"))
    with store.capture(spark, job="groups"):
        read.groupBy("k").count().coalesce(1).write.parquet(str(tmp_path / "out"))
    for rid in range(3):
        (source,) = store.backward(str(tmp_path / "out"), rids=[rid]).sources
        assert source.precision == "exact" and source.count() in (3, 4)
