"""Groups by what clocks show: exact in the pipeline's time zone, wherever the question is asked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

import lineage_core as lc
from tests.sessions import configured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPRING, AUTUMN = datetime(2026, 3, 28, 21, tzinfo=UTC), datetime(2026, 10, 25, 0, tzinfo=UTC)
ROWS = [
    *((i, SPRING + timedelta(minutes=17 * i)) for i in range(30)),
    *((100 + i, AUTUMN + timedelta(minutes=17 * i)) for i in range(15)),
]

CASES: list[tuple[str, Callable[[datetime], object]]] = [
    ("to_date(ts)", lambda shown: shown.date()),
    ("hour(ts)", lambda shown: shown.hour),
    ("year(ts) * 100 + month(ts)", lambda shown: shown.year * 100 + shown.month),
]


@pytest.mark.parametrize(
    ("zone", "engine"),
    [("UTC", "duckdb"), ("Europe/Copenhagen", "spark"), ("America/Havana", "spark")],
)
def test_groups_are_those_of_the_pipelines_clock(
    spark: SparkSession, tmp_path: Path, zone: str, engine: str
) -> None:
    data = str(tmp_path / "data")
    spark.createDataFrame(ROWS, "id int, ts timestamp").coalesce(1).write.parquet(data)
    spark.read.parquet(data).createOrReplaceTempView("moments")
    store = lc.open_store(str(tmp_path / "store"))
    for number, (key, shows) in enumerate(CASES):
        out = str(tmp_path / f"out{number}")
        with configured(spark, zone=zone), store.capture(spark, job="zones"):
            grouped = spark.sql(f"select {key} as k, count(*) as n from moments group by {key}")
            grouped.coalesce(1).write.parquet(out)
        with configured(spark, zone="Asia/Tokyo"):
            for rid, row in enumerate(spark.read.parquet(out).collect()):
                (source,) = store.backward(out, rids=[rid], engine=engine).sources
                assert source.precision == "exact"
                found = source.to_arrow(["id"]).column("id").to_pylist()
                local = ((id, moment.astimezone(ZoneInfo(zone))) for id, moment in ROWS)
                assert sorted(found) == [id for id, shown in local if shows(shown) == row["k"]]


def test_other_zones_than_utc_are_refused_by_duckdb(spark: SparkSession, tmp_path: Path) -> None:
    data, out = str(tmp_path / "data"), str(tmp_path / "out")
    spark.createDataFrame(ROWS, "id int, ts timestamp").write.parquet(data)
    store = lc.open_store(str(tmp_path / "store"))
    with configured(spark, zone="Europe/Copenhagen"), store.capture(spark, job="zones"):
        read = spark.read.parquet(data)
        read.selectExpr("to_date(ts) as day").distinct().write.parquet(out)
    with pytest.raises(lc.UnsupportedError, match="other time zones than UTC") as caught:
        store.backward(out, engine="duckdb").sources[0].count()
    assert "engine='spark'" in str(caught.value)
