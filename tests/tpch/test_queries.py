"""The query texts mean the same in Spark and in DuckDB: one text for the product and the oracle."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark_tpch(spark: SparkSession, tpch_001: Path) -> Iterator[SparkSession]:
    tables = sorted(tpch_001.glob("*.parquet"))
    for file in tables:
        spark.read.parquet(str(file)).createOrReplaceTempView(file.stem)
    yield spark
    for file in tables:
        spark.catalog.dropTempView(file.stem)


def _agree(spark_value: Any, duckdb_value: Any) -> bool:
    """Equal, but for DuckDB's doubles where Spark has decimals of six places (averages, ratios)."""
    if isinstance(duckdb_value, float) and spark_value is not None:
        return math.isclose(spark_value, duckdb_value, rel_tol=1e-12, abs_tol=1e-6)
    return bool(spark_value == duckdb_value)


@pytest.mark.parametrize("query", range(1, 23))
def test_spark_and_duckdb_return_the_same_rows(
    query: int,
    spark_tpch: SparkSession,
    tpch_001: Path,
    tpch_query: Callable[[int], str],
    oracle: ModuleType,
) -> None:
    text = tpch_query(query)
    result = spark_tpch.sql(text)
    reference = oracle.connect(tpch_001).sql(text)
    actual = [tuple(row) for row in result.collect()]
    expected = reference.fetchall()

    assert result.columns == reference.columns
    assert len(actual) == len(expected) > 0
    for mine, theirs in zip(actual, expected, strict=True):
        assert all(map(_agree, mine, theirs)), (mine, theirs)
