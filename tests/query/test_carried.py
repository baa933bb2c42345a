"""Indexes of which the rids rode along with the written rows: the same, byte by byte."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lineage_core as lc
from lineage_core.execute import carry
from lineage_core.query import indexing
from lineage_core.query.carried import pairs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CARRIED = {
    "project": "select k from facts",
    "filter": "select id from facts where id % 5 = 2",
    "one to many": "select f.id, g.g from facts f join groups g on f.k = g.k where f.id > 5",
    "many to many": "select a.id, b.id as other from facts a join facts b on a.k = b.k",
    "group": "select k, count(*) as n, max(id) as m from facts group by k",
    "distinct": "select distinct k from facts",
    "count distinct": "select k, count(distinct id % 3) as n, sum(id) from facts group by k",
    "join and group": "select g, sum(id) from facts join groups using (k) group by g",
    "groups of groups": "select n, count(*) from"
    " (select count(*) n from facts group by k) group by n",
    "all rows": "select avg(id) from facts",
    "no rows": "select count(*) from facts where id < 0",
    "union": "select id from facts union all select k from groups",
    "groups of a union": "select g from"
    " (select g from groups union all select k from facts) group by g",
    "left outer": "select g.k, f.id from groups g left join facts f on f.id = g.k + 37",
    "full outer": "select g.k, f.id from groups g full join facts f on f.id = g.k + 37",
    "anti": "select k from groups where k not in (select id from facts where id < 3)",
    "rollup": "select g, k, count(*) as n from groups group by rollup(g, k)",
    "explode": "select id, v from facts lateral view explode(array(k, k + 1)) as v",
    "nulls": "select nullif(k, 3) as k, count(*) from facts group by 1",
    "filtered": "select k, count(*) filter (where id > 9) as n from facts group by k having n > 3",
    "window": "select id, sum(id) over (partition by k) as s from facts",
    "running": "select id, k, sum(id) over (partition by k order by id) as s from facts",
    "ranks": "select id, rank() over (partition by k order by id) as r,"
    " avg(id) over (partition by k order by id range between current row and unbounded following)"
    " as a from facts",
    "window of groups": "select k, n, sum(n) over () as s"
    " from (select k, count(*) as n from facts group by k)",
    "window of a join": "select g, id, max(id) over (partition by g order by k) as m"
    " from facts join groups using (k)",
    "sorted": "select k, id from facts order by k desc, id",
}

COMPUTED = {
    "semi": "select k from groups where k in (select id from facts)",
    "scalar": "select id from facts where id > (select max(k) from groups)",
    "window of rows": "select id, lag(id) over (partition by k order by id) as r from facts",
}


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("a lake")
    facts = spark.range(40).selectExpr("id", "id % 7 as k").repartition(3, "id")
    facts.write.parquet(str(root / "facts"))
    spark.range(7).selectExpr("id as k", "id % 3 as g").write.parquet(str(root / "groups"))
    return root


class Written:
    """A captured and indexed write of a query over the lake."""

    def __init__(self, spark: SparkSession, lake: Path, root: Path, query: str) -> None:
        for name in ("facts", "groups"):
            spark.read.parquet(str(lake / name)).createOrReplaceTempView(name)
        self.store = lc.open_store(str(root / "store"))
        with self.store.capture(spark, job="carried", index=True) as run:
            self.rows(spark.sql(query)).write.parquet(str(root / "out"))
        self.run = run.id
        self.folder = root / "store" / "runs" / run.id

    def rows(self, query: DataFrame) -> DataFrame:
        return query.toDF(*(f"c{i}" for i in range(len(query.columns))))

    def saved(self) -> set[str]:
        """Return what is saved with the run."""
        folder = self.folder / "saved"
        return {path.name for path in folder.iterdir()} if folder.exists() else set()

    def kept(self) -> set[str]:
        """Return what the run's record says is saved."""
        (output,) = self.store.run(self.run).outputs
        return {artifact.snapshot.dataset.rpartition("/")[2] for artifact in output.artifacts}

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.folder / "index").iterdir()}


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The places of the scans whose pairs were had from what rode along."""
    seen: list[int] = []

    def spy(carried: Any, relations: Any, at: int, *rest: Any) -> Any:
        seen.append(at)
        return pairs_of(carried, relations, at, *rest)

    monkeypatch.setattr(indexing, "pairs_of", spy)
    return seen


@pytest.mark.parametrize("query", [*CARRIED, *COMPUTED])
def test_it_is_what_the_program_gives(
    spark: SparkSession, lake: Path, tmp_path: Path, decoded: list[int], query: str
) -> None:
    written = Written(spark, lake, tmp_path, (CARRIED | COMPUTED)[query])
    assert bool(decoded) == (query in CARRIED)
    carried = written.files()
    assert written.saved() == written.kept(), "what the index was made of is gone"
    decoded.clear()
    written.store.index(run=written.run)
    assert written.files() == carried
    assert not decoded


def test_a_file_that_is_read_twice_is_known_by_both_its_numbers(
    spark: SparkSession, lake: Path, tmp_path: Path, decoded: list[int]
) -> None:
    facts = str(lake / "facts")
    store = lc.open_store(str(tmp_path / "store"))
    with store.capture(spark, job="twice", index=True) as run:
        spark.read.parquet(facts, facts).write.parquet(str(tmp_path / "out"))
    index = tmp_path / "store" / "runs" / run.id / "index"
    carried = {path.name: path.read_bytes() for path in index.iterdir()}
    store.index(run=run.id)
    assert decoded and {path.name: path.read_bytes() for path in index.iterdir()} == carried


def test_rows_come_out_as_they_would(
    spark: SparkSession, lake: Path, tmp_path: Path, decoded: list[int]
) -> None:
    query = "select k, id, string(id) as name from facts order by k, id desc"
    written = Written(spark, lake, tmp_path, query)
    assert decoded
    expected = written.rows(spark.sql(query)).collect()
    assert spark.read.parquet(str(tmp_path / "out")).orderBy("c0", "c1").count() == 40
    assert sorted(spark.read.parquet(str(tmp_path / "out")).collect()) == sorted(expected)


def test_files_that_do_not_hold_what_was_written_are_seen(
    spark: SparkSession,
    lake: Path,
    tmp_path: Path,
    decoded: list[int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(indexing, "check", _never)
    caplog.set_level(logging.INFO, "lineage_core")
    written = Written(spark, lake, tmp_path, CARRIED["group"])
    assert not decoded and "of no use" in caplog.text
    first = written.files()
    written.store.index(run=written.run)
    assert written.files() == first


def _never(*_: Any) -> None:
    raise lc.UnsupportedError("the files do not hold the rows as they were written")


def test_a_write_survives_an_index_that_cannot_be_built(
    spark: SparkSession, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "build", _never)
    written = Written(spark, lake, tmp_path, CARRIED["group"])
    assert not (written.folder / "index").exists()
    assert not any((written.folder / "saved").iterdir())
    assert spark.read.parquet(str(tmp_path / "out")).count() == 7
    (source,) = written.store.backward(str(tmp_path / "out"), where="c0 = 1").sources
    assert source.count() == 6


def test_groups_that_may_be_too_large_are_not_gathered(
    spark: SparkSession,
    lake: Path,
    tmp_path: Path,
    decoded: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(carry, "MOST_GATHERED", 39)
    monkeypatch.setattr(carry, "MOST_FRAMED", 39)
    written = Written(spark, lake, tmp_path / "grouped", CARRIED["group"])
    assert not decoded and len(written.files()) == 3
    Written(spark, lake, tmp_path / "framed", CARRIED["window"])
    assert not decoded
    Written(spark, lake, tmp_path / "joined", CARRIED["many to many"])
    assert decoded, "nothing is gathered there"
