"""Captured runs: what is recorded, and that capturing is never in the way of a write."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2

from lineage_core.capture import Capture, attempt, hooks, outputs, saving, sources
from lineage_core.catalog import Catalog
from lineage_core.datasets import canonical
from lineage_core.errors import NotFoundError
from lineage_core.execute import choose, defer, inject
from lineage_core.plan.program import StepKind
from lineage_core.plan.relation import Limit, Scan
from lineage_core.plan.traverse import nodes
from lineage_core.snapshot import verify
from lineage_core.store import ArtifactStore
from lineage_core.store.manifest import Materialize, RunState

Start = Callable[..., Capture]

SECRET = "Dora"
"""A literal that must not turn up in a reason or a log."""

GROUPED = f"""
select o_status, count(*) as n, max(c_name) as who from orders join customers on o_cust = c_id
where c_name <> '{SECRET}' group by o_status order by o_status
"""


def saved_files(store: ArtifactStore, run: Capture) -> list[str]:
    root = Path(store.url.removeprefix("file://").replace("%20", " "))
    saved = root / "runs" / run.id / "saved"
    return sorted(str(path) for path in saved.rglob("*.parquet"))


@pytest.mark.parametrize("how", ["auto", "defer", "inject", "never"])
def test_a_run_and_its_record(
    tables: SparkSession,
    capture: Start,
    store: ArtifactStore,
    catalog: Catalog,
    folder: Path,
    how: str,
) -> None:
    tables.sql(GROUPED).write.parquet(str(folder / "plain"))
    with capture(materialize=how, tags={"dag": "d"}) as run:
        tables.sql(GROUPED).write.parquet(str(folder / "out"))
        tables.table("orders").write.mode("overwrite").parquet(str(folder / "copy"))
    record = run.record
    assert record is not None and record == store.load(run.id)
    assert (record.state, record.uncaptured, record.tags) == ("complete", "", (("dag", "d"),))
    first, second = record.outputs
    assert (first.uncaptured, second.uncaptured) == ("", "")
    assert first.dataset == canonical(str(folder / "out"))
    assert (first.mode, second.mode) == ("errorifexists", "overwrite")
    assert (first.rows, second.rows) == (2, 8)
    assert [Path(s.dataset).name for s in first.inputs] == ["orders", "customers"]
    assert first.snapshot is not None and first.program is not None
    assert [c.name for c in first.snapshot.columns] == ["o_status", "n", "who"]
    assert [(c.name, c.type) for c in first.snapshot.columns] == [
        (c.name, c.type) for c in first.program.target.columns
    ]
    for snapshot in (first.snapshot, *first.inputs):
        verify(snapshot)
    assert {a.step for a in first.artifacts} == set(first.program.saved)
    assert bool(first.artifacts) == (how in ("defer", "inject"))
    for artifact in first.artifacts:
        assert artifact.how is Materialize(how)
        step = first.program.steps[artifact.step]
        names = {column.name for column in artifact.snapshot.columns}
        assert {f"c{column.id}" for column in step.columns} <= names
        assert all(store.exists(file.path) for file in artifact.snapshot.files)
    assert "Aggregate" in first.analyzed and "Relation" in first.optimized
    assert {"analyse", "optimise", "infer", "write"} <= {t.stage for t in first.timings}
    assert catalog.writer(first.dataset).run_id == run.id
    plain, captured = (tables.read.parquet(str(folder / name)) for name in ("plain", "out"))
    assert plain.schema == captured.schema and plain.collect() == captured.collect()


def test_nothing_stays_patched(spark: SparkSession, capture: Start) -> None:
    owners = (DataFrameWriter, DataFrameWriterV2, SparkSession)
    before = [dict(vars(owner)) for owner in owners]
    with capture():
        with capture():
            assert [dict(vars(owner)) for owner in owners] != before
        assert DataFrameWriter.save is not before[0]["save"]
    assert [dict(vars(owner)) for owner in owners] == before


def test_an_inner_capture_takes_the_write(
    tables: SparkSession, capture: Start, folder: Path
) -> None:
    with capture() as outer:
        with capture() as inner:
            tables.table("orders").write.parquet(str(folder / "a"))
        tables.table("orders").write.parquet(str(folder / "b"))
    assert [Path(o.dataset).name for o in inner.outputs] == ["a"]
    assert [Path(o.dataset).name for o in outer.outputs] == ["b"]


def test_other_sessions_are_left_alone(spark: SparkSession, capture: Start, folder: Path) -> None:
    other = spark.newSession()
    with capture() as run:
        other.read.parquet(str(folder / "orders")).write.parquet(str(folder / "out"))
    assert run.outputs == ()


def test_a_writer_made_before_the_capture_is_met(
    tables: SparkSession, capture: Start, folder: Path
) -> None:
    writer = tables.table("orders").write.mode("overwrite")
    java = writer._jwrite
    with capture() as run:
        writer.save(str(folder / "out"), format="orc")
    assert writer._jwrite is java
    (out,) = run.outputs
    assert (out.rows, out.snapshot is not None and out.snapshot.format) == (-1, "orc")


def test_the_users_error_goes_on_unchanged(
    tables: SparkSession, capture: Start, store: ArtifactStore, folder: Path
) -> None:
    class Mine(Exception):
        pass

    mine = Mine("x")
    with pytest.raises(Mine) as caught, capture() as run:
        tables.table("orders").write.parquet(str(folder / "out"))
        raise mine
    assert caught.value is mine
    record = store.load(run.id)
    assert record.state is RunState.FAILED and len(record.outputs) == 1


@pytest.mark.parametrize("how", ["defer", "inject"])
def test_a_write_that_fails_is_no_output(
    tables: SparkSession, capture: Start, store: ArtifactStore, folder: Path, how: str
) -> None:
    path = str(folder / "out")
    tables.range(1).write.parquet(path)
    failing = "select o_status, sum(raise_error('no')) as n from orders group by o_status"
    with capture(materialize=how) as run:
        with pytest.raises(Exception, match="PATH_ALREADY_EXISTS"):
            tables.sql(GROUPED).write.parquet(path)
        with pytest.raises(Exception, match="no"):
            tables.sql(failing).write.parquet(str(folder / "other"))
        with pytest.raises(Exception, match="no"):
            tables.sql(failing).write.parquet(str(folder / "other"))
    assert run.outputs == () and saved_files(store, run) == []
    assert store.load(run.id).state is RunState.COMPLETE


def test_an_interrupt_goes_through(
    tables: SparkSession,
    capture: Start,
    store: ArtifactStore,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(defer, "save", interrupt)
    with pytest.raises(KeyboardInterrupt), capture(materialize="defer") as run:
        tables.sql(GROUPED).write.parquet(str(folder / "out"))
    (out,) = store.load(run.id).outputs
    assert out.uncaptured == "save: KeyboardInterrupt" and out.artifacts == ()
    assert tables.read.parquet(str(folder / "out")).count() == 2


_STAGES = [
    (attempt, "analyse", "analyse"),
    (attempt, "describe", "analyse"),
    (outputs, "look", "analyse"),
    (attempt, "optimise", "optimise"),
    (attempt, "read_plan", "optimise"),
    (sources, "list_files", "sources"),
    (saving, "infer", "infer"),
    (choose, "choose", "save"),
    (outputs, "take", "output"),
    (sources, "take", "snapshot"),
]


@pytest.mark.parametrize(("module", "name", "stage"), _STAGES)
def test_a_failure_in_any_stage_leaves_the_write_alone(
    tables: SparkSession,
    capture: Start,
    store: ArtifactStore,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    module: Any,
    name: str,
    stage: str,
) -> None:
    calls = []

    def fail(*_args: object, **_options: object) -> None:
        calls.append(name)
        raise RuntimeError(f"{SECRET} lives here")

    monkeypatch.setattr(module, name, fail)
    with caplog.at_level(logging.INFO), capture(materialize="defer") as run:
        tables.sql(GROUPED).write.parquet(str(folder / "out"))
    assert calls
    assert tables.read.parquet(str(folder / "out")).count() == 2
    (out,) = store.load(run.id).outputs
    assert out.uncaptured == f"{stage}: RuntimeError"
    assert (out.plan, out.program, out.artifacts) == (None, None, ())
    assert saved_files(store, run) == []
    assert out.uncaptured in caplog.text and SECRET not in caplog.text


def test_spark_errors_are_named_without_their_values(
    tables: SparkSession, capture: Start, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        tables.sql(f"select {SECRET} from orders")

    monkeypatch.setattr(attempt, "read_plan", fail)
    with capture() as run:
        tables.sql(GROUPED).write.parquet(str(folder / "out"))
    (out,) = run.outputs
    assert "AnalysisException" in out.uncaptured and SECRET not in out.uncaptured


@pytest.mark.parametrize("broken", ["split", "write"])
def test_a_failed_injection_falls_back_to_defer(
    tables: SparkSession,
    capture: Start,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    broken: str,
) -> None:
    calls = []

    def fail(*_args: object, **_options: object) -> None:
        calls.append(broken)
        raise RuntimeError

    if broken == "split":
        monkeypatch.setattr(inject, "inject", fail)
    else:
        monkeypatch.setattr(hooks, "over", fail)
    with capture(materialize="inject") as run:
        tables.sql(GROUPED).write.parquet(str(folder / "out"))
    (out,) = run.outputs
    assert calls and out.uncaptured == ""
    assert [artifact.how for artifact in out.artifacts] == [Materialize.DEFER]
    assert tables.read.parquet(str(folder / "out")).count() == 2


@pytest.mark.parametrize("part", ["commit", "add"])
def test_a_store_that_fails_is_a_warning(
    tables: SparkSession,
    capture: Start,
    store: ArtifactStore,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    part: str,
) -> None:
    def fail(*_args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(ArtifactStore if part == "commit" else Catalog, part, fail)
    with capture() as run:
        tables.sql(GROUPED).write.parquet(str(folder / "out"))
    assert "not stored" in caplog.text
    assert store.runs() == ([] if part == "commit" else [run.id])


def test_a_source_that_changes_under_the_run(
    tables: SparkSession, capture: Start, folder: Path
) -> None:
    """Spark listed the file before; its rows may be the old or the new ones, or a mixture."""
    frame = tables.read.parquet(str(folder / "orders"))
    (file,) = (folder / "orders").glob("*.parquet")
    content = file.read_bytes()
    frame.cache().count()
    file.write_bytes(content)
    os.utime(file, (1, 1))
    try:
        with capture() as run:
            frame.write.parquet(str(folder / "out"))
    finally:
        frame.unpersist()
    (out,) = run.outputs
    assert "was changed while the run read it" in out.uncaptured


def test_rows_that_cannot_be_computed_again_are_saved_as_they_are(
    tables: SparkSession, capture: Start, folder: Path
) -> None:
    query = "select o_status, count(*) n from (select * from orders where rand() < 0.9) group by 1"
    with capture(materialize="defer") as run:
        tables.sql(query).write.parquet(str(folder / "out"))
    (out,) = run.outputs
    assert out.program is None or not out.program.saved or "computed again" in out.uncaptured


def test_the_same_write_nothing_to_do(tables: SparkSession, capture: Start, folder: Path) -> None:
    tables.range(1).write.parquet(str(folder / "out"))
    with capture() as run:
        tables.table("orders").write.mode("ignore").parquet(str(folder / "out"))
    assert run.outputs == ()


def test_a_target_without_files_is_uncaptured(tables: SparkSession, capture: Start) -> None:
    with capture() as run:
        tables.table("orders").write.format("noop").mode("overwrite").save()
    (out,) = run.outputs
    assert out.dataset == "table:noop-table" and "not a folder of files" in out.uncaptured


def test_spark_connect_is_uncaptured(capture: Start, store: ArtifactStore) -> None:
    with capture(spark=object()) as run:
        pass
    assert "Spark Connect" in store.load(run.id).uncaptured


def test_a_run_id_that_is_none(capture: Start) -> None:
    with pytest.raises(NotFoundError):
        capture(run_id="../x")


def test_queries_are_not_parsed_twice(
    tables: SparkSession, capture: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    monkeypatch.setattr(hooks, "_statement", lambda _spark, text: parsed.append(text))
    with capture() as run:
        assert tables.sql("select count(*) from orders").collect()[0][0] == 8
        tables.sql("show tables").collect()
        assert parsed == []
        assert tables.sql("select replace('aXa', 'X', 'b') as r").collect()[0][0] == "aba"
    assert len(parsed) == 1 and run.outputs == ()


def test_a_limit_is_saved_by_injection(tables: SparkSession, capture: Start, folder: Path) -> None:
    query = "select count(*) n from (select o_id from orders order by o_id desc limit 3)"
    with capture(materialize="inject") as run:
        tables.sql(query).write.parquet(str(folder / "out"))
    (out,) = run.outputs
    assert out.uncaptured == "" and out.plan is not None
    assert any(isinstance(node, Limit) for node in nodes(out.plan))
    assert tables.read.parquet(str(folder / "out")).collect()[0][0] == 3


def test_what_cannot_be_computed_again_is_not_deferred(
    tables: SparkSession, capture: Start, folder: Path
) -> None:
    """Rows saved later would not be those the output was made from: rather too many than wrong."""
    query = """
        select c_name, count(*) n
        from (select * from orders limit 3) join customers on o_cust = c_id
        group by c_name
    """
    with capture(materialize="defer") as run:
        tables.sql(query).write.parquet(str(folder / "later"))
    (out,) = run.outputs
    assert out.uncaptured == "" and out.program is not None and not out.artifacts
    assert all(out.program.steps[i].superset for i in out.program.sources)
    with capture(materialize="auto") as run:
        tables.sql(query).write.parquet(str(folder / "now"))
    (out,) = run.outputs
    assert {artifact.how for artifact in out.artifacts} == {Materialize.INJECT}


def test_an_opaque_plan_still_names_its_sources(
    tables: SparkSession, capture: Start, folder: Path
) -> None:
    twice = tables.sql("select o_id from orders union all select c_id from customers").mapInArrow(
        lambda batches: batches, "x long"
    )
    with capture() as run:
        twice.write.parquet(str(folder / "out"))
    (out,) = run.outputs
    assert out.program is not None and out.plan is not None
    assert len(out.inputs) == 2 == len([n for n in nodes(out.plan) if isinstance(n, Scan)])
    kinds = [step.kind for step in out.program.steps]
    assert kinds.count(StepKind.SOURCE) == 2
    assert all(out.program.steps[i].superset for i in out.program.sources)
