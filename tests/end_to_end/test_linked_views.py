"""Views that Spark wrote, indexed and brushed: every bar, against loops over the rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lineage_core as lc
from lineage_core.cli.main import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [
    (n, n % 7 if n % 11 else None, ["AA", "BB", None][n % 3], None if n % 5 == 0 else n * 10)
    for n in range(60)
]
TAGS = {0: ["x", "y"], 1: ["y"], 2: []}

Row = tuple[Any, ...]
Bars = Callable[[Row], Iterable[tuple[Any, ...]]]

VIEWS: Mapping[str, tuple[tuple[str, ...], Bars]] = {
    "by_day": (("day",), lambda row: [(row[1],)]),
    "by_carrier": (("carrier",), lambda row: [(row[2],)]),
    "late": (("carrier",), lambda row: [(row[2],)] if (row[3] or 0) > 300 else []),
    "cube": (
        ("day", "carrier", "level"),
        lambda row: [(row[1], row[2], 0), (row[1], None, 1), (None, None, 3)],
    ),
    "tags": (("tag",), lambda row: [(tag,) for tag in TAGS[row[0] % 3]]),
}
"""Each view: its key columns, and the bars that a row of the source goes into."""


class World:
    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.root = root
        columns = "id long, day long, carrier string, delay long, tags array<string>"
        rows = [(*row, TAGS[row[0] % 3]) for row in ROWS]
        spark.createDataFrame(rows, columns).repartition(3).write.parquet(str(root / "flights"))
        flights = spark.read.parquet(str(root / "flights"))
        flights.createOrReplaceTempView("flights")
        self.store = lc.open_store(str(root / "store"))
        queries = {
            "by_day": "select day, count(*) as n from flights group by day",
            "by_carrier": "select carrier, count(*) as n from flights group by carrier",
            "late": "select carrier, max(delay) as most from flights where delay > 300"
            " group by carrier",
            "cube": "select day, carrier, grouping_id() as level, count(*) as n from flights"
            " group by rollup (day, carrier)",
            "tags": "select tag, count(*) as n from flights lateral view explode(tags) as tag"
            " group by tag",
        }
        with self.store.capture(spark, job="views") as run:
            for name, query in queries.items():
                spark.sql(query).write.parquet(self.path(name))
        self.run = run.id

    def path(self, name: str) -> str:
        return str(self.root / name)

    @property
    def paths(self) -> list[str]:
        return [self.path(name) for name in VIEWS]


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(spark, tmp_path_factory.mktemp("linked"))
    made.store.index(run=made.run)
    yield made
    made.store.catalog.close()


def expected(chosen: Mapping[str, tuple[Any, ...]]) -> dict[str, dict[Row, tuple[int, int]]]:
    """Return, for each view and bar, how many rows are in all other brushes, and their delays."""
    shown: dict[str, dict[Row, tuple[int, int]]] = {}
    for name, (_, bars) in VIEWS.items():
        shown[name] = {}
        others = [(VIEWS[other][1], bar) for other, bar in chosen.items() if other != name]
        for row in ROWS:
            kept = all(bar in of(row) for of, bar in others)
            for bar in bars(row):
                count, total = shown[name].get(bar, (0, 0))
                shown[name][bar] = count + kept, total + (row[3] or 0) * kept
    return shown


def told(world: World, found: Mapping[str, Any]) -> dict[str, dict[Row, tuple[int, int]]]:
    return {
        name: {
            tuple(row[key] for key in keys): (row["brushed"], row["brushed_delay"])
            for row in found[world.path(name)].to_pylist()
        }
        for name, (keys, _) in VIEWS.items()
    }


def test_every_bar_and_pairs_of_bars(world: World) -> None:
    opened = world.store.crossfilter(world.paths, measures=["delay"])
    assert opened.views == tuple(world.paths)
    assert set(opened.reasons.values()) == {()}
    assert told(world, opened.brush({})) == expected({})
    for name, (keys, _) in VIEWS.items():
        bars = [tuple(row[key] for key in keys) for row in bars_of(opened, world, name)]
        for rid, bar in zip(rids_of(world, name), bars, strict=True):
            found = opened.brush({world.path(name): [rid]})
            assert told(world, found) == expected({name: bar})
    day = {world.path("by_day"): "day = 3", world.path("tags"): "tag = 'y'"}
    assert told(world, opened.brush(day)) == expected({"by_day": (3,), "tags": ("y",)})
    null = {world.path("by_day"): "day is null", world.path("by_carrier"): "carrier = 'AA'"}
    assert told(world, opened.brush(null)) == expected({"by_day": (None,), "by_carrier": ("AA",)})


def bars_of(opened: Any, world: World, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = opened.brush({})[world.path(name)].to_pylist()
    return rows


def rids_of(world: World, name: str) -> list[int]:
    forward = world.store.forward(world.path("flights"), run=world.run, strategy="saved")
    (found,) = (output for output in forward.outputs if output.dataset.endswith(f"/{name}"))
    rids: list[int] = found.rids().to_pylist()
    return rids


def test_nothing_of_the_source_is_read_without_measures(world: World, tmp_path: Path) -> None:
    hidden = [
        path.rename(tmp_path / path.name) for path in (world.root / "flights").glob("*.parq*")
    ]
    try:
        found = world.store.crossfilter([world.path("by_day"), world.path("tags")]).brush(
            {world.path("tags"): "tag = 'x'"}
        )
        assert sum(found[world.path("by_day")].column("brushed").to_pylist()) == 20
        with pytest.raises(lc.ChangedError):
            world.store.crossfilter([world.path("by_day")], measures=["delay"])
    finally:
        for path in hidden:
            path.rename(world.root / "flights" / path.name)


def test_views_have_to_fit_together(spark: SparkSession, tmp_path: Path) -> None:
    store = lc.open_store(str(tmp_path / "store"))
    one, other, third = (str(tmp_path / name) for name in ("one", "other", "third"))
    spark.range(9).selectExpr("id", "id % 2 as k").write.parquet(one)
    spark.range(9).selectExpr("id", "id % 3 as k").write.parquet(other)

    def write(job: str, name: str, *sources: str, mode: str = "overwrite") -> str:
        with store.capture(spark, job=job) as run:
            joined = spark.read.parquet(sources[0])
            for source in sources[1:]:
                joined = joined.join(spark.read.parquet(source).select("id"), "id")
            joined.groupBy("k").count().coalesce(1).write.mode(mode).parquet(str(tmp_path / name))
        return run.id

    a = write("a", "a", one)
    with pytest.raises(lc.UnsupportedError, match="has no index") as caught:
        store.crossfilter([str(tmp_path / "a")])
    assert f"row-lineage index {a}" in caught.value.hint
    runs = [a, write("b", "b", other), write("c", "c", one, other), write("d", "d", one, other)]
    for run in runs:
        store.index(run=run)
    views = {name: str(tmp_path / name) for name in "abcd"}
    with pytest.raises(lc.UnsupportedError, match="no source in common"):
        store.crossfilter([views["a"], views["b"]])
    assert store.crossfilter([views["a"], views["c"]]).source.dataset.endswith("/one")
    with pytest.raises(lc.AmbiguousError, match="2 sources in common") as ambiguous:
        store.crossfilter([views["c"], views["d"]])
    assert one in ambiguous.value.hint and other in ambiguous.value.hint
    named = store.crossfilter([views["c"], views["d"]], source=other)
    assert named.source.dataset.endswith("/other")
    with pytest.raises(lc.NotFoundError, match="not a source of all"):
        store.crossfilter([views["a"], views["c"]], source=other)
    with pytest.raises(lc.NotFoundError, match="third"):
        store.crossfilter([views["a"], third])
    for wrong in ([], [views["a"], views["a"]]):
        with pytest.raises(lc.UnsupportedError, match="none, or one twice"):
            store.crossfilter(wrong)
    with pytest.raises(lc.UnsupportedError, match="of runs is none of them"):
        store.crossfilter([views["a"]], runs={"b": a})

    spark.range(4).selectExpr("id", "id % 2 as k").write.mode("append").parquet(one)
    store.index(run=write("e", "e", one))
    with pytest.raises(lc.UnsupportedError, match="different states") as states:
        store.crossfilter([views["a"], str(tmp_path / "e")])
    assert "/a (run" in str(states.value) and "/e (run" in str(states.value)

    store.index(run=write("a", "a", one, mode="append"))
    with pytest.raises(lc.UnsupportedError, match="2 appends"):
        store.crossfilter([views["a"]])
    shown = store.crossfilter([views["a"]], runs={views["a"]: a[:8]}).brush({})[views["a"]]
    assert sorted(shown.column("brushed").to_pylist()) == [4, 5]


def test_equal_rows_are_told_to_share_their_lineage(spark: SparkSession, tmp_path: Path) -> None:
    source, out = str(tmp_path / "in"), str(tmp_path / "out")
    spark.range(6).selectExpr("id", "id % 2 as k").coalesce(1).write.parquet(source)
    store = lc.open_store(str(tmp_path / "store"))
    with store.capture(spark, job="j") as run:
        spark.read.parquet(source).select("k").coalesce(1).write.parquet(out)
    store.index(run=run.id)
    opened = store.crossfilter([out])
    assert opened.brush({})[out].column("brushed").to_pylist() == [3] * 6
    assert opened.reasons[out] == ("rows equal in every column share what they were made of",)


def test_from_the_command_line(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.root)

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["--store", "store", *arguments])
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out, err

    views = ("by_day", "by_carrier")
    brush = ("--brush", "by_day", "day = 3", "--measure", "delay")
    code, out, _ = run("crossfilter", *views, *brush, "--format", "json", "--rows", "all")
    assert code == 0
    shown = {view["view"]: view["rows"] for view in json.loads(out)["views"]}
    assert list(shown) == list(views)
    lines = {row["carrier"]: (row["brushed"], row["brushed_delay"]) for row in shown["by_carrier"]}
    assert lines == {bar[0]: line for bar, line in expected({"by_day": (3,)})["by_carrier"].items()}
    counts = [row["brushed"] for row in shown["by_carrier"]]
    assert counts == sorted(counts, reverse=True)

    code, out, _ = run(
        "crossfilter", *views, *brush, "--only", "by_carrier", "--format", "csv", "--rows", "1"
    )
    assert code == 0 and out.splitlines()[0] == "carrier,n,brushed,brushed_delay"
    assert len(out.splitlines()) == 2
    code, out, _ = run("crossfilter", *views, *brush)
    assert code == 0 and "by_carrier" in out and "brushed_delay" in out

    for wrong, message in (
        (("crossfilter", *views, "--brush", "days", "x = 1"), "no view 'days'"),
        (("crossfilter", *views, "--only", "x"), "'x' is none of the views"),
        (("crossfilter", *views, *brush, "--brush", "by_day", "day = 4"), "one condition a view"),
        (("crossfilter", *views, "--format", "csv"), "--only"),
    ):
        code, out, err = run(*wrong)
        assert (code, out) == (2, "") and message in err

    code, out, _ = run("dependencies", "flights", "id -> day", "day -> carrier", "--format", "json")
    assert code == 0
    assert json.loads(out)["dependencies"] == [
        {"dependency": "id -> day", "violations": 0, "rows": 0},
        {"dependency": "day -> carrier", "violations": 8, "rows": 60},
    ]
    asked = ("dependencies", "flights", "day -> carrier", "--rows", "2", "--method", "cd")
    code, out, _ = run(*asked, "--format", "csv")
    assert code == 0 and out.splitlines()[0] == "day,rows,distinct" and len(out.splitlines()) == 3
    code, out, _ = run(*asked)
    assert code == 0 and out.count("day -> carrier") == 2
    code, _, err = run("dependencies", "flights", "day -> carier")
    assert code == 2 and "did you mean carrier" in err
