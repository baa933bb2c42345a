"""Frames that count rows: exact where no rows tie in the window's order, and the data says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

import lineage_core as lc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row: TypeAlias = tuple[int, str | None, int | None, int | None]
Store: TypeAlias = tuple[lc.LineageStore, Path]

# id, group, order value, value; in the files they stand in no order
ROWS: list[Row] = [
    (7, "a", 3, 30),
    (1, "a", 1, 10),
    (4, "a", None, None),
    (9, "a", 5, 50),
    (3, None, 2, 20),
    (2, None, 1, None),
    (8, "b", 4, 40),
    (5, "a", 4, None),
]


def partition(row: Row) -> list[Row]:
    """Return the rows of a row's group in the order of `t`, nulls first."""
    mine = [other for other in ROWS if other[1] == row[1]]
    return sorted(mine, key=lambda other: (other[2] is not None, other[2] or 0))


def around(lower: int | None, upper: int | None) -> Callable[[Row], set[int]]:
    """Return what gives the ids of a row's frame, and its own."""

    def frame(row: Row) -> set[int]:
        rows = partition(row)
        at = rows.index(row)
        first = 0 if lower is None else max(at + lower, 0)
        last = len(rows) if upper is None else max(at + upper + 1, 0)
        return {other[0] for other in [*rows[first:last], row]}

    return frame


OVER = "over (partition by g order by t"
BETWEEN = f"{OVER} rows between"
CASES: list[tuple[str, Callable[[Row], set[int]]]] = [
    (f"lag(v) {OVER})", around(-1, -1)),
    (f"lag(v, 2, -1) {OVER})", around(-2, -2)),
    (f"lead(v) {OVER})", around(1, 1)),
    (f"sum(v) {BETWEEN} unbounded preceding and current row)", around(None, 0)),
    (f"sum(v) {BETWEEN} current row and unbounded following)", around(0, None)),
    (f"sum(v) {BETWEEN} 1 preceding and 1 following)", around(-1, 1)),
    (f"min(v) {BETWEEN} 2 preceding and 1 preceding)", around(-2, -1)),
    (f"count(v) {BETWEEN} 1 following and 2 following)", around(1, 2)),
    (f"first(v) {BETWEEN} 1 preceding and current row)", around(-1, 0)),
]


@pytest.fixture
def made(spark: SparkSession, tmp_path: Path) -> Store:
    data = spark.createDataFrame(ROWS, "id int, g string, t int, v int")
    data.coalesce(1).write.parquet(str(tmp_path / "t"))
    spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("frames")
    return lc.open_store(str(tmp_path / "store")), tmp_path


def write(made: Store, spark: SparkSession, query: str, materialize: str = "auto") -> str:
    store, folder = made
    with store.capture(spark, job="frames", materialize=materialize):
        spark.sql(query).coalesce(1).write.mode("overwrite").parquet(str(folder / "out"))
    return str(folder / "out")


def lineage(made: Store, id: int, engine: str, strategy: str = "auto") -> tuple[str, set[int]]:
    store, folder = made
    answer = store.backward(str(folder / "out"), f"id = {id}", engine=engine, strategy=strategy)
    (source,) = answer.sources
    return str(source.precision), set(source.to_arrow(["id"]).column("id").to_pylist())


@pytest.mark.parametrize(("call", "frame"), CASES, ids=[call for call, _ in CASES])
def test_a_frame_is_the_rows_it_counts(
    made: Store, spark: SparkSession, call: str, frame: Callable[[Row], set[int]]
) -> None:
    write(made, spark, f"select id, {call} as w from frames")
    for row in ROWS:
        assert lineage(made, row[0], "duckdb") == ("exact", frame(row)), row
    assert lineage(made, 7, "spark") == ("exact", frame(ROWS[0]))
    assert lineage(made, 7, "duckdb", "replay") == ("exact", frame(ROWS[0]))


@pytest.mark.parametrize("materialize", ["inject", "never"])
def test_however_intermediates_are_had(
    made: Store, spark: SparkSession, materialize: str
) -> None:
    write(made, spark, f"select id, lag(v) {OVER}) as w from frames", materialize)
    for row in ROWS:
        assert lineage(made, row[0], "duckdb") == ("exact", around(-1, -1)(row))


def test_pairs_and_forward_tell_the_same(made: Store, spark: SparkSession) -> None:
    query = f"select id, sum(v) {BETWEEN} 1 preceding and current row) as w from frames"
    out = write(made, spark, query)
    store, folder = made
    (source,) = store.backward(out).sources
    back = set(zip(*source.pairs().to_pydict().values(), strict=True))
    (result,) = store.forward(str(folder / "t")).outputs
    assert set(zip(*result.pairs().to_pydict().values(), strict=True)) == back
    assert len(back) == sum(len(around(-1, 0)(row)) for row in ROWS)


def test_frames_of_several_kinds_and_windows(made: Store, spark: SparkSession) -> None:
    """Of one window by number, of another one by value: the row's lineage is all of them."""
    query = (
        f"select id, lag(v) {OVER}) as w, rank() {OVER}) as r, "
        "sum(v) over (partition by g order by v range between 10 preceding and current row) as s "
        "from frames where t > 0"
    )
    write(made, spark, query)
    assert lineage(made, 9, "duckdb") == ("exact", {1, 5, 7, 9})  # the rank sees all before
    assert lineage(made, 3, "duckdb") == ("exact", {2, 3})


def test_below_other_operators(made: Store, spark: SparkSession) -> None:
    """Rows whose value rose, counted by group: the group's, and what each was compared with."""
    query = (
        "select g, count(*) as id from "
        f"(select g, v, lag(v) {OVER}) as before from frames where g is not null) "
        "where before is null or v > before group by g"
    )
    write(made, spark, query)
    # of group a: 4 (no row before it), 1 (after 4, whose value is null), 7 (after 1), 9 (after 5)
    store, folder = made
    (source,) = store.backward(str(folder / "out"), "g = 'a'").sources
    assert source.precision == "exact", source.reason
    found = set(source.to_arrow(["id"]).column("id").to_pylist())
    kept = {4: {4}, 1: {1, 4}, 7: {1, 7}, 9: {5, 9}}
    assert found == set.union(*kept.values())


@pytest.mark.parametrize("strategy", ["auto", "replay"])
def test_ties_make_a_superset_that_says_so(
    made: Store, spark: SparkSession, strategy: str
) -> None:
    """The order has two rows of 4 in one group: nobody knows which of them Spark took for first."""
    query = "select id, lag(v) over (partition by g is null order by t) as w from frames"
    write(made, spark, query)
    store, folder = made
    (source,) = store.backward(str(folder / "out"), "id = 9", strategy=strategy).sources
    assert source.precision == "superset" and "ties" in source.reason
    found = set(source.to_arrow(["id"]).column("id").to_pylist())
    assert {9} < found and found & {5, 8}


def test_what_ties_is_asked_of_the_data_the_run_read(made: Store, spark: SparkSession) -> None:
    write(made, spark, f"select id, lag(v) {OVER}) as w from frames")
    store, folder = made
    for file in (folder / "t").glob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(lc.LineageError, match="changed"):
        store.backward(str(folder / "out"), "id = 9").sources[0].rids()


def test_a_row_number_is_had_again_where_no_rows_tie(made: Store, spark: SparkSession) -> None:
    """The newest row of each group, without its number: replay finds it without anything saved."""
    numbered = "row_number() over (partition by g order by t desc) as n"
    query = f"select id from (select *, {numbered} from frames) where n = 1"
    write(made, spark, query, "never")
    assert lineage(made, 9, "duckdb", "replay") == ("exact", {9})
    assert lineage(made, 8, "spark", "replay") == ("exact", {8})
