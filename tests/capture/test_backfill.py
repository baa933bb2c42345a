"""Past pipelines recorded afterwards: nothing runs, and nothing is recorded that cannot be true."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import lineage_core as lc
from lineage_core.capture.backfill import call
from lineage_core.capture.statement import plan
from lineage_core.errors import PredicateError

PER_CUSTOMER = "SELECT o_cust, sum(o_price) AS total FROM orders GROUP BY o_cust"


@pytest.fixture
def past(tables: SparkSession, folder: Path, tmp_path: Path) -> Path:
    """The folder after a job that nobody captured: `totals` of `orders`, some time ago."""
    tables.sql(PER_CUSTOMER).coalesce(1).write.parquet(str(folder / "totals"))
    _touch(folder / "orders", 1_000)
    _touch(folder / "customers", 1_000)
    _touch(folder / "totals", 2_000)
    _view(tables, folder)
    return folder


def _view(spark: SparkSession, folder: Path) -> None:
    """Make the session look at the files anew."""
    spark.read.parquet(str(folder / "orders")).createOrReplaceTempView("orders")


@pytest.fixture
def opened(tmp_path: Path) -> lc.LineageStore:
    return lc.open_store(str(tmp_path / "a store"))


def _touch(folder: Path, seconds: int) -> None:
    for file in folder.rglob("*.parquet"):
        os.utime(file, (seconds, seconds))


@contextmanager
def _no_jobs(spark: SparkSession) -> Iterator[None]:
    """Fail if Spark starts a job meanwhile."""
    tracker = spark.sparkContext.statusTracker()
    group = str(uuid.uuid4())
    spark.sparkContext.setJobGroup(group, "backfill")
    try:
        yield
        assert list(tracker.getJobIdsForGroup(group)) == []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # null unsets it
    before = len(tracker.getJobIdsForGroup(None))
    spark.range(3).count()
    assert len(tracker.getJobIdsForGroup(None)) > before  # jobs are seen at all


def test_a_past_job_is_a_run_that_answers(
    tables: SparkSession, past: Path, opened: lc.LineageStore
) -> None:
    df = tables.sql(PER_CUSTOMER)
    with _no_jobs(tables):
        run = opened.backfill(
            tables, job="totals", outputs={str(past / "totals"): df}, tags={"dag_id": "shop"}
        )
    assert opened.run(run.id) == run
    assert run.tags == (("backfilled", "true"), ("dag_id", "shop"))
    assert run.ended == run.started == datetime.fromtimestamp(2_000, UTC).isoformat()
    (output,) = run.outputs
    assert (output.rows, output.mode, output.uncaptured) == (5, "overwrite", "")
    assert [source.dataset.rpartition("/")[2] for source in output.inputs] == ["orders"]
    assert [summary.id for summary in opened.runs(tag=("backfilled", "true"))] == [run.id]
    answer = opened.backward(str(past / "totals"), where="o_cust = 1")["orders"]
    assert answer.to_arrow(["o_id"]).to_pylist() == [{"o_id": 2}, {"o_id": 3}]
    assert answer.precision == "exact"
    (after,) = opened.forward(str(past / "orders"), where="o_id = 3").outputs
    assert after.to_arrow().to_pylist() == [{"o_cust": 1, "total": 50.0}]


def test_sql_is_planned_and_not_run(
    tables: SparkSession, past: Path, opened: lc.LineageStore
) -> None:
    tables.table("orders")
    with _no_jobs(tables):
        run = opened.backfill(tables, job="j", outputs={str(past / "totals"): PER_CUSTOMER})
    frame = opened.backfill(
        tables, job="j", outputs={str(past / "totals"): tables.sql(PER_CUSTOMER)}
    )
    assert run.id != frame.id
    assert (run.outputs[0].plan, run.outputs[0].program) == (
        frame.outputs[0].plan,
        frame.outputs[0].program,
    )


def test_the_time_of_a_past_run_is_found_by_as_of(
    tables: SparkSession, past: Path, opened: lc.LineageStore
) -> None:
    out = str(past / "totals")
    early = datetime(2020, 1, 1, tzinfo=UTC)
    run = opened.backfill(tables, job="j", outputs={out: PER_CUSTOMER}, at=early)
    assert datetime.fromisoformat(run.ended) == early
    assert opened.backward(out, as_of=early)["orders"].count() == 8
    with pytest.raises(lc.NotFoundError):
        opened.backward(out, as_of=datetime(2019, 12, 31, tzinfo=UTC))
    with pytest.raises(lc.UnsupportedError, match="time zone"):
        opened.backfill(tables, job="j", outputs={out: PER_CUSTOMER}, at=datetime(2020, 1, 1))


def test_partitioned_outputs_and_several_of_them(
    tables: SparkSession, past: Path, opened: lc.LineageStore
) -> None:
    flat = tables.table("orders").select("o_id", "o_price", "o_status")
    flat.write.partitionBy("o_status").parquet(str(past / "parts"))
    outputs: dict[str, DataFrame | str] = {
        str(past / "totals"): PER_CUSTOMER,
        str(past / "parts"): flat,
    }
    run = opened.backfill(tables, job="j", outputs=outputs)
    totals, parts = run.outputs
    assert parts.snapshot is not None and parts.snapshot.partition_columns == 1
    assert [c.name for c in parts.snapshot.columns] == ["o_id", "o_price", "o_status"]
    assert totals.rows == 5 and parts.rows == 8
    assert run.ended > datetime.fromtimestamp(2_000, UTC).isoformat()  # the newest of all files
    found = opened.backward(str(past / "parts"), where="o_status IS NULL")["orders"]
    assert found.to_arrow(["o_id"]).to_pylist() == [{"o_id": 7}]


@pytest.mark.parametrize(
    ("query", "difference"),
    [
        ("SELECT o_cust FROM orders GROUP BY o_cust", "'total'"),
        ("SELECT o_cust, sum(o_price) AS total, 1 AS more FROM orders GROUP BY o_cust", "'more'"),
        ("SELECT o_cust, sum(o_price) AS Total FROM orders GROUP BY o_cust", "'total'"),
        ("SELECT o_cust, count(*) AS total FROM orders GROUP BY o_cust", "double, .* long"),
        ("SELECT int(o_cust) o_cust, o_price AS total FROM orders", "long, .* integer"),
        ("SELECT o_cust, o_price AS total, o_id AS total FROM orders", "two columns"),
    ],
)
def test_other_columns_are_named(
    tables: SparkSession, past: Path, opened: lc.LineageStore, query: str, difference: str
) -> None:
    with pytest.raises(lc.UnsupportedError, match=difference):
        opened.backfill(tables, job="j", outputs={str(past / "totals"): query})
    assert opened.runs() == []


def test_files_of_others_are_told_by_their_own_types(
    tables: SparkSession, past: Path, opened: lc.LineageStore
) -> None:
    out = past / "foreign"
    out.mkdir()
    data = {
        "d": pa.array([datetime(2020, 1, 1).date()]),
        "t": pa.array([datetime(2020, 1, 1)], pa.timestamp("ns")),
        "n": pa.array([None], pa.decimal128(9, 2)),
        "l": pa.array([[1, None]], pa.list_(pa.int32())),
        "s": pa.array(["x"]).dictionary_encode(),
    }
    pq.write_table(pa.table(data), out / "data.parquet")
    query = (
        "SELECT date'2020-01-01' d, timestamp'2020-01-01' t, CAST(o_id AS decimal(9,2)) n,"
        " array(1) l, o_status s FROM orders LIMIT 1"
    )
    assert opened.backfill(tables, job="j", outputs={str(out): query}).outputs[0].rows == 1
    with pytest.raises(lc.UnsupportedError, match=r"'n' is decimal\(9,2\)"):
        wrong = query.replace("decimal(9,2)", "decimal(9,3)")
        opened.backfill(tables, job="j", outputs={str(out): wrong})


def test_folders_named_otherwise_are_another_dataset(
    tables: SparkSession, past: Path, opened: lc.LineageStore
) -> None:
    orders = tables.table("orders")
    out = past / "dated"
    orders.select("o_id", "o_status").write.partitionBy("o_status").parquet(str(out))
    with pytest.raises(lc.UnsupportedError, match="o_status"):
        opened.backfill(tables, job="j", outputs={str(out): "SELECT o_id FROM orders"})
    pq.write_table(pa.table({"o_id": [1]}), out / "stray.parquet")
    with pytest.raises(lc.UnsupportedError, match="different ways"):
        opened.backfill(tables, job="j", outputs={str(out): orders.select("o_id", "o_status")})


def test_what_is_not_there_is_not_recorded(
    tables: SparkSession, past: Path, opened: lc.LineageStore
) -> None:
    (past / "empty").mkdir()
    (past / "empty" / "_SUCCESS").touch()
    (past / "text").mkdir()
    (past / "text" / "part-0.csv").write_text("o_cust,total\n")
    for name, error, message in (
        ("nothing", lc.NotFoundError, "nothing does not exist"),
        ("empty", lc.NotFoundError, "holds no data"),
        ("text", lc.UnsupportedError, "not a Parquet file"),
        ("orders/part-0.parquet", lc.UnsupportedError, "no folder"),
    ):
        with pytest.raises(error, match=message):
            opened.backfill(tables, job="j", outputs={str(past / name): PER_CUSTOMER})
    with pytest.raises(lc.UnsupportedError, match="without outputs"):
        opened.backfill(tables, job="j", outputs={})
    assert opened.runs() == []


def test_a_source_younger_than_the_output_was_not_its_source(
    tables: SparkSession, past: Path, opened: lc.LineageStore
) -> None:
    _touch(past / "orders", 2_001)
    _view(tables, past)
    outputs: dict[str, DataFrame | str] = {str(past / "totals"): PER_CUSTOMER}
    with pytest.raises(lc.ChangedError, match=r"orders/part-0.parquet was written after"):
        opened.backfill(tables, job="j", outputs=outputs)
    with pytest.raises(lc.ChangedError, match=r"orders/part-0.parquet"):  # a time is no evidence
        opened.backfill(tables, job="j", outputs=outputs, at=datetime(2030, 1, 1, tzinfo=UTC))
    assert opened.backfill(tables, job="j", outputs=outputs, sources_unchanged=True).outputs


def test_a_job_that_replaced_its_source_cannot_be_recorded_afterwards(
    tables: SparkSession, past: Path, opened: lc.LineageStore
) -> None:
    itself = tables.read.parquet(str(past / "orders")).where("o_id >= 0")
    with pytest.raises(lc.ChangedError, match=r"part of the output .*orders"):
        opened.backfill(
            tables, job="j", outputs={str(past / "orders"): itself}, sources_unchanged=True
        )


def test_a_source_that_changes_while_it_is_recorded(
    tables: SparkSession, past: Path, opened: lc.LineageStore
) -> None:
    df = (
        tables.read.parquet(str(past / "orders"))
        .groupBy("o_cust")
        .agg(f.sum("o_price").alias("total"))
    )
    pq.write_table(pa.table({"o_cust": [1], "o_price": [1.0]}), past / "orders" / "part-0.parquet")
    _touch(past / "orders", 1_500)
    with pytest.raises(lc.ChangedError, match=r"orders/part-0.parquet"):
        opened.backfill(tables, job="j", outputs={str(past / "totals"): df})


@pytest.mark.parametrize(
    "text",
    [
        "DROP VIEW orders",
        "CREATE TABLE backfilled_t USING parquet AS SELECT * FROM orders",
        "INSERT OVERWRITE DIRECTORY '{folder}/leak' USING parquet SELECT * FROM orders",
        "WITH q AS (SELECT * FROM orders) INSERT INTO parquet.`{folder}/customers` SELECT 1, 'x'",
        "SET spark.sql.ansi.enabled = false",
        "SELEC 1",
        "SELECT * FROM nowhere",
        "",
    ],
)
def test_commands_are_not_run(tables: SparkSession, past: Path, text: str) -> None:
    ansi = tables.conf.get("spark.sql.ansi.enabled")
    with pytest.raises(PredicateError):
        plan(tables, text.replace("{folder}", str(past)))
    assert tables.table("orders").count() == 8
    assert not tables.catalog.tableExists("backfilled_t")
    assert not (past / "leak").exists() and len(list((past / "customers").iterdir())) == 1
    assert tables.conf.get("spark.sql.ansi.enabled") == ansi


def test_errors_of_later_queries_are_still_spark_s(
    tables: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(logging.Logger.manager.loggerDict, "SQLQueryContextLogger", raising=False)
    with pytest.raises(PredicateError):
        plan(tables, "select nothing from nowhere")
    with pytest.raises(AnalysisException):
        tables.sql("select nothing from nowhere")


def test_a_function_gives_queries_and_writes_nothing(tables: SparkSession, past: Path) -> None:
    def writes(spark: SparkSession) -> None:
        spark.table("orders").write.mode("overwrite").parquet(str(past / "totals"))

    def inserts(spark: SparkSession) -> None:
        spark.sql(f"INSERT OVERWRITE DIRECTORY '{past}/totals' USING parquet SELECT 1")

    before = sorted(path.name for path in (past / "totals").iterdir())
    for job in (writes, inserts):
        with pytest.raises(lc.UnsupportedError, match="began to write"):
            call(job, tables)
    assert sorted(path.name for path in (past / "totals").iterdir()) == before
    for given in (None, {}, {"a": 1}, "SELECT 1"):
        with pytest.raises(lc.UnsupportedError, match="DataFrame"):
            call(partial(lambda given, _: given, given), tables)
    orders = call(lambda spark: spark.table("orders"), tables)
    assert isinstance(orders, DataFrame) and orders.columns[0] == "o_id"
