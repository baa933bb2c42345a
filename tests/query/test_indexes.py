"""Rid indexes of a run: they answer as the program does, from files of their own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lineage_core as lc
from lineage_core.index.record import folder
from lineage_core.query.answer import SourceAnswer
from lineage_core.query.indexing import Building

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Report:
    """A captured run of a query over two datasets, one of them read twice."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.root = root
        spark.range(60).selectExpr("id", "id % 7 as k").repartition(2, "k").write.parquet(
            str(root / "facts")
        )
        spark.range(7).selectExpr("id as k", "id % 3 as g").write.parquet(str(root / "groups"))
        for name in ("facts", "groups"):
            spark.read.parquet(str(root / name)).createOrReplaceTempView(name)
        self.store = lc.open_store(str(root / "store"))
        with self.store.capture(spark, job="report") as run:
            spark.sql(
                "select g.g, count(*) as n, count(distinct o.id) as m from facts f"
                " join groups g on f.k = g.k join facts o on o.id = f.id + 1 group by g.g"
            ).coalesce(1).write.parquet(str(root / "out"))
        self.run = run.id

    @property
    def out(self) -> str:
        return str(self.root / "out")

    def backward(self, strategy: str, **rows: Any) -> dict[str, SourceAnswer]:
        found = self.store.backward(self.out, strategy=strategy, **rows).sources
        return {source.dataset.rpartition("/")[2]: source for source in found}

    def forward(self, name: str, strategy: str, **rows: Any) -> list[int]:
        (found,) = self.store.forward(str(self.root / name), strategy=strategy, **rows).outputs
        rids: list[int] = found.rids().to_pylist()
        return rids


@pytest.fixture
def report(spark: SparkSession, tmp_path: Path) -> Report:
    return Report(spark, tmp_path)


def index_files(report: Report) -> list[Path]:
    return sorted(report.root.glob("store/runs/*/index/*"))


def test_an_index_answers_as_the_program_does(report: Report) -> None:
    told: list[Building] = []
    (record,) = report.store.index(run=report.run[:8], progress=told.append)
    assert len(record.entries) == 3, "facts are read twice"
    assert sum(not state.total for state in told) == 3
    assert [state.done for state in told if state.done == state.total] != []
    assert all(part.size < 2000 for part in record.entries[0].parts)
    for rows in ({}, {"where": "g = 1"}, {"rids": [0, 2]}, {"rows": [{"g": 2}]}):
        index, saved = report.backward("index", **rows), report.backward("saved", **rows)
        assert index.keys() == saved.keys() == {"facts", "groups"}
        for name, source in index.items():
            assert source.precision == saved[name].precision == "exact"
            assert source.rids() == saved[name].rids()
            assert source.pairs() == saved[name].pairs()
            assert source.to_arrow() == saved[name].to_arrow()
            for number in range(len(source.occurrences)):
                assert source.rids(number) == saved[name].rids(number)
    for name in ("facts", "groups"):
        for rows in ({}, {"where": "k = 3"}, {"rids": [1]}):
            assert report.forward(name, "index", **rows) == report.forward(name, "saved", **rows)


def test_an_index_is_taken_without_being_asked_for(report: Report) -> None:
    before = report.backward("auto", where="g = 0")["facts"].rids()
    report.store.index(run=report.run)
    for file in (report.root / "facts").glob("*.parquet"):
        file.unlink()
    source = report.backward("auto", where="g = 0")["facts"]
    assert source.rids() == before, "nothing of the source was read"
    with pytest.raises(lc.ChangedError):
        source.to_arrow()
    with pytest.raises(lc.ChangedError):
        report.backward("saved", where="g = 0")["facts"].rids()


def test_rows_of_a_dataset_that_has_changed_are_not_meant(
    report: Report, spark: SparkSession
) -> None:
    report.store.index(run=report.run)
    assert report.backward("index", rids=[1])["facts"].count()
    spark.range(5).selectExpr("id as g", "id as n", "id as m").coalesce(1).write.mode(
        "overwrite"
    ).parquet(report.out)
    for rows in ({}, {"rids": [1]}, {"where": "g = 1"}):
        with pytest.raises(lc.ChangedError):
            report.backward("index", **rows)["facts"].rids()


def test_without_an_index_none_is_used(report: Report) -> None:
    with pytest.raises(lc.UnsupportedError, match="has no index") as caught:
        report.backward("index")
    assert report.run in str(caught.value)
    report.store.index(run=report.run)
    assert report.backward("index")["facts"].count()
    report.store.artifacts.remove(folder(report.store.artifacts.run_path(report.run)))
    with pytest.raises(lc.UnsupportedError, match="has no index"):
        report.backward("index")


def test_built_again_an_index_is_the_same(report: Report) -> None:
    report.store.index(run=report.run)
    first = {path.name: path.read_bytes() for path in index_files(report)}
    assert len(first) == 7
    report.store.index(run=report.run)
    assert {path.name: path.read_bytes() for path in index_files(report)} == first
    assert report.backward("index")["facts"].count()


def test_an_appended_part_gets_an_index_of_its_own(report: Report, spark: SparkSession) -> None:
    assert len(report.store.index(report.out)) == 1
    first = {path: path.read_bytes() for path in index_files(report)}
    assert report.store.index(report.out) == [], "it is there"
    facts = spark.read.parquet(str(report.root / "facts"))
    with report.store.capture(spark, job="more") as more:
        rows = facts.where("id < 20").groupBy("k").agg({"id": "max", "k": "count"})
        rows.toDF("g", "n", "m").coalesce(1).write.mode("append").parquet(report.out)
    (added,) = report.store.index(report.out)
    written = more.outputs[0].snapshot
    assert written is not None and added.snapshot == written.id
    assert {path: path.read_bytes() for path in index_files(report) if path in first} == first
    whole = {}
    for strategy in ("index", "saved"):
        sources = report.store.backward(report.out, strategy=strategy).sources
        whole[strategy] = [(s.dataset, s.rids(), s.precision) for s in sources]
    assert whole["index"] == whole["saved"]


def test_nothing_is_left_of_what_was_spooled(report: Report) -> None:
    report.store.index(run=report.run)
    assert not [path for path in index_files(report) if path.is_dir()]
    shutil.rmtree(report.root / "facts")
    with pytest.raises(lc.ChangedError):
        report.store.index(run=report.run)
    assert len(index_files(report)) == 7, "the old ones are still there"
    assert report.backward("index", rids=[0])["facts"].count()


def test_a_run_or_a_dataset_is_named(report: Report) -> None:
    with pytest.raises(lc.UnsupportedError, match="nothing to index is named"):
        report.store.index()
    with pytest.raises(lc.NotFoundError):
        report.store.index(str(report.root / "facts"))


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_both_engines_build_the_same(report: Report, engine: str) -> None:
    report.store.index(run=report.run)
    first = {path.name: path.read_bytes() for path in index_files(report)}
    report.store.index(run=report.run, engine=engine)
    assert {path.name: path.read_bytes() for path in index_files(report)} == first


def swap(report: Report) -> None:
    one, other = [p for p in index_files(report) if p.name.endswith("backward.rlx")][:2]
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)


def cut_short(report: Report) -> None:
    for path in index_files(report)[1:]:
        path.write_bytes(path.read_bytes()[:-9])


def change(report: Report) -> None:
    for path in index_files(report)[1:]:
        data = bytearray(path.read_bytes())
        data[3] ^= 1
        path.write_bytes(data)


def mangle_record(report: Report) -> None:
    path = index_files(report)[0]
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("damage", [swap, cut_short, change, mangle_record])
@pytest.mark.parametrize("strategy", ["index", "auto"])
def test_a_damaged_index_is_an_error(
    report: Report, damage: Callable[[Report], None], strategy: str
) -> None:
    report.store.index(run=report.run)
    damage(report)
    report.store = lc.open_store(report.store.url)
    with pytest.raises(lc.CorruptError):
        for source in report.backward(strategy).values():
            source.rids()


def test_rows_without_ids_are_not_indexed(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(5).write.json(str(tmp_path / "lines"))
    store = lc.open_store(str(tmp_path / "store"))
    with store.capture(spark, job="j") as run:
        lines = spark.read.json(str(tmp_path / "lines"))
        lines.write.parquet(str(tmp_path / "out"))
        lines.write.json(str(tmp_path / "again"))
    told: list[Building] = []
    with pytest.raises(lc.UnsupportedError, match="json files do not number"):
        store.index(run=run.id, progress=told.append)
    assert [state.left_out for state in told] == ["its rows have no ids"]
