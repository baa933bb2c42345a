"""Questions about columns whose values compare in ways of their own give Spark's answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lineage_core as lc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = """
    select * from values
    (1, cast('NaN' as double), cast('NaN' as float), 1.10, 1.1000, timestamp '2026-03-29 01:30:00'),
    (2, -0.0d, float(-0.0), 1.11, 1.1100, timestamp '2026-03-29 03:30:00'),
    (3, 0.0d, float(0.0), -2.50, -2.5001, timestamp '1969-12-31 23:59:59.999999'),
    (4, cast('Infinity' as double), float(1.5), null, 12345678.1234, null),
    (5, null, null, 99999999.99, null, timestamp '2026-10-25 02:30:00')
    as t(id, x, f, d2, d4, at)
"""
CONDITIONS = (
    "x = 0", "x = -0.0", "x > 1e308", "x >= 'Infinity'", "NOT x < 5", "x <> 0", "x IS NULL",
    "x IN (0.0, 7)", "f = 1.5", "f = 0", "f > 1.5",
    "d2 = 1.1", "d2 = 1.100", "d2 < 1.105", "d4 = 1.1", "d4 > -2.50009",
    "d2 IN (1.11, 99999999.99)", "d4 = 12345678.1234", "d2 > 99999999.989",
    "at < TIMESTAMP '1970-01-01 00:00:00Z'", "at = TIMESTAMP '2026-03-29 03:30:00+02:00'",
    "at BETWEEN TIMESTAMP '2026-03-29 00:00:00Z' AND TIMESTAMP '2026-10-26 00:00:00Z'",
)  # fmt: skip


@pytest.fixture(scope="module", params=["UTC", "Europe/Copenhagen"])
def copied(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[lc.LineageStore, str]]:
    folder: Path = tmp_path_factory.mktemp("types")
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", request.param)
    spark.sql(ROWS).coalesce(1).write.parquet(str(folder / "in"))
    store = lc.open_store(str(folder / "store"))
    with store.capture(spark, job="copy"):
        spark.read.parquet(str(folder / "in")).write.parquet(str(folder / "out"))
    yield store, str(folder / "out")
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_conditions_select_what_spark_selects(
    copied: tuple[lc.LineageStore, str], spark: SparkSession, engine: str
) -> None:
    store, out = copied
    written = spark.read.parquet(out)
    for condition in CONDITIONS:
        if engine == "spark" and not condition.startswith(("x =", "f =", "d4", "at")):
            continue  # its comparisons are Spark's own: a few are enough
        wanted = {row["id"] for row in written.where(condition).collect()}
        (source,) = store.backward(out, where=condition, engine=engine).sources
        found = set(source.to_arrow(["id"]).column("id").to_pylist())
        assert found == wanted, condition
        assert source.precision == "exact"


def test_char_columns_compare_as_spark_pads_them(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("create table lineage_chars (id int, c char(5), v varchar(5)) using parquet")
    try:
        values = "(1, 'ab', 'ab'), (2, 'ab ', 'ab '), (3, 'b', 'b')"
        spark.sql(f"insert into lineage_chars values {values}")
        store, out = lc.open_store(str(tmp_path / "store")), str(tmp_path / "out")
        with store.capture(spark, job="chars"):
            spark.table("lineage_chars").write.parquet(out)
        written = spark.read.parquet(out)
        for condition in (
            "c = 'ab'",
            "c = 'ab      '",
            "c <> 'abcdefg'",
            "c IN ('b', 'x')",
            "c < 'b'",
            "c LIKE 'ab%'",
            "v = 'ab'",
            "v = 'ab '",
        ):
            wanted = {row["id"] for row in written.where(condition).collect()}
            (source,) = store.backward(out, where=condition).sources
            assert set(source.to_arrow(["id"]).column("id").to_pylist()) == wanted, condition
    finally:
        spark.sql("drop table lineage_chars")


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_rows_by_timestamps_without_zone_are_found_in_any_zone(
    spark: SparkSession, tmp_path: Path, engine: str
) -> None:
    """02:30 on the night when clocks change is a time like any other, where there is no zone."""
    values = [datetime(2026, 3, 29, 2, 30), datetime(1, 1, 1), datetime(2026, 10, 25, 2, 30)]
    table = pa.table({"id": [1, 2, 3], "n": pa.array(values, pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "in.parquet")
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "Europe/Copenhagen")
    try:
        store = lc.open_store(str(tmp_path / "store"))
        with store.capture(spark, job="copy"):
            spark.read.parquet(str(tmp_path / "in.parquet")).write.parquet(str(tmp_path / "out"))
        for id, moment in zip([1, 2, 3], values, strict=True):
            answer = store.backward(str(tmp_path / "out"), rows=[{"n": moment}], engine=engine)
            (source,) = answer.sources
            assert source.to_arrow(["id"]).column("id").to_pylist() == [id]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
