"""What each kind of write adds: exactly its own files, with their partitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from lineage_core.capture import Capture, read_dataframe
from lineage_core.capture.sources import list_all, without_secrets
from lineage_core.datasets import canonical, local_path
from lineage_core.snapshot import Snapshot, verify
from lineage_core.store.manifest import OutputRecord

Start = Callable[..., Capture]


def rows(snapshot: Snapshot | None) -> int:
    assert snapshot is not None
    verify(snapshot)
    return sum(pq.read_metadata(local_path(file.path) or "").num_rows for file in snapshot.files)


def only(run: Capture) -> OutputRecord:
    (out,) = run.outputs
    assert out.uncaptured == ""
    assert out.snapshot is not None and out.program is not None
    names = [column.name for column in out.program.target.columns]
    assert sorted(names) == sorted(column.name for column in out.snapshot.columns)
    assert rows(out.snapshot) == out.rows
    return out


@pytest.mark.parametrize("how", ["inject", "defer"])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_only_the_files_of_this_write(
    tables: SparkSession, capture: Start, folder: Path, mode: str, how: str
) -> None:
    path = str(folder / "out")
    tables.range(5).selectExpr("cast(id as string) s", "id n").write.parquet(path)
    with capture(materialize=how) as run:
        frame = tables.sql("select o_status s, count(*) n from orders group by 1")
        frame.write.mode(mode).parquet(path)
    out = only(run)
    assert (out.mode, out.rows) == (mode, 3)
    assert tables.read.parquet(path).count() == (8 if mode == "append" else 3)


def test_partitions(tables: SparkSession, capture: Start, folder: Path) -> None:
    path = str(folder / "out")
    frame = tables.createDataFrame(
        [(1, "a b/c=d%2Fé", 1), (2, None, 2), (3, "", 3), (4, "x", 4)], "id int, p string, q int"
    )
    with capture() as run:
        frame.write.partitionBy("p", "q").parquet(path)
    out = only(run)
    assert out.snapshot is not None
    assert [c.name for c in out.snapshot.columns] == ["id", "p", "q"]
    assert out.snapshot.partition_columns == 2
    found = {file.partition for file in out.snapshot.files}
    assert found == {("a b/c=d%2Fé", "1"), (None, "2"), (None, "3"), ("x", "4")}
    captured = read_dataframe(tables.read.parquet(path))
    (listing,) = list_all(tables, captured.sources, captured.leaves)
    assert [file.path for file in listing.files] == [file.path for file in out.snapshot.files]
    assert {file.partition for file in listing.files} == found


def test_an_injected_write_keeps_the_writers_settings(
    tables: SparkSession, capture: Start, folder: Path
) -> None:
    path = str(folder / "out")
    frame = tables.sql(
        "select o_status s, count(*) n from orders join customers on o_cust = c_id group by 1"
    )
    with capture(materialize="inject") as run:
        frame.write.partitionBy("s").option("compression", "gzip").parquet(path)
        frame.write.partitionBy("s").mode("append").parquet(path, compression="gzip")
    assert [artifact.how for o in run.outputs for artifact in o.artifacts] == ["inject"] * 2
    for out in run.outputs:
        assert out.snapshot is not None and out.snapshot.partition_columns == 1
        assert all("/s=" in f.path and f.path.endswith(".gz.parquet") for f in out.snapshot.files)
    assert tables.read.parquet(path).count() == 2 * frame.count()


def test_typed_partitions_of_a_source(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        "select 1 id, date '2020-02-29' d, 1.50 m, true b, timestamp_ntz '2020-01-01 01:02:03' n"
    )
    frame.write.partitionBy("d", "m", "b", "n").parquet(str(tmp_path / "t"))
    read = spark.read.schema(frame.schema).parquet(str(tmp_path / "t"))
    captured = read_dataframe(read)
    (listing,) = list_all(spark, captured.sources, captured.leaves)
    (file,) = listing.files
    assert file.partition == ("2020-02-29", "1.50", "true", "2020-01-01 01:02:03")


@pytest.mark.parametrize("overwrite", [False, True])
def test_insert_into_by_name_of_position(
    tables: SparkSession,
    capture: Start,
    table: Callable[[str], str],
    overwrite: bool,
) -> None:
    name = table("lineage_inserted")
    tables.sql(f"create table {name} (who string, n bigint) using parquet")
    tables.sql(f"insert into {name} values ('x', 1)")
    with capture() as run:
        frame = tables.sql("select o_status, cast(count(*) as int) k from orders group by 1")
        frame.write.insertInto(name, overwrite=overwrite)
    out = only(run)
    assert out.snapshot is not None and out.snapshot.alias == f"spark_catalog.default.{name}"
    assert [(c.name, c.type) for c in out.snapshot.columns] == [("who", "string"), ("n", "long")]
    assert out.rows == 3
    assert tables.table(name).count() == (3 if overwrite else 4)


@pytest.mark.parametrize("how", ["inject", "defer"])
def test_save_as_table(
    tables: SparkSession,
    capture: Start,
    table: Callable[[str], str],
    how: str,
) -> None:
    name = table("lineage_saved")
    frame = tables.sql("select o_status, max(o_id) as top from orders group by 1")
    with capture(materialize=how) as run:
        frame.write.saveAsTable(name)
        frame.write.mode("overwrite").saveAsTable(name)
        frame.select("top", "o_status").write.mode("append").saveAsTable(name)
    assert [o.mode for o in run.outputs] == ["errorifexists", "overwrite", "append"]
    assert [(o.uncaptured, o.rows) for o in run.outputs] == [("", 3)] * 3
    last = run.outputs[2].snapshot
    assert last is not None and [c.name for c in last.columns] == ["o_status", "top"]
    assert rows(last) == 3
    assert sorted(map(str, tables.table(name).collect())) == sorted(map(str, frame.collect() * 2))


@pytest.mark.parametrize(
    ("statement", "mode", "count"),
    [
        ("insert into {t} select o_status, o_id from orders", "append", 8),
        ("insert into {t} (n, who) select o_id, o_status from orders", "append", 8),
        ("insert overwrite {t} select o_status, o_id from orders limit 2", "overwrite", 2),
        ("with q as (select * from orders) insert into {t} select o_status, 1 from q", "append", 8),
        ("insert into {t} select * from {t}", "append", 1),
        ("insert into {t} values ('a', 1), ('b', 2)", "append", 2),
    ],
)
def test_sql_inserts(
    tables: SparkSession,
    capture: Start,
    table: Callable[[str], str],
    statement: str,
    mode: str,
    count: int,
) -> None:
    name = table("lineage_sql")
    tables.sql(f"create table {name} (who string, n bigint) using parquet")
    tables.sql(f"insert into {name} values ('x', 1)")
    with capture(materialize="inject") as run:
        tables.sql(statement.format(t=name))
    out = only(run)
    assert (out.mode, out.rows) == (mode, count)
    assert tables.table(name).count() == (count if mode == "overwrite" else count + 1)


def test_sql_partitioned_insert(
    tables: SparkSession, capture: Start, table: Callable[[str], str]
) -> None:
    name = table("lineage_parts")
    tables.sql(f"create table {name} (n bigint, p string) using parquet partitioned by (p)")
    tables.sql(f"insert into {name} values (1, 'x'), (2, 'y')")
    with capture() as run:
        tables.sql(f"insert overwrite {name} partition (p = 'x') select o_id from orders")
    out = only(run)
    assert out.rows == 8 and out.snapshot is not None
    assert {file.partition for file in out.snapshot.files} == {("x",)}
    assert tables.table(name).count() == 9


def test_sql_creates(
    tables: SparkSession, capture: Start, table: Callable[[str], str], folder: Path
) -> None:
    name = table("lineage_created")
    target = folder / "directory"
    with capture() as run:
        tables.sql(f"create table {name} using parquet as select o_status s from orders")
        tables.sql(f"insert overwrite directory '{target}' using parquet select * from customers")
        tables.sql("create or replace temporary view lineage_v as select 1")
        tables.table("orders").writeTo(table("lineage_v2")).using("parquet").create()
    assert [(o.uncaptured, o.rows, o.mode) for o in run.outputs] == [
        ("", 8, "errorifexists"),
        ("", 4, "overwrite"),
        ("", 8, "errorifexists"),
    ]
    assert run.outputs[1].dataset == canonical(str(target))
    tables.catalog.dropTempView("lineage_v")


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ({"args": {"low": 3}}, {}),
        ({"args": [3]}, {}),
        ({}, {"low": 3}),
    ],
)
def test_sql_with_parameters(
    tables: SparkSession,
    capture: Start,
    table: Callable[[str], str],
    arguments: dict[str, Any],
    keywords: dict[str, Any],
) -> None:
    name = table("lineage_args")
    tables.sql(f"create table {name} (n bigint) using parquet")
    bound = "{low}" if keywords else ("?" if isinstance(arguments["args"], list) else ":low")
    with capture() as run:
        statement = f"insert into {name} select o_id from orders where o_id > {bound}"
        tables.sql(statement, **arguments, **keywords)
    assert only(run).rows == 4


def test_options_and_secrets(tables: SparkSession, capture: Start, folder: Path) -> None:
    """Options that change rows are kept, others are not: they may be credentials."""
    path = str(folder / "in")
    tables.table("customers").write.option("header", True).csv(path)
    read = tables.read.option("header", True).option("fs.s3a.secret.key", "SECRET").csv(path)
    with capture() as run:
        read.write.option("password", "SECRET").parquet(str(folder / "out"))
    (source,) = only(run).inputs
    assert source.format == "csv" and not source.has_rids
    assert source.options == (("header", "true"),)
    assert "SECRET" not in repr(run.record)


@pytest.mark.parametrize(
    ("url", "table", "name"),
    [
        ("jdbc:postgresql://h:1/d?user=u&password=p", "s.t", "jdbc:postgresql://h:1/d/s.t"),
        ("jdbc:mysql://u:p@h/d", "t", "jdbc:mysql://h/d/t"),
        ("jdbc:sqlserver://h;password=p", "t", "jdbc:sqlserver://h/t"),
        ("jdbc:oracle:thin:u/p@//h:1/s", "t", "jdbc:oracle:thin://h:1/s/t"),
        ("jdbc:h2:mem:x", "(select 'p' from t) q", "jdbc:h2:mem:x"),
    ],
)
def test_names_of_database_tables_hold_no_secrets(url: str, table: str, name: str) -> None:
    assert without_secrets(url, table) == name


def test_buckets(tables: SparkSession, capture: Start, table: Callable[[str], str]) -> None:
    name = table("lineage_buckets")
    with capture() as run:
        tables.table("orders").write.bucketBy(2, "o_id").sortBy("o_id").saveAsTable(name)
    assert only(run).rows == 8
