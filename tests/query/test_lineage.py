"""The store's questions: one run, several runs, what is missing or changed, shape of answers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path as LocalPath
from typing import Any

import pyarrow as pa
import pytest

import lineage_core as lc
from lineage_core.plan.expr import TRUE, Anchor, Column, same
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import Field
from lineage_core.query import Precision
from lineage_core.snapshot import ColumnType, Snapshot, take

Commit = Callable[..., str]


def _copy(
    target: Any, *sources: Any, why: tuple[str, ...] = ()
) -> tuple[LineageProgram, list[Any]]:
    """Return the program of a union of projections, by column `k`."""
    key = (Field(1, "k", "long"),)
    link = same(Column(1, "long"), Anchor(1, "long"))
    steps = [Step(StepKind.TARGET, -1, TRUE, key, 0, "out")]
    for number, source in enumerate(sources):
        name = source.snapshot.dataset
        steps.append(Step(StepKind.SOURCE, 0, link, key, number + 1, name, number, why))
    return LineageProgram(tuple(steps)), [target, *sources]


@pytest.fixture
def table(lake: Any) -> Callable[..., Any]:
    def write(name: str, *files: Sequence[int]) -> Any:
        return lake.write(name, {"k": "long"}, [[(k,) for k in file] for file in files])

    return write


@pytest.fixture
def run_q4(q4: Any, store: lc.LineageStore, commit_run: Commit, record_of: Any) -> str:
    return commit_run(store, record_of(q4.program, q4.tables))


def _pairs(table: pa.Table) -> set[tuple[int, int]]:
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_backward_by_where_rows_and_rids_agree(
    q4: Any, store: lc.LineageStore, run_q4: str
) -> None:
    rid, row = next(
        (r, row) for r, row in q4.tables[0].rows.items() if row["priority"] == "1-URGENT"
    )
    answers = [
        store.backward("q4", where="priority = '1-URGENT'"),
        store.backward(q4.tables[0].snapshot.dataset, rows=[dict(row)]),
        store.backward("lake/q4", rids=[rid], run=run_q4[:8]),
    ]
    for answer in answers:
        assert [source.dataset.rpartition("/")[2] for source in answer.sources] == [
            "items",
            "orders",
        ]
        for source, leaf in zip(answer.sources, (3, 2), strict=True):
            expected = sorted(s for o, s in q4.pairs(leaf) if o == rid)
            assert expected
            assert source.rids().to_pylist() == expected
            assert source.count() == len(expected)
            assert source.precision is Precision.EXACT and source.reason == ""
        assert _pairs(answer.pairs("orders")) == {(o, s) for o, s in q4.pairs(2) if o == rid}


def test_a_null_is_selected_by_rows_and_by_null_safe_equality(
    q4: Any, store: lc.LineageStore, run_q4: str
) -> None:
    rid = next(r for r, row in q4.tables[0].rows.items() if row["priority"] is None)
    expected = sorted(s for o, s in q4.pairs(2) if o == rid)
    assert expected
    for answer in (
        store.backward("q4", rows=[{"PRIORITY": None}]),
        store.backward("q4", where="priority <=> null"),
        store.backward("q4", where="priority is null"),
    ):
        assert answer["orders"].rids().to_pylist() == expected
    assert store.backward("q4", where="priority = null")["orders"].count() == 0


def test_many_rows_are_one_question(q4: Any, store: lc.LineageStore, run_q4: str) -> None:
    rows = [{"priority": str(i), "n": i} for i in range(50_000)]
    rows += [dict(row) for row in q4.tables[0].rows.values()]
    assert store.backward("q4", rows=rows)["items"].count() == len({s for _, s in q4.pairs(3)})


def test_forward_finds_the_outputs(q4: Any, store: lc.LineageStore, run_q4: str) -> None:
    answer = store.forward("orders", where="O_ORDERKEY = 3")
    found = {r for r, row in q4.tables[2].rows.items() if row["O_OrderKey"] == 3}
    expected = {(o, s) for o, s in q4.pairs(2) if s in found}
    assert len({s for _, s in expected}) == 3
    (output,) = answer.outputs
    assert output.rids().to_pylist() == sorted({o for o, _ in expected})
    assert _pairs(answer.pairs("q4")) == expected
    assert output.to_arrow(["priority"]).to_pylist() == [{"priority": None}]


def test_rows_have_their_own_columns(q4: Any, store: lc.LineageStore, run_q4: str) -> None:
    orders = store.backward("q4")["orders"]
    rids = orders.rids().to_pylist()
    rows = [dict(q4.tables[2].rows[rid]) for rid in rids]
    assert orders.to_arrow().to_pylist() == rows
    named = orders.to_arrow(["o_orderkey"], with_rid=True)
    assert named.column_names == ["rid", "O_OrderKey"]
    assert named.column("rid").to_pylist() == rids
    with pytest.raises(lc.NotFoundError, match="o_orderkex"):
        orders.to_arrow(["o_orderkex"])


def test_nothing_is_read_until_asked_and_then_kept(
    q4: Any, store: lc.LineageStore, run_q4: str
) -> None:
    answer = store.backward("q4")
    assert "not counted yet" in repr(answer)
    first = answer["orders"].rids()
    os.remove(LocalPath(q4.tables[2].snapshot.files[0].path.removeprefix("file://")))
    assert answer["orders"].rids() is first
    assert f"{len(first)}" in repr(answer) and "URGENT" not in answer._repr_html_()
    assert answer._repr_html_().startswith("<table>")


@pytest.mark.parametrize("step", [0, 1, 2], ids=["target", "saved", "source"])
@pytest.mark.parametrize("how", ["changed", "truncated", "removed"])
def test_a_changed_file_is_an_error_that_names_it(
    q4: Any, store: lc.LineageStore, run_q4: str, step: int, how: str
) -> None:
    uri = q4.tables[step].snapshot.files[0].path
    path = LocalPath(uri.removeprefix("file://"))
    if step == 1:
        path = LocalPath(store.url.removeprefix("file://")) / f"runs/{run_q4}/1-{path.name}"
    content = path.read_bytes()
    match how:
        case "changed":
            path.write_bytes(content[:-20] + bytes(b ^ 1 for b in content[-20:-8]) + content[-8:])
        case "truncated":
            path.write_bytes(content[: len(content) // 2])
        case _:
            path.unlink()
    source = store.backward("q4")["orders"]
    for ask in (source.rids, source.count, source.to_arrow, source.pairs):
        with pytest.raises(lc.ChangedError, match=path.name):
            ask()


def test_questions_that_have_no_answer(q4: Any, store: lc.LineageStore, run_q4: str) -> None:
    with pytest.raises(lc.NotFoundError, match="nowhere"):
        store.backward("nowhere")
    with pytest.raises(lc.NotFoundError):
        store.backward("orders")
    with pytest.raises(lc.NotFoundError):
        store.forward("q4")
    with pytest.raises(lc.NotFoundError, match="lineitem"):
        store.backward("q4").pairs("lineitem")
    with pytest.raises(lc.PredicateError, match="exclude"):
        store.backward("q4", where="n = 1", rids=[0])
    with pytest.raises(lc.PredicateError, match="64-bit"):
        store.backward("q4", rids=[True])
    with pytest.raises(lc.PredicateError, match="64-bit"):
        store.backward("q4", rids=["0; drop table t"])
    for rid in (-1, 9 << 40, (1 << 40) - 1):
        with pytest.raises(lc.NotFoundError, match=str(rid)):
            store.backward("q4", rids=[rid])
    with pytest.raises(lc.PredicateError, match="different columns"):
        store.backward("q4", rows=[{"n": 1}, {"priority": "x"}])
    with pytest.raises(lc.PredicateError, match="no column"):
        store.backward("q4", rows=[])
    with pytest.raises(lc.PredicateError, match="column n") as caught:
        store.backward("q4", rows=[{"n": "secret"}])
    assert "secret" not in str(caught.value)
    with pytest.raises(lc.NotFoundError, match="colour"):
        store.backward("q4", rows=[{"colour": 1}])
    with pytest.raises(lc.UnsupportedError, match="has no index") as refused:
        store.backward("q4", strategy="index")
    assert "row-lineage index" in str(refused.value)
    for strategy in ("iterative", "replay"):  # the runs of these tests record no plan
        with pytest.raises(lc.UnsupportedError, match="plan"):
            store.backward("q4", strategy=strategy)
    with pytest.raises(lc.NotFoundError, match="guess"):
        store.backward("q4", strategy="guess")
    with pytest.raises(lc.NotFoundError, match="presto"):
        store.backward("q4", engine="presto")
    with pytest.raises(lc.UnsupportedError):
        store.backward("q4", hops=0)
    with pytest.raises(lc.UnsupportedError):
        _ = store.backward("q4").outputs


def test_a_missing_artifact_is_corruption(
    q4: Any, store: lc.LineageStore, commit_run: Commit, record_of: Any
) -> None:
    commit_run(store, replace(record_of(q4.program, q4.tables), artifacts=()))
    with pytest.raises(lc.CorruptError, match="intermediate"):
        store.backward("q4")


def test_an_uncaptured_newest_run_is_said_so(
    q4: Any, store: lc.LineageStore, commit_run: Commit, record_of: Any
) -> None:
    record = record_of(q4.program, q4.tables)
    old = commit_run(store, record)
    commit_run(store, replace(record, program=None, artifacts=(), uncaptured="boom"), minute=1)
    with pytest.raises(lc.UncapturedError, match="boom"):
        store.backward("q4")
    assert store.backward("q4", run=old)["orders"].count() > 0
    moment = datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)
    assert store.backward("q4", as_of=moment)["orders"].count() > 0


def test_two_runs_are_walked_to_the_outermost_datasets(
    table: Any, store: lc.LineageStore, commit_run: Commit, record_of: Any
) -> None:
    raw, clean, final = (
        table("raw", [1, 2, 2], [3, 4]),
        table("clean", [4, 3, 2]),
        table("final", [2, 3]),
    )
    commit_run(store, record_of(*_copy(clean, raw)))
    commit_run(store, record_of(*_copy(final, clean, why=("it is odd",))), minute=1)
    answer = store.backward("final", where="k = 2")
    (source,) = answer.sources
    assert source.dataset.endswith("/raw")
    assert source.rids().to_pylist() == [1, 2]
    assert (source.precision, source.reason) == (Precision.SUPERSET, "it is odd")
    assert _pairs(answer.pairs("raw")) == {(0, 1), (0, 2)}
    (one,) = store.backward("final", where="k = 2", hops=1).sources
    assert one.dataset.endswith("/clean") and one.rids().to_pylist() == [2]
    forward = store.forward("raw", where="k >= 2")
    (output,) = forward.outputs
    assert output.dataset.endswith("/final") and output.rids().to_pylist() == [0, 1]
    assert _pairs(forward.pairs("final")) == {(0, 1), (0, 2), (1, 1 << 40)}
    (near,) = store.forward("raw", where="k >= 2", hops=1).outputs
    assert near.dataset.endswith("/clean") and near.count() == 3


def test_what_was_made_from_no_dataset_is_outermost(
    table: Any, store: lc.LineageStore, commit_run: Commit, record_of: Any
) -> None:
    made, final = table("made", [1, 2]), table("final", [2])
    commit_run(store, record_of(*_copy(made)))
    commit_run(store, record_of(*_copy(final, made)), minute=1)
    (source,) = store.backward("final").sources
    assert source.dataset.endswith("/made") and source.rids().to_pylist() == [1]
    assert source.precision is Precision.EXACT
    assert store.backward("made").sources == ()


def test_a_store_may_have_any_path(tmp_path: LocalPath) -> None:
    for name in ("a b", "50%41", "what?", "#1", "ünïcode"):
        assert lc.open_store(str(tmp_path / name)).runs() == []
        assert (tmp_path / name / "catalog.db").exists()


def test_a_dataset_read_by_two_ways_is_one_answer(
    table: Any, store: lc.LineageStore, commit_run: Commit, record_of: Any
) -> None:
    raw, clean, final = table("raw", [1, 2, 3]), table("clean", [2]), table("final", [2, 3])
    commit_run(store, record_of(*_copy(clean, raw)))
    commit_run(store, record_of(*_copy(final, clean, raw, raw)), minute=1)
    (source,) = store.backward("final").sources
    assert source.rids().to_pylist() == [1, 2]
    assert len(source.parts) == 3
    assert _pairs(source.pairs()) == {(0, 1), (1, 2)}
    near = store.backward("final", hops=1)["raw"]
    assert near.occurrences == (2, 3)
    assert near.rids(0).to_pylist() == [1, 2]


def test_a_dataset_appended_to_is_walked_into_each_run(
    table: Any, store: lc.LineageStore, commit_run: Commit, record_of: Any
) -> None:
    first, second = table("first", [1, 2]), table("second", [2, 3])
    both = table("both", [1, 2], [2, 3], [9])
    for number, source in enumerate((first, second)):
        snapshot = replace(both.snapshot, files=both.snapshot.files[number : number + 1])
        part = replace(both, snapshot=snapshot)
        record = replace(record_of(*_copy(part, source)), mode="append")
        commit_run(store, record, minute=number)
    final = table("final", [2, 9])
    commit_run(store, record_of(*_copy(final, both)), minute=5)
    answer = store.backward("final")
    found = {s.dataset.rpartition("/")[2]: s for s in answer.sources}
    assert found["first"].rids().to_pylist() == [1]
    assert found["second"].rids().to_pylist() == [0]
    # Nobody captured the third file: its rows are where the lineage ends.
    assert found["both"].rids().to_pylist() == [2 << 40]
    assert _pairs(found["second"].pairs()) == {(0, 0)}
    assert _pairs(found["both"].pairs()) == {(1, 2 << 40)}
    assert found["both"].to_arrow().to_pylist() == [{"k": 9}]
    (output,) = store.forward("second", where="k = 2").outputs
    assert output.dataset.endswith("/final") and output.rids().to_pylist() == [0]
    direct = store.backward("both", where="k = 2")
    assert {s.dataset.rpartition("/")[2]: s.count() for s in direct.sources} == {
        "first": 1,
        "second": 1,
    }
    with pytest.raises(lc.UnsupportedError, match="appends"):
        store.backward("both", rids=[0])


def test_what_an_uncaptured_run_wrote_is_a_gap(
    table: Any, store: lc.LineageStore, commit_run: Commit, record_of: Any
) -> None:
    raw, clean, final = table("raw", [1, 2]), table("clean", [2]), table("final", [2])
    lost = replace(record_of(*_copy(clean, raw)), program=None, uncaptured="no Java gateway")
    commit_run(store, lost)
    commit_run(store, record_of(*_copy(final, clean)), minute=1)
    (source,) = store.backward("final").sources
    assert source.dataset.endswith("/clean")
    assert source.precision is Precision.UNKNOWN and "no Java gateway" in source.reason
    assert source.rids().to_pylist() == [0]
    (near,) = store.backward("final", hops=1).sources
    assert near.precision is Precision.EXACT


def test_what_an_uncaptured_run_made_of_a_row_is_a_gap(
    table: Any, store: lc.LineageStore, commit_run: Commit, record_of: Any
) -> None:
    raw, lost, kept = table("raw", [1, 2]), table("lost", [2]), table("kept", [2])
    uncaptured = replace(record_of(*_copy(lost, raw)), program=None, uncaptured="no gateway")
    commit_run(store, record_of(*_copy(kept, raw)))
    commit_run(store, uncaptured, minute=1)
    answer = store.forward("raw", where="k = 2")
    assert answer["kept"].rids().to_pylist() == [0]
    gap = answer["lost"]
    assert gap.precision is Precision.UNKNOWN and "no gateway" in gap.reason
    for ask in (gap.rids, gap.count, gap.to_arrow, gap.pairs):
        with pytest.raises(lc.UncapturedError, match="no gateway"):
            ask()


def test_replaced_outputs_are_not_followed(
    table: Any, store: lc.LineageStore, commit_run: Commit, record_of: Any
) -> None:
    raw, old, new = table("raw", [1, 2]), table("old", [1]), table("new", [2])
    dataset = old.snapshot.dataset
    renewed = replace(new, snapshot=replace(new.snapshot, dataset=dataset))
    first = commit_run(store, record_of(*_copy(old, raw)))
    commit_run(store, record_of(*_copy(renewed, raw)), minute=1)
    (output,) = store.forward("raw").outputs
    assert output.to_arrow().to_pylist() == [{"k": 2}]
    (before,) = store.forward("raw", run=first).outputs
    assert before.to_arrow().to_pylist() == [{"k": 1}]


def test_a_source_of_unknown_content(
    table: Any, store: lc.LineageStore, commit_run: Commit, record_of: Any
) -> None:
    final, raw = table("final", [2]), table("raw", [1])
    record = record_of(*_copy(final, raw))
    nothing = Snapshot("jdbc:postgresql://db/orders", "", (), ())
    commit_run(store, replace(record, inputs=(nothing,)))
    (source,) = store.backward("final").sources
    assert source.precision is Precision.UNKNOWN and "not known" in source.reason
    for ask in (source.rids, source.count, source.to_arrow, source.pairs):
        with pytest.raises(lc.UnsupportedError, match="not known"):
            ask()


def test_csv_is_answered_by_rows(
    table: Any, store: lc.LineageStore, commit_run: Commit, record_of: Any, lake: Any, spark: object
) -> None:
    path = lake.root / "raw.csv"
    final = table("final", [2, 3])
    path.write_text("k,s\n1,a\n2,b\n2,b\n3,\n")
    columns = [ColumnType("k", "long"), ColumnType("s", "string")]
    snapshot = take(
        path.as_uri(), "csv", columns, [(path.as_uri(), ())], options=(("header", "true"),)
    )
    raw = replace(final, snapshot=snapshot)
    commit_run(store, record_of(*_copy(final, raw)))
    answer = store.backward("final", where="k = 2")
    (source,) = answer.sources
    assert source.count() == 2
    assert source.to_arrow().to_pylist() == [{"k": 2, "s": "b"}] * 2
    assert source.to_arrow(["s"]).to_pylist() == [{"s": "b"}] * 2
    for ask in (source.rids, source.pairs):
        with pytest.raises(lc.UnsupportedError, match="to_arrow"):
            ask()
    with pytest.raises(lc.UnsupportedError, match="row ids"):
        source.to_arrow(with_rid=True)
    (output,) = store.forward("raw.csv", where="s = 'b'").outputs
    assert output.rids().to_pylist() == [0]


def test_the_store_lists_and_rebuilds(store: lc.LineageStore, run_q4: str, q4: Any) -> None:
    assert [run.id for run in store.runs(dataset="q4")] == [run_q4]
    assert store.run(run_q4[:6]).outputs[0].program == q4.program
    assert store.rebuild_catalog().added == 1
    assert store.backward("q4")["orders"].count() > 0


def test_importing_the_core_loads_no_engine() -> None:
    code = (
        "import sys, lineage_core; "
        "heavy = {'duckdb', 'pyspark', 'z3', 'sqlalchemy'} & set(sys.modules); "
        "assert not heavy, heavy; assert len(lineage_core.__all__) <= 15"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
