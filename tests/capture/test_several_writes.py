"""Statements that do several writes, or hide them: each write is met, or noted with a reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lineage_core import LineageStore, open_store
from lineage_core.capture import Capture
from lineage_core.capture.watch import Watch
from lineage_core.datasets import canonical
from lineage_core.errors import UncapturedError, UnsupportedError

Named = Callable[[str], str]


@pytest.fixture
def lineage(tmp_path: Path) -> LineageStore:
    return open_store(str(tmp_path / "asked"))


@pytest.fixture
def targets(tables: SparkSession, table: Named) -> tuple[str, str]:
    names = table("several_a"), table("several_b")
    for name in names:
        tables.sql(f"create table {name} (id bigint, price double) using parquet")
    return names


def ran(lineage: LineageStore, spark: SparkSession, *statements: str, **how: Any) -> Capture:
    with lineage.capture(spark, job="job", **how) as run:
        for statement in statements:
            spark.sql(statement)
    return run


def reasons(run: Capture) -> dict[str, str]:
    return {Path(output.dataset).name: output.uncaptured for output in run.outputs}


def pairs(lineage: LineageStore, dataset: str) -> set[tuple[int, str]]:
    """Return the ids of the source rows, with the source's name."""
    return {
        (id, Path(source.dataset).name)
        for source in lineage.backward(dataset).sources
        for id in source.to_arrow(["o_id"])["o_id"].to_pylist()
    }


FIRST = "insert into {a} select o_id, o_price from orders where o_id = 0"


@pytest.mark.parametrize("way", ["auto", "inject", "defer"])
def test_each_insert_of_a_statement_is_captured(
    tables: SparkSession, lineage: LineageStore, targets: tuple[str, str], way: str
) -> None:
    a, b = targets
    run = ran(
        lineage,
        tables,
        FIRST.format(a=a),
        f"""from (select o_cust, max(o_id) as id, sum(o_price) as price from orders
        where o_id < 6 group by o_cust)
        insert into {a} select id, price where o_cust < 2
        insert overwrite table {b} select id, price where o_cust = 2""",
        materialize=way,
    )
    assert [output.uncaptured for output in run.outputs] == ["", "", ""]
    assert [output.mode for output in run.outputs] == ["append", "append", "overwrite"]
    assert [output.rows for output in run.outputs] == [1, 2, 1]
    assert (tables.table(a).count(), tables.table(b).count()) == (3, 1)
    assert {id for id, _ in pairs(lineage, a)} == {0, 1, 2, 3}
    assert {id for id, _ in pairs(lineage, b)} == {4, 5}


def test_directories_below_with(tables: SparkSession, lineage: LineageStore, folder: Path) -> None:
    run = ran(
        lineage,
        tables,
        f"""with few as (select * from orders where o_id < 3) from few
        insert overwrite directory '{folder}/x' using parquet select o_id where o_id > 0
        insert overwrite directory '{folder}/y' using parquet select o_id where o_id = 0""",
    )
    assert reasons(run) == {"x": "", "y": ""}
    assert pairs(lineage, f"{folder}/x") == {(1, "orders"), (2, "orders")}
    assert pairs(lineage, f"{folder}/y") == {(0, "orders")}


def test_parameters_reach_each_insert(
    tables: SparkSession, lineage: LineageStore, targets: tuple[str, str]
) -> None:
    a, b = targets
    with lineage.capture(tables, job="job"):
        tables.sql(
            f"""from orders insert into {a} select o_id, o_price where o_id = :one
            insert into {b} select o_id, o_price where o_id = :two""",
            args={"one": 1, "two": 2},
        )
    assert pairs(lineage, a) == {(1, "orders")}
    assert pairs(lineage, b) == {(2, "orders")}


@pytest.mark.parametrize("below", ["", "/below"])
def test_inserts_of_one_folder_are_not_told_apart(
    tables: SparkSession, lineage: LineageStore, folder: Path, below: str
) -> None:
    run = ran(
        lineage,
        tables,
        f"""from orders
        insert overwrite directory '{folder}/x' using parquet select o_id where o_id > 3
        insert overwrite directory '{folder}/x{below}' using parquet select o_id where o_id < 3""",
    )
    assert len(run.outputs) == 2
    assert all("cannot be told apart" in output.uncaptured for output in run.outputs)
    for output in run.outputs:
        with pytest.raises(UncapturedError, match="cannot be told apart"):
            lineage.backward(output.dataset)


def test_an_insert_that_fails_after_another_one(
    tables: SparkSession, lineage: LineageStore, targets: tuple[str, str]
) -> None:
    a, b = targets
    ran(lineage, tables, FIRST.format(a=a))
    with lineage.capture(tables, job="job") as run, pytest.raises(PySparkException, match="no!"):
        tables.sql(
            f"""from orders insert into {a} select o_id, o_price where o_id = 1
            insert into {b} select o_id, cast(raise_error('no!') as double)"""
        )
    assert tables.table(a).count() == 2
    assert reasons(run) == {a: "the write failed, and files of it are left"}
    with pytest.raises(UncapturedError):
        lineage.backward(a)


def test_an_error_of_the_statement_is_the_users(
    tables: SparkSession, lineage: LineageStore, targets: tuple[str, str]
) -> None:
    a, b = targets
    text = f"from nowhere insert into {a} select * insert into {b} select *"
    with pytest.raises(PySparkException) as plain:
        tables.sql(text)
    with lineage.capture(tables, job="job") as run, pytest.raises(PySparkException) as captured:
        tables.sql(text)
    assert captured.value.getCondition() == plain.value.getCondition()
    assert run.outputs == ()


HIDDEN = {
    "immediate": "execute immediate 'insert into {a} select o_id, o_price from orders'",
    "script": "begin insert into {a} select o_id, o_price from orders; end",
    "both": """begin declare said string = 'insert into {a} select o_id, o_price from orders';
        execute immediate said; select 1; end""",
    "loop": """begin for row as select 1 do
        insert into {a} select o_id, o_price from orders; end for; end""",
}


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_a_hidden_write_is_noted(
    tables: SparkSession,
    lineage: LineageStore,
    targets: tuple[str, str],
    folder: Path,
    text: str,
) -> None:
    a, _ = targets
    ran(lineage, tables, FIRST.format(a=a))
    assert pairs(lineage, a) == {(0, "orders")}
    run = ran(lineage, tables, text.format(a=a))
    assert tables.table(a).count() == 1 + 8
    assert [output.mode for output in run.outputs] == ["append"]
    assert list(reasons(run)) == [a] and "not met before they run" in reasons(run)[a]
    ahead = lineage.forward(str(folder / "orders")).outputs
    assert {Path(found.dataset).name for found in ahead} == {a}
    assert any("not met before they run" in found.reason for found in ahead)
    with pytest.raises(UncapturedError, match="not met before they run"):
        lineage.forward(str(folder / "orders"), run=run.id)
    (summary,) = [found for found in lineage.runs() if found.id == run.id]
    assert "not met before they run" in summary.uncaptured
    with pytest.raises(UncapturedError, match="not met before they run"):
        lineage.backward(a)
    ran(lineage, tables, f"insert overwrite {a} select o_id, o_price from orders where o_id = 5")
    assert pairs(lineage, a) == {(5, "orders")}


def test_writes_of_a_hidden_statement_are_noted_once(
    tables: SparkSession,
    lineage: LineageStore,
    targets: tuple[str, str],
    table: Named,
    folder: Path,
) -> None:
    a, b = targets
    made = table("several_c")
    run = ran(
        lineage,
        tables,
        f"""begin
        create table {made} using parquet as select * from orders;
        insert overwrite directory '{folder}/x' using parquet select o_id from orders;
        insert into {a} select o_id, o_price from orders where o_id = 1;
        from orders insert into {a} select o_id, o_price insert into {b} select o_id, o_price;
        end""",
    )
    assert [Path(o.dataset).name for o in run.outputs] == [made, "x", a, a, b]


@pytest.mark.parametrize("wrong", ["cast(raise_error('no!') as double)", "no_such_column"])
def test_a_script_that_fails_half_way(
    tables: SparkSession, lineage: LineageStore, targets: tuple[str, str], wrong: str
) -> None:
    a, b = targets
    with lineage.capture(tables, job="job") as run, pytest.raises(PySparkException, match="no"):
        tables.sql(
            f"""begin insert into {a} select o_id, o_price from orders;
            insert into {b} select o_id, {wrong} from orders; end"""
        )
    assert tables.table(a).count() == 8
    assert list(reasons(run)) == [a]


def test_hidden_queries_are_no_writes(tables: SparkSession, lineage: LineageStore) -> None:
    with lineage.capture(tables, job="job") as run:
        assert tables.sql("execute immediate 'select count(*) from orders'").first() == (8,)
        assert tables.sql("begin select max(o_id) from orders; end").first() == (7,)
    assert run.outputs == ()


def test_nothing_of_the_watch_stays(
    tables: SparkSession, lineage: LineageStore, targets: tuple[str, str]
) -> None:
    a, _ = targets
    context = tables.sparkContext
    bus = context._jsc.sc().listenerBus()
    before = bus.listeners().size()
    context.addJobTag("mine")
    ran(lineage, tables, HIDDEN["script"].format(a=a))
    assert bus.listeners().size() == before
    assert list(context.getJobTags()) == ["mine"]
    context.removeJobTag("mine")


def test_what_others_write_meanwhile_is_theirs(
    tables: SparkSession, targets: tuple[str, str]
) -> None:
    a, b = targets
    watch, other = Watch(tables), Watch(tables)
    watch.begin()
    tables.sql(FIRST.format(a=a))
    tables.sparkContext.removeJobTag(watch._tag)  # as in another thread
    tables.sql(FIRST.format(a=b))
    other.begin()
    assert [Path(write.dataset).name for write in watch.end()] == [a]
    assert other.end() == []


@pytest.mark.parametrize("stage", ["begin", "_drained"])
def test_a_watch_that_fails_is_in_nobodys_way(
    tables: SparkSession,
    lineage: LineageStore,
    targets: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
) -> None:
    def fail(_self: Watch) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(Watch, stage, fail)
    a, _ = targets
    run = ran(lineage, tables, HIDDEN["script"].format(a=a))
    assert tables.table(a).count() == 8
    assert "not met before they run" in reasons(run)["spark:unknown"]


def test_a_past_job_hides_no_write(
    tables: SparkSession, lineage: LineageStore, targets: tuple[str, str]
) -> None:
    from lineage_core.capture.backfill import call

    a, _ = targets
    with pytest.raises(UnsupportedError, match="SQL script"):
        call(lambda spark: spark.sql(HIDDEN["script"].format(a=a)), tables)
    assert tables.table(a).count() == 0


def test_a_write_of_a_union_is_one_write(
    tables: SparkSession, lineage: LineageStore, targets: tuple[str, str]
) -> None:
    a, _ = targets
    run = ran(
        lineage,
        tables,
        f"""insert into {a} select o_id, o_price from orders where o_id < 2
        union all select o_id, o_price from orders where o_id > 6""",
    )
    (output,) = run.outputs
    assert (output.uncaptured, output.rows) == ("", 3)
    assert output.dataset.startswith(canonical("/").rstrip("/"))
    assert {id for id, _ in pairs(lineage, a)} == {0, 1, 7}
