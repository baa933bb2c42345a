"""Saving intermediates by plan surgery, with programs made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from lineage_core.capture import CapturedPlan, read_dataframe
from lineage_core.errors import UnsupportedError
from lineage_core.execute import choose, defer, inject, saved
from lineage_core.execute.jvm import items
from lineage_core.execute.tree import Tree
from lineage_core.execute.widen import Widener
from lineage_core.execute.writers import over
from lineage_core.plan.expr import TRUE
from lineage_core.plan.program import Step, StepKind
from lineage_core.plan.relation import Aggregate, Field, Join, Limit, Plan, Scan, output
from lineage_core.plan.traverse import nodes
from lineage_core.store import ArtifactStore
from lineage_core.store.manifest import Artifact, Materialize

RUN = "00000000-0000-4000-8000-000000000000"
QUERY = """
select s, count(*) as n, max(total) as top
from (select k, s, sum(v) as total from facts join names on k = id group by k, s)
group by s order by s
"""


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    facts = pa.table({"k": [0, 0, 1, 1, 2, None], "v": [1, 2, 3, 4, 5, 6], "w": [7] * 6})
    names = pa.table({"id": [0, 1, 2], "s": ["x", "x", "y"]})
    for name, table in (("facts", facts), ("names", names)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
        spark.read.parquet(str(tmp_path / f"{name}.parquet")).createOrReplaceTempView(name)
    yield spark
    for name in ("facts", "names"):
        spark.catalog.dropTempView(name)


@pytest.fixture
def place(tmp_path: Path) -> saved.Place:
    return saved.Place(ArtifactStore(str(tmp_path / "a store")), RUN, 0)


def find(plan: Plan, kind: type[Plan]) -> list[Plan]:
    return [node for node in nodes(plan) if isinstance(node, kind)]


def step(captured: CapturedPlan, at: int, *names: str) -> Step:
    """A saved step at operator `at`, of the source columns of these names."""
    fields = {
        c.name: c
        for scan in find(captured.plan, Scan)
        if isinstance(scan, Scan)
        for c in scan.columns
    }
    columns: tuple[Field, ...] = tuple(fields[name] for name in names)
    return Step(StepKind.SAVED, 0, TRUE, columns, at, "saved")


def content(store: ArtifactStore, artifact: Artifact, columns: list[str]) -> list[object]:
    paths = [store.uri(f.path).removeprefix("file://") for f in artifact.snapshot.files]
    tables = [pq.read_table(path.replace("%20", " "), columns=columns) for path in paths]
    return sorted((tuple(r.values()) for r in pa.concat_tables(tables).to_pylist()), key=str)


def test_widening_offers_pruned_columns(tables: SparkSession) -> None:
    captured = read_dataframe(tables.sql(QUERY))
    (join,) = find(captured.plan, Join)
    tree = Tree.of(tables, captured.java, captured.plan)
    scanned = {f.id for scan in find(captured.plan, Scan) for f in output(scan)}
    pruned = scanned - {f.id for f in output(join)}
    assert pruned
    before = captured.java.toString()
    widener = Widener(tree)
    widener.ask(join.at, pruned)
    wide = widener.build(join.at)
    offered = {a.exprId().id() for a in items(wide.node.output())}
    found = widener.require(join.at, wide, pruned)
    assert found.keys() == pruned and {a.exprId().id() for a in found.values()} <= offered
    assert captured.java.toString() == before
    java = tree.nodes[join.at]
    assert saved.dataset(tables, wide.node).count() == saved.dataset(tables, java).count() == 5
    top = find(captured.plan, Aggregate)[0].at
    assert not Widener(tree).offers(top, pruned)
    with pytest.raises(UnsupportedError, match=r"Aggregate \(operator \d+\) cannot offer"):
        widener.require(top, widener.build(top), pruned)


def test_defer_saves_distinct_rows_of_the_columns(tables: SparkSession, place: saved.Place) -> None:
    captured = read_dataframe(tables.sql(QUERY))
    (join,) = find(captured.plan, Join)
    wanted = step(captured, join.at, "w", "k")
    artifact = defer.save(Tree.of(tables, captured.java, captured.plan), wanted, 3, place)
    names = [f"c{column.id}" for column in wanted.columns]
    assert [c.name for c in artifact.snapshot.columns] == names
    assert (artifact.step, artifact.how, artifact.rows) == (3, Materialize.DEFER, 3)
    assert content(place.store, artifact, names) == [(7, 0), (7, 1), (7, 2)]
    folder = f"runs/{RUN}/saved/0-{join.at}/"
    assert all(f.path.startswith(folder) for f in artifact.snapshot.files)
    place.remove(kept=[join.at])
    assert place.store.exists(artifact.snapshot.files[0].path)
    place.remove()
    assert not place.store.exists(artifact.snapshot.files[0].path)


def test_nested_steps_are_all_split_off(tables: SparkSession, place: saved.Place) -> None:
    """The upper step needs a column that is pruned below the lower one."""
    frame = tables.sql(QUERY)
    captured = read_dataframe(frame)
    (join,), lower = find(captured.plan, Join), find(captured.plan, Aggregate)[1]
    steps = {1: step(captured, lower.at, "k"), 2: step(captured, join.at, "w", "v")}
    rest, artifacts = inject.inject(tables, captured.java, captured.plan, steps, place)
    assert [(a.step, a.rows, a.how) for a in artifacts] == [
        (1, 3, Materialize.INJECT),
        (2, 5, Materialize.INJECT),
    ]
    w = f"c{steps[2].columns[0].id}"
    assert content(place.store, artifacts[1], [w]) == [(7,)] * 5
    rebuilt = DataFrame(saved.dataset(tables, rest), tables)
    assert rebuilt.schema == frame.schema
    assert rebuilt.collect() == frame.collect()
    files = {Path(f).parent.name for f in rebuilt.inputFiles()}
    assert files == {f"0-{lower.at}"}, "the rest of the plan must read what was saved last"


def test_order_survives_a_split(tables: SparkSession, place: saved.Place) -> None:
    frame = tables.sql("select v, k from facts order by v desc limit 4")
    captured = read_dataframe(frame)
    (limit,) = find(captured.plan, Limit)
    steps = {1: step(captured, limit.at, "v")}
    rest, _ = inject.inject(tables, captured.java, captured.plan, steps, place)
    assert DataFrame(saved.dataset(tables, rest), tables).collect() == frame.collect()


def test_a_copied_writer_has_every_setting(tables: SparkSession, tmp_path: Path) -> None:
    mine, other = tables.table("facts"), tables.table("facts").where("k = 0")
    writer = mine.write.mode("append").option("compression", "gzip").partitionBy("k").format("csv")
    over(tables, writer._jwrite, other._jdf).save(str(tmp_path / "out"))
    assert {p.name for p in (tmp_path / "out").iterdir() if "=" in p.name} == {"k=0"}
    assert list((tmp_path / "out").glob("k=0/*.csv.gz"))
    second = mine.writeTo("lineage_copied").using("parquet").tableProperty("a", "b")
    try:
        over(tables, second._jwriter, other._jdf).create()
        assert tables.table("lineage_copied").count() == 2
        properties = tables.sql("show tblproperties lineage_copied ('a')").collect()
        assert properties[0]["value"] == "b"
    finally:
        tables.sql("drop table if exists lineage_copied")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("select k from facts where rand() < 0.5", "not deterministic"),
        ("select k from facts limit 3", "takes any rows"),
        ("select k from facts order by v limit 3", "takes any rows"),
        ("select k, sum(cast(v as double)) from facts group by k", "no fixed order"),
        ("select k, first(v) from facts group by k", "no fixed order"),
        ("select k, sum(v) from facts group by k", ""),
    ],
)
def test_what_cannot_be_computed_again(tables: SparkSession, query: str, why: str) -> None:
    captured = read_dataframe(tables.sql(query))
    for wish in (Materialize.AUTO, Materialize.INJECT):
        assert choose.choose(wish, captured.plan, can_inject=True) is Materialize.INJECT
    for wish, can_inject in ((Materialize.DEFER, True), (Materialize.AUTO, False)):
        if why:
            with pytest.raises(UnsupportedError, match=why):
                choose.choose(wish, captured.plan, can_inject=can_inject)
        else:
            chosen = choose.choose(wish, captured.plan, can_inject=can_inject)
            assert chosen is Materialize.DEFER
