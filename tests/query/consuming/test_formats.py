"""Queries over runs that Spark captured: sources whose rows have no ids, filters that blur."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lineage_core as lc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("format", ["csv", "json"])
def test_rows_without_ids(spark: SparkSession, tmp_path: Path, format: str) -> None:
    schema = "k long, name string"
    rows = [(1, "a"), (1, "a"), (2, None), (3, "c")]
    source, out = str(tmp_path / "source"), str(tmp_path / "out")
    spark.createDataFrame(rows, schema).coalesce(1).write.format(format).save(source)
    store = lc.open_store(str(tmp_path / "store"))
    with store.capture(spark, job="count"):
        read = spark.read.schema(schema).format(format).load(source)
        read.groupBy("k").count().coalesce(1).write.parquet(out)
    asked = f"backward('{out}', 'source', where => $w)"
    found = store.query(f"select name, count(*) as n from {asked} group by 1", {"w": "k < 3"})
    names = {row["name"]: row["n"] for row in found.to_arrow().to_pylist()}
    assert found.precision == "exact" and names == {"a": 2, None: 1}
    assert (
        store.query(f"select count(*) as n from {asked}", {"w": "k = 1"}).to_arrow()["n"][0].as_py()
        == 2
    )
    with pytest.raises(lc.PredicateError, match="no column 'rid'"):
        store.query(f"select rid from {asked}", {"w": "k = 1"})
    onward = store.query(f"select \"count\" from forward('{source}', where => 'k = 1')")
    assert onward.to_arrow().to_pylist() == [{"count": 2}]


def test_an_opaque_step_is_a_superset(spark: SparkSession, tmp_path: Path) -> None:
    source, out = str(tmp_path / "source"), str(tmp_path / "out")
    spark.range(5).coalesce(1).write.parquet(source)
    store = lc.open_store(str(tmp_path / "store"))
    with store.capture(spark, job="opaque"):
        mapped = spark.read.parquet(source).mapInArrow(lambda batches: batches, "id long")
        mapped.coalesce(1).write.parquet(out)
    found = store.query(f"select count(*) as n from backward('{out}', where => 'id = 1')")
    assert found.precision == "superset"
    assert found.to_arrow().to_pylist() == [{"n": 5}]
    assert "upper bounds" in found.reason
