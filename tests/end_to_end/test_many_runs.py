"""Three stages over several dates, walked row by row, against an oracle in plain Python.

Each day `ingest` appends the day's raw rows to `bronze`; two transforms make `clean`, of which each
run replaces the partitions of its day, and `rates/day=<n>`, a folder of its own; `report` joins
them over all days. The oracle keeps, next to every row, the ids of the raw rows it was made of; it
reads no file and knows nothing of lineage_core.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import lineage_core as lc

RAW = {
    1: [(101, "a", 10), (102, "a", 5), (103, "b", -1), (104, "b", 7)],
    2: [(201, "a", 3), (202, "c", 4), (203, "c", 4), (204, "b", 0)],
    3: [(301, "b", 9), (302, "a", 1)],
}
"""Day: id, key and amount of the raw rows."""

FACTORS = {1: [("a", 2), ("b", 3)], 2: [("a", 1), ("c", 5)], 3: [("b", 1), ("b", 2)]}
"""Day: key and part of the rate, which is their sum."""

Rows = set[tuple[Any, ...]]


@dataclass
class Lake:
    """The pipeline: each method is a task, run under its own capture."""

    spark: SparkSession
    folder: Path
    store: lc.LineageStore
    runs: dict[tuple[str, int], str] = field(default_factory=dict)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def captured(self, task: str, day: int, job: Callable[[SparkSession], None]) -> None:
        tags = {
            "dag_id": "daily",
            "task_id": task,
            "run_id": f"day-{day}",
            "logical_date": f"2026-01-0{day}T00:00:00+00:00",
        }
        with self.store.capture(self.spark, job=f"daily.{task}", tags=tags) as run:
            job(self.spark)
        assert run.record is not None and not run.record.uncaptured
        assert [output.uncaptured for output in run.outputs] == [""]
        self.runs[task, day] = run.id

    def ingest(self, day: int) -> None:
        def job(spark: SparkSession) -> None:
            raw = spark.read.parquet(self.path(f"raw/{day}")).withColumn("day", f.lit(day))
            raw.coalesce(1).write.mode("append").parquet(self.path("bronze"))

        self.captured("ingest", day, job)

    def clean(self, day: int) -> None:
        def job(spark: SparkSession) -> None:
            rows = spark.read.parquet(self.path("bronze")).where(
                (f.col("day") == day) & (f.col("amount") > 0)
            )
            writer = rows.coalesce(1).write.mode("overwrite").partitionBy("day")
            writer.option("partitionOverwriteMode", "dynamic").parquet(self.path("clean"))

        self.captured("clean", day, job)

    def rates(self, day: int) -> None:
        def job(spark: SparkSession) -> None:
            parts = spark.read.parquet(self.path(f"factors/{day}"))
            rate = parts.groupBy("key").agg(f.sum("part").alias("rate"))
            out = self.path(f"rates/day={day}")
            rate.coalesce(1).write.mode("overwrite").parquet(out)

        self.captured("rates", day, job)

    def report(self, day: int) -> None:
        def job(spark: SparkSession) -> None:
            clean = spark.read.parquet(self.path("clean"))
            rates = spark.read.parquet(self.path("rates"))
            self.totals(clean, rates).write.mode("overwrite").parquet(self.path("report"))

        self.captured("report", day, job)

    @staticmethod
    def totals(clean: DataFrame, rates: DataFrame) -> DataFrame:
        joined = clean.join(rates, ["key", "day"])
        total = f.sum(f.col("amount") * f.col("rate")).alias("total")
        return joined.groupBy("key").agg(total).coalesce(1)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Three days; day 2's `clean` was run twice, day 3's `rates` in another session."""
    folder = tmp_path_factory.mktemp("many") / "the lake"
    for day, rows in RAW.items():
        _write(folder / f"raw/{day}", {"id": 0, "key": 1, "amount": 2}, rows)
        _write(folder / f"factors/{day}", {"key": 0, "part": 1}, FACTORS[day])
    lake = Lake(spark, folder, lc.open_store(str(folder / "lineage")))
    for day in RAW:
        lake.ingest(day)
        lake.clean(day)
        if day == 2:
            lake.clean(day)
        session = spark.newSession() if day == 3 else spark
        Lake(session, folder, lake.store, lake.runs).rates(day)
        lake.report(day)
    return lake


def _write(folder: Path, columns: dict[str, int], rows: Iterable[tuple[Any, ...]]) -> None:
    folder.mkdir(parents=True)
    rows = list(rows)
    table = pa.table({name: [row[i] for row in rows] for name, i in columns.items()})
    pq.write_table(table, folder / "data.parquet")


def _expected(key: str, days: Iterable[int]) -> dict[str, Rows]:
    """Return, by hand, the rows that the report's row of `key` comes from, by dataset."""
    found: dict[str, Rows] = defaultdict(set)
    for day in days:
        factors = {row for row in FACTORS[day] if row[0] == key}
        kept = {row for row in RAW[day] if row[1] == key and row[2] > 0}
        if kept and factors:
            found[f"raw/{day}"] |= kept
            found[f"factors/{day}"] |= factors
    return dict(found)


def _rows(answers: Iterable[Any], columns: list[str] | None = None) -> dict[str, Rows]:
    """Return the rows of an answer by dataset, of all its snapshots; those without any left out."""
    found: dict[str, Rows] = {}
    for answer in answers:
        name = answer.dataset.partition("/the%20lake/")[2]
        rows = {tuple(row.values()) for row in answer.to_arrow(columns).to_pylist()}
        if rows:
            found.setdefault(name, set()).update(rows)
    return found


@pytest.mark.parametrize("key", ["a", "b", "c"])
def test_a_row_of_the_report_goes_back_to_the_raw_rows_of_all_days(lake: Lake, key: str) -> None:
    answer = lake.store.backward(lake.path("report"), where=f"key = '{key}'")
    assert {s.precision for s in answer.sources} == {"exact"}
    assert _rows(answer.sources) == _expected(key, RAW)


def test_hop_by_hop(lake: Lake) -> None:
    near = lake.store.backward(lake.path("report"), where="key = 'b'", hops=1)
    assert _rows(near.sources) == {
        "clean": {(104, "b", 7, 1), (301, "b", 9, 3)},
        "rates": {("b", 3, 1), ("b", 3, 3)},
    }
    further = lake.store.backward(lake.path("report"), where="key = 'b'", hops=2)
    assert _rows(further.sources) == {
        "bronze": {(104, "b", 7, 1), (301, "b", 9, 3)},
        "factors/1": {("b", 3)},
        "factors/3": {("b", 1), ("b", 2)},
    }
    assert _rows(lake.store.backward(lake.path("report"), where="key = 'b'", hops=3).sources) == (
        _expected("b", RAW)
    )


def test_a_raw_row_goes_forward_to_what_is_there_now(lake: Lake) -> None:
    for day, rows in RAW.items():
        for id, key, amount in rows:
            found = lake.store.forward(lake.path(f"raw/{day}"), where=f"id = {id}")
            totals = {key} if amount > 0 and key in dict(FACTORS[day]) else set()
            assert _rows(found.outputs, ["key"]) == (
                {"report": {(key,) for key in totals}} if totals else {}
            ), id


def test_a_raw_row_goes_forward_hop_by_hop(lake: Lake) -> None:
    near = lake.store.forward(lake.path("raw/2"), where="id >= 203", hops=1)
    assert _rows(near.outputs) == {"bronze": {(203, "c", 4, 2), (204, "b", 0, 2)}}
    next_ = lake.store.forward(lake.path("raw/2"), where="id >= 203", hops=2)
    assert _rows(next_.outputs) == {"clean": {(203, "c", 4, 2)}}
    rate = lake.store.forward(lake.path("factors/3"), where="part = 2")
    assert _rows(rate.outputs, ["key"]) == {"report": {("b",)}}


def test_forward_is_the_inverse_of_backward(lake: Lake) -> None:
    back = lake.store.backward(lake.path("report"))
    pairs = {
        (answer.dataset, source) for answer in back.sources for source in answer.rids().to_pylist()
    }
    for answer in back.sources:
        ahead = lake.store.forward(answer.dataset)["report"].pairs()
        assert ahead.sort_by("in_rid").to_pylist() == answer.pairs().sort_by("in_rid").to_pylist()
    assert pairs


def test_a_partition_replaced_is_answered_by_the_run_that_replaced_it(lake: Lake) -> None:
    answer = lake.store.backward(lake.path("clean"), hops=1)
    found = [row["id"] for bronze in answer.sources for row in bronze.to_arrow().to_pylist()]
    kept = [id for rows in RAW.values() for id, _, amount in rows if amount > 0]
    assert sorted(found) == kept
    run = lake.store.find_run(dag="daily", task="clean", logical_date=_date(2))
    assert run == lake.runs["clean", 2]
    (second,) = lake.store.backward(lake.path("clean"), run=run, hops=1).sources
    assert {row["id"] for row in second.to_arrow().to_pylist()} == {201, 202, 203}


def test_an_older_report_was_overwritten(lake: Lake) -> None:
    """The files of day 1's report are gone: no row of today's may answer for them."""
    run = lake.store.find_run(dag="daily", task="report", logical_date=_date(1))
    with pytest.raises(lc.ChangedError, match=r"report/part-.*removed"):
        lake.store.backward(lake.path("report"), where="key = 'a'", run=run)


def test_a_source_overwritten_between_runs_is_an_error_that_names_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = _small(spark, tmp_path)
    _write(tmp_path / "lake/new", {"id": 0, "key": 1, "amount": 2}, [(9, "z", 9)])
    (tmp_path / "lake/new/data.parquet").replace(tmp_path / "lake/raw/1/data.parquet")
    with pytest.raises(lc.ChangedError, match=r"raw/1/data.parquet"):
        _rows(lake.store.backward(lake.path("clean")).sources)
    with pytest.raises(lc.ChangedError, match=r"raw/1/data.parquet"):
        _rows(lake.store.forward(lake.path("raw/1")).outputs)


def test_files_that_nobody_captured_are_a_gap(spark: SparkSession, tmp_path: Path) -> None:
    lake = _small(spark, tmp_path)
    extra = spark.createDataFrame([(7, "x", 70, 1)], "id long, key string, amount long, day int")
    extra.coalesce(1).write.mode("append").parquet(lake.path("bronze"))
    lake.clean(1)
    answer = lake.store.backward(lake.path("clean"))
    by_name = {s.dataset.rpartition("/lake/")[2]: s for s in answer.sources}
    assert set(by_name) == {"raw/1", "bronze"}
    assert by_name["raw/1"].precision == "exact" and by_name["raw/1"].count() == 3
    gap = by_name["bronze"]
    assert gap.precision == "unknown" and "by no captured run" in gap.reason
    assert [row["id"] for row in gap.to_arrow().to_pylist()] == [7]
    known = lake.store.backward(lake.path("clean"), where="id < 7 OR id > 7")
    assert [s.precision for s in known.sources] == ["exact"]
    unknown = lake.store.backward(lake.path("clean"), where="id = 7")
    assert {s.dataset.rpartition("/")[2]: s.count() for s in unknown.sources if s.count()} == {
        "bronze": 1
    }


def test_a_replacement_that_nobody_captured_is_a_gap(spark: SparkSession, tmp_path: Path) -> None:
    lake = _small(spark, tmp_path)
    extra = spark.createDataFrame([(7, "x", 70, 1)], "id long, key string, amount long, day int")
    extra.coalesce(1).write.mode("overwrite").parquet(lake.path("bronze"))
    lake.clean(1)
    (source,) = lake.store.backward(lake.path("clean")).sources
    assert source.dataset.endswith("/bronze") and source.precision == "unknown"
    assert "by no captured run" in source.reason and source.count() == 1
    (near,) = lake.store.backward(lake.path("clean"), hops=1).sources
    assert near.precision == "exact"


def test_a_hop_recorded_afterwards_closes_the_gap(spark: SparkSession, tmp_path: Path) -> None:
    lake = _small(spark, tmp_path)
    out = lake.path("summary")
    clean = spark.read.parquet(lake.path("clean"))
    query = clean.groupBy("key").agg(f.sum("amount").alias("total"))
    query.coalesce(1).write.parquet(out)
    with pytest.raises(lc.NotFoundError):
        lake.store.backward(out)
    lake.store.backfill(spark, job="summary", outputs={out: query})
    (source,) = lake.store.backward(out, where="key = 'a'").sources
    assert source.dataset.endswith("/raw/1") and source.precision == "exact"
    assert {row["id"] for row in source.to_arrow().to_pylist()} == {101, 102}
    (ahead,) = lake.store.forward(lake.path("raw/1"), where="id = 104").outputs
    assert ahead.to_arrow().to_pylist() == [{"key": "b", "total": 7}]


def _small(spark: SparkSession, folder: Path) -> Lake:
    """Return a lake after ingest and transform of day 1."""
    _write(folder / "lake/raw/1", {"id": 0, "key": 1, "amount": 2}, RAW[1])
    lake = Lake(spark, folder / "lake", lc.open_store(str(folder / "lineage")))
    lake.ingest(1)
    lake.clean(1)
    return lake


def _date(day: int) -> Any:
    from datetime import UTC, datetime

    return datetime(2026, 1, day, tzinfo=UTC)
