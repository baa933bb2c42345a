"""Every operator as the place of a saved intermediate, and as what is widened below one.

Each pipeline drops what would tell its rows apart, so that something has to be saved. Who came from
whom is worked out by hand here, row by row, over the same small tables.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from lineage_core import open_store
from lineage_core.execute import defer, inject, saved
from lineage_core.lineage import LineageStore
from lineage_core.plan.program import StepKind
from lineage_core.plan.repeat import unrepeatable
from lineage_core.plan.traverse import nodes
from lineage_core.query.answer import Precision
from lineage_core.store.manifest import Materialize, OutputRecord

Row = dict[str, Any]
Made = Iterable[tuple[tuple[Any, ...], Iterable[int], Iterable[int]]]
"""Output rows, and the rids of `l` and of `r` that each came from."""

L: list[Row] = [
    {"rid": rid, "k": k, "a": a, "v": 2**rid}
    for rid, (k, a) in enumerate([(0, 5), (0, 4), (1, 3), (1, 2), (2, 1), (None, 0)])
]
R: list[Row] = [{"rid": rid, "id": id, "w": 10 ** (rid + 2)} for rid, id in enumerate([0, 1, 1, 3])]


def partners(row: Row) -> list[Row]:
    return [r for r in R if r["id"] == row["k"]]


def pairs() -> list[tuple[Row, Row]]:
    return [(row, r) for row in L for r in partners(row)]


def inner() -> Made:
    return [((x["v"] + y["w"],), [x["rid"]], [y["rid"]]) for x, y in pairs()]


def left_only() -> Made:
    return [((x["v"],), [x["rid"]], []) for x in L if not partners(x)]


def right_only() -> Made:
    ids = {x["k"] for x in L}
    return [((y["w"],), [], [y["rid"]]) for y in R if y["id"] not in ids]


def left_groups() -> Made:
    for k in (0, 1, 2, None):
        rows = [x for x in L if x["k"] == k]
        found = [y for y in R if y["id"] == k]
        n = len(rows) * len(found)
        total = sum(x["v"] for x in rows) * max(len(found), 1)
        yield (total * 10 + n,), [x["rid"] for x in rows], [y["rid"] for y in found]


def united() -> Made:
    for (value,), ls, rs in inner():
        yield (value * 2 + 1,), ls, rs
    for x in L:
        yield ((x["v"] + x["a"] * 7) * 2 + 1,), [x["rid"]], []


def joined_union() -> Made:
    """Rows of a join and of a table, joined again."""
    for x, y in pairs():
        for z in R:
            if z["id"] == x["a"]:
                yield (x["v"] + y["w"] + z["w"] * 3,), [x["rid"]], {y["rid"], z["rid"]}
    for x in L:
        for z in R:
            if z["id"] == x["a"]:
                yield (x["v"] * 1000000 + z["w"] * 3,), [x["rid"]], [z["rid"]]


def self_union() -> Made:
    """The same relation twice: rows of the one half are not those of the other."""
    for x, y in pairs():
        for copy in (1, 2):
            for z in R:
                if z["id"] == x["a"]:
                    value = copy * 10**8 + x["v"] + y["w"] + z["w"] * 3
                    yield (value,), [x["rid"]], {y["rid"], z["rid"]}


def running() -> Made:
    for x in L:
        frame = [y for y in L if y["k"] == x["k"] and y["a"] <= x["a"]]
        yield (sum(y["v"] for y in frame),), [y["rid"] for y in frame], []


def running_pairs() -> Made:
    for x, y in pairs():
        frame = [
            (p, q) for p, q in pairs() if p["k"] == x["k"] and (p["a"], q["w"]) <= (x["a"], y["w"])
        ]
        value = sum(p["v"] + q["w"] for p, q in frame)
        yield (value,), {p["rid"] for p, _ in frame}, {q["rid"] for _, q in frame}


def window_joined() -> Made:
    """A window over a join, joined once more."""
    for x, y in pairs():
        frame = [(p, q) for p, q in pairs() if p["k"] == x["k"]]
        for z in R:
            if z["id"] == x["a"]:
                value = x["v"] + y["w"] + z["w"] * 3 + sum(p["v"] for p, _ in frame) * 10**7
                rs = {q["rid"] for _, q in frame} | {z["rid"]}
                yield (value,), {p["rid"] for p, _ in frame}, rs


def grouped(keys: Iterable[str], rows: list[tuple[Row, Row | None]]) -> dict[Any, Any]:
    groups: dict[Any, Any] = defaultdict(list)
    for x, y in rows:
        groups[tuple(x[key] for key in keys)].append((x, y))
    return groups


def rollup() -> Made:
    for keys in (("k", "a"), ("k",), ()):
        for group in grouped(keys, list(pairs())).values():
            value = sum(x["v"] * 3 + y["w"] for x, y in group) * 4 + len(keys)
            yield (value,), {x["rid"] for x, _ in group}, {y["rid"] for _, y in group}


def distincts() -> Made:
    for group in grouped(["k"], [(x, None) for x in L]).values():
        rows = [x for x, _ in group]
        value = len({x["v"] for x in rows}) + len({x["a"] for x in rows}) * 10
        yield (value, max(x["v"] for x in rows)), [x["rid"] for x in rows], []


def exploded() -> Made:
    for x, y in pairs():
        for part in (x["a"], x["a"] + 100):
            yield (part * 3 + y["w"] * 1000 + x["v"],), [x["rid"]], [y["rid"]]


def exploded_joined() -> Made:
    for x, y in pairs():
        for part in (1, 3):
            for z in R:
                if z["id"] == part:
                    value = x["v"] + y["w"] + z["w"] * 3 + part * 10**7
                    yield (value,), [x["rid"]], {y["rid"], z["rid"]}


def existing() -> Made:
    for x in L:
        if partners(x) or x["v"] > 16:
            yield (x["v"] + x["a"] * 100,), [x["rid"]], [y["rid"] for y in partners(x)]


def anti() -> Made:
    """`NOT IN` without nulls: nothing comes from the right."""
    without = [x for x in L if x["k"] is not None and not partners(x)]
    return [((x["v"] + x["a"] * 100,), [x["rid"]], []) for x in without]


def offset() -> Made:
    for k in (1, 0):  # the second and third of 2, 1, 0, null
        rows = [x for x in L if x["k"] == k]
        found = [y for y in R if y["id"] == k]
        value = sum(x["v"] for x in rows) * len(found)
        yield (value,), [x["rid"] for x in rows], [y["rid"] for y in found]


def scalar() -> Made:
    """Beside the rows of a group, all that the subquery's value was made of."""
    for group in grouped(["k"], [(x, None) for x in L if x["a"] < 4]).values():
        yield (sum(x["v"] for x, _ in group),), [x["rid"] for x, _ in group], range(len(R))


@dataclass(frozen=True)
class Case:
    query: str
    expected: Callable[[], Made]
    saved: str  # the operator


JOINED = "select v, w, a from l join r on k = id"

CASES = {
    "inner": Case("select v + w x from l join r on k = id", inner, "Join"),
    "left": Case(
        "select coalesce(v, 0) + coalesce(w, 0) x from l left join r on k = id",
        lambda: [*inner(), *left_only()],
        "Left outer join",
    ),
    "right": Case(
        "select coalesce(v, 0) + coalesce(w, 0) x from l right join r on k = id",
        lambda: [*inner(), *right_only()],
        "Right outer join",
    ),
    "full": Case(
        "select coalesce(v, 0) + coalesce(w, 0) x from l full join r on k = id",
        lambda: [*inner(), *left_only(), *right_only()],
        "Full outer join",
    ),
    "groups": Case(
        "select sum(v) * 10 + count(w) x from l left join r on k = id group by k",
        left_groups,
        "Aggregate",
    ),
    "union": Case(
        f"""select y + 1 z from (
            select x * 2 y from (select v + w x from ({JOINED}) union all select v + a * 7 from l)
        )""",
        united,
        "Join",
    ),
    "join above a union": Case(
        f"""select y + r.w * 3 z
        from (select v + w y, a from ({JOINED}) union all select v * 1000000, a from l) u
        join r on u.a = r.id""",
        joined_union,
        "Join",
    ),
    "join above a union of copies": Case(
        f"""with j as ({JOINED})
        select y + r.w * 3 z
        from (select 100000000 + v + w y, a from j union all select 200000000 + v + w, a from j) u
        join r on u.a = r.id""",
        self_union,
        "Join",
    ),
    "window": Case(
        "select v * 0 + sum(v) over (partition by k order by a) s from l", running, "Window"
    ),
    "window over a join": Case(
        "select sum(v + w) over (partition by k order by a, w) s from l join r on k = id",
        running_pairs,
        "Window",
    ),
    "join above a window": Case(
        """select y + r.w * 3 + s * 10000000 z from (
            select v + w y, a, sum(v) over (partition by k) s from l join r on k = id
        ) u join r on u.a = r.id""",
        window_joined,
        "Join",
    ),
    "rollup": Case(
        """select s * 4 + g z from (
            select sum(v * 3 + w) s, 2 - (grouping(k) + grouping(a)) g
            from l join r on k = id group by rollup(k, a)
        )""",
        rollup,
        "Aggregate",
    ),
    "count distinct": Case(
        "select count(distinct v) + count(distinct a) * 10 n, max(v) m from l group by k",
        distincts,
        "Aggregate",
    ),
    "generate": Case(
        """select e * 3 + w * 1000 + v z from (
            select k, w, v, explode(array(a, a + 100)) e from l join r on k = id
        )""",
        exploded,
        "Generate",
    ),
    "join above a generate": Case(
        f"""select y + r.w * 3 + e * 10000000 z
        from (select v + w y, explode(array(a - a + 1, 3)) e from ({JOINED})) u
        join r on u.e = r.id""",
        exploded_joined,
        "Join",
    ),
    "existence": Case(
        """select x + 0 y from (
            select v + a * 100 x from l where exists (select 1 from r where id = k) or v > 16
        )""",
        existing,
        "Filter",
    ),
    "anti": Case(
        """select v + a * 100 x from l left anti join r on k = id where k is not null""",
        anti,
        "Anti join",
    ),
    "offset": Case(
        """select s from (
            select k, sum(v) s from l left join r on k = id
            group by k order by k desc nulls last limit 2 offset 1
        )""",
        offset,
        "Limit",
    ),
    "scalar": Case(
        "select sum(v) s from l where a < (select count(w) from r) group by k",
        scalar,
        "Aggregate",
    ),
}
HOW = [
    (name, how)
    for name in CASES
    for how in ("inject", "defer")
    if (name, how) != ("count distinct", "defer")  # Spark makes it of `first`
]


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    for name, rows in (("l", L), ("r", R)):
        columns = [column for column in rows[0] if column != "rid"]
        table = pa.table({column: [row[column] for row in rows] for column in columns})
        pq.write_table(table, tmp_path / f"{name}.parquet")
        spark.read.parquet(str(tmp_path / f"{name}.parquet")).createOrReplaceTempView(name)
    yield tmp_path
    for name in ("l", "r"):
        spark.catalog.dropTempView(name)


@pytest.fixture
def store(lake: Path) -> LineageStore:
    return open_store(str(lake / "a store"))


def written(path: Path) -> dict[int, tuple[Any, ...]]:
    """Return the rows of an output by rid."""
    return {
        (number << 40) + i: tuple(row.values())
        for number, file in enumerate(sorted(path.glob("*.parquet")))
        for i, row in enumerate(pq.read_table(file).to_pylist())
    }


def schema(path: Path) -> tuple[object, object]:
    """Return the columns of an output as its files have them, and as Spark describes them there."""
    found = pq.read_schema(min(path.glob("*.parquet")))
    fields = [(f.name, f.type, f.nullable) for f in found]
    return fields, found.metadata[b"org.apache.spark.sql.parquet.row.metadata"]


def check_same(lake: Path) -> None:
    """The output `out` of a captured run must be that of the plain run, `plain`."""
    assert schema(lake / "plain") == schema(lake / "out")
    plain, captured = (Counter(map(str, written(lake / n).values())) for n in ("plain", "out"))
    assert plain == captured


def rids(store: LineageStore, out: Path, source: Path) -> dict[int, set[int]]:
    """Return, by rid of the output, the rids of a source, all of them exact by what was saved."""
    answer = store.backward(str(out), strategy="saved", engine="duckdb")
    found: dict[int, set[int]] = defaultdict(set)
    for part in answer.sources:
        assert part.precision is Precision.EXACT, (part.dataset, part.reason)
    if any(part.dataset.endswith(source.name) for part in answer.sources):
        for pair in answer.pairs(str(source)).to_pylist():
            found[pair["out_rid"]].add(pair["in_rid"])
    return found


def check_pairs(store: LineageStore, lake: Path, expected: Made) -> None:
    by_row = {row: (set(ls), set(rs)) for row, ls, rs in expected}
    rows = written(lake / "out")
    assert sorted(rows.values()) == sorted(by_row), "rows that are equal are answered together"
    for side, name in enumerate(("l", "r")):
        found = rids(store, lake / "out", lake / f"{name}.parquet")
        assert {rid: found[rid] for rid in rows} == {
            rid: by_row[row][side] for rid, row in rows.items()
        }, name


@pytest.mark.parametrize(("name", "how"), HOW)
def test_an_intermediate_is_saved(
    spark: SparkSession, store: LineageStore, lake: Path, name: str, how: str
) -> None:
    case = CASES[name]
    spark.sql(case.query).write.parquet(str(lake / "plain"))
    with store.capture(spark, job=name, materialize=how) as run:
        spark.sql(case.query).write.parquet(str(lake / "out"))
    (record,) = run.outputs
    assert record.uncaptured == "" and record.program is not None
    steps = [step for step in record.program.steps if step.kind is StepKind.SAVED]
    assert any(step.name.startswith(f"{case.saved} (") for step in steps), steps
    assert {artifact.how for artifact in record.artifacts} == {Materialize(how)}
    assert {a.step for a in record.artifacts} == set(record.program.saved)
    assert not any(step.kind is StepKind.COMPUTED for step in record.program.steps)
    check_same(lake)
    check_pairs(store, lake, case.expected())


def run_twice(
    spark: SparkSession, store: LineageStore, lake: Path, query: str, how: str
) -> OutputRecord:
    """Write a query plainly and captured; the outputs must be the same."""
    spark.sql(query).write.mode("overwrite").parquet(str(lake / "plain"))
    with store.capture(spark, job="test", materialize=how) as run:
        spark.sql(query).write.mode("overwrite").parquet(str(lake / "out"))
    (record,) = run.outputs
    assert record.uncaptured == "" and record.program is not None
    assert {a.step for a in record.artifacts} == set(record.program.saved)
    check_same(lake)
    return record


HOSTILE = ["a.b", "a`b", 'it\'s "x"', "with space", "K", "k", "dé,c", "c1", "x0"]


@pytest.mark.parametrize("how", ["inject", "defer"])
def test_names_are_never_parsed(
    spark: SparkSession, store: LineageStore, lake: Path, how: str
) -> None:
    """Every name is a column of both sides of the join that is saved, and nothing else is told."""
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        for side in ("p", "q"):
            table = pa.table({n: [10 * i, 10 * i + 1] for i, n in enumerate(HOSTILE)})
            table = table.append_column("id", pa.array([1, 1]))
            pq.write_table(table, lake / f"{side}.parquet")
            spark.read.parquet(str(lake / f"{side}.parquet")).createOrReplaceTempView(side)
        quoted = [f"`{name.replace('`', '``')}`" for name in HOSTILE]
        columns = ", ".join(f"p.{name}" for name in quoted)
        query = f"select {columns}, p.k + q.k + p.K * q.k as s from p join q on p.id = q.id"
        record = run_twice(spark, store, lake, f"select s as `s.t` from ({query})", how)
        assert record.artifacts
        run_twice(spark, store, lake, query, how)
        answer = store.backward(str(lake / "out"), strategy="saved", engine="spark")
        rows = written(lake / "out")
        found = {tuple(pair.values()) for pair in answer.pairs(str(lake / "p.parquet")).to_pylist()}
        place = len(HOSTILE) - 1
        assert found == {(rid, row[place] % 10) for rid, row in rows.items()}
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
        for side in ("p", "q"):
            spark.catalog.dropTempView(side)


NESTED = """
select named_struct('a', v, 'b', array(cast(null as int), 1), '', named_struct('x y', 'z')) s,
    map('k', array(v)) m, array(named_struct('q', w)) n, null nothing, v = 1 f,
    cast(v as decimal(20, 3)) d, timestamp_micros(v * 1000001) t, make_ym_interval(1, 2) ym,
    x'00ff' b, cast(v as string) collate utf8_lcase c, timestamp_ntz'9999-12-31 23:59:59.999999' z,
    v + w as total
from l join r on k = id
"""


@pytest.mark.parametrize("how", ["inject", "defer"])
def test_types_are_handed_through(
    spark: SparkSession, store: LineageStore, lake: Path, how: str
) -> None:
    """A limit saves its whole rows; what is written above it has the types it had."""
    query = f"""
        select s, m, n, nothing is null as o, f, d, t, ym, b, c, z
        from ({NESTED}) order by total limit 4
    """
    timestamps = "spark.sql.parquet.outputTimestampType"
    spark.conf.set(timestamps, "TIMESTAMP_MILLIS")
    try:
        record = run_twice(spark, store, lake, query, how)
        if how == "inject":
            assert record.artifacts
    finally:
        spark.conf.unset(timestamps)


@pytest.mark.parametrize("how", ["inject", "defer"])
def test_columns_of_no_type_are_handed_through(
    spark: SparkSession, store: LineageStore, lake: Path, how: str
) -> None:
    query = """
        select nothing is null as o, x
        from (select null nothing, v + w as x from l join r on k = id)
    """
    assert run_twice(spark, store, lake, query, how).artifacts


def test_both_parts_of_a_plan_run_at_one_time(
    spark: SparkSession, store: LineageStore, lake: Path
) -> None:
    query = """
        select x, below = current_timestamp() same from (
            select v + w x, max(below) below
            from (select v, w, k, current_timestamp() below from l join r on k = id)
            group by v + w
        )
    """
    record = run_twice(spark, store, lake, query, "inject")
    assert record.artifacts
    assert all(row[1] for row in written(lake / "out").values())


RANDOM = {
    "above": "select x, rand(7) y from (select sum(v) x from l group by k)",
    "beside": """
        select u.x, t.y from (select sum(v) x, k from l group by k) u
        join (select id, rand(7) y from r) t on u.k = t.id
    """,
    "in both": """
        with c as (select k, rand(7) y from l)
        select a.y = b.y same, a.n from (select k, max(y) y, count(*) n from c group by k) a
        join (select k, max(y) y from c group by k) b on a.k = b.k
    """,
    "file": "select x, input_file_name() y from (select sum(v) x from l group by k)",
    "sample": """
        select sum(x) y
        from (select sum(v) x, k from l group by k) tablesample (50 percent) repeatable (3)
    """,
}


@pytest.mark.parametrize("name", RANDOM)
def test_what_is_random_stays_in_the_users_job(
    spark: SparkSession, store: LineageStore, lake: Path, name: str
) -> None:
    record = run_twice(spark, store, lake, RANDOM[name], "inject")
    assert record.program is not None
    for artifact in record.artifacts:
        if artifact.how is Materialize.INJECT:
            assert not inseparable_at(record, artifact.step)


def inseparable_at(record: OutputRecord, number: int) -> bool:
    """Whether a random expression is outside of what was saved for a step."""
    assert record.plan is not None and record.program is not None
    at = record.program.steps[number].at
    inside = next(node for node in nodes(record.plan) if node.at == at)
    return bool(unrepeatable(record.plan)) and not unrepeatable(inside)


def test_what_is_random_below_is_saved(
    spark: SparkSession, store: LineageStore, lake: Path
) -> None:
    query = "select sum(v) x, count(*) n from (select *, rand(7) u from l) where u < 0.7 group by k"
    record = run_twice(spark, store, lake, query, "inject")
    assert {artifact.how for artifact in record.artifacts} == {Materialize.INJECT}


def test_partitions_that_were_arranged_are_kept(
    spark: SparkSession, store: LineageStore, lake: Path
) -> None:
    frame = spark.sql("select v + w x from l join r on k = id").repartition(4).selectExpr("x + 1 y")
    with store.capture(spark, job="test", materialize="inject") as run:
        frame.write.parquet(str(lake / "out"))
        frame.sortWithinPartitions("y").write.parquet(str(lake / "sorted"))
    assert all(record.artifacts and not record.uncaptured for record in run.outputs)
    assert len(list((lake / "out").glob("*.parquet"))) == 4
    for file in (lake / "sorted").glob("*.parquet"):
        rows = pq.read_table(file).column(0).to_pylist()
        assert rows == sorted(rows)


@pytest.mark.parametrize("how", ["inject", "defer"])
@pytest.mark.parametrize("times", [1, 99])
def test_what_cannot_be_saved_is_computed(
    spark: SparkSession,
    store: LineageStore,
    lake: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    times: int,
) -> None:
    """A job that fails costs one intermediate, and no exactness where it can be computed again."""
    failures: list[object] = []
    save = saved.write

    def fail(*args: Any) -> None:
        if len(failures) < times:
            failures.append(args)
            raise OSError("the store is full")
        save(*args)

    for module in (defer, inject):
        monkeypatch.setattr(module, "write", fail)
    case = CASES["window over a join"]
    record = run_twice(spark, store, lake, case.query, how)
    assert failures and len(failures) <= 3
    kinds = [step.kind for step in record.program.steps] if record.program else []
    assert times == 1 or (StepKind.COMPUTED in kinds and not record.artifacts)
    assert {artifact.how for artifact in record.artifacts} <= {Materialize.DEFER}
    check_pairs(store, lake, case.expected())
    folder = Path(store.artifacts.url.removeprefix("file://").replace("%20", " "))
    kept = {str(p.parent.name) for p in folder.rglob("saved/*/*.parquet")}
    assert kept == {Path(a.snapshot.dataset).name for a in record.artifacts}


@pytest.mark.parametrize("how", ["inject", "defer"])
def test_saved_timestamps_are_whole(
    spark: SparkSession, store: LineageStore, lake: Path, how: str
) -> None:
    """Rows that only microseconds tell apart, whatever the session rounds its files to."""
    timestamps = "spark.sql.parquet.outputTimestampType"
    for name, column in (("p", "v"), ("q", "w")):
        frame = spark.range(4).selectExpr(f"id {column}", "timestamp_micros(id) t").coalesce(1)
        frame.write.parquet(str(lake / name))
        spark.read.parquet(str(lake / name)).createOrReplaceTempView(name)
    spark.conf.set(timestamps, "TIMESTAMP_MILLIS")
    try:
        query = "select v * 10 + w x from p join q on p.t = q.t"
        assert run_twice(spark, store, lake, query, how).artifacts
    finally:
        spark.conf.unset(timestamps)
        for name in ("p", "q"):
            spark.catalog.dropTempView(name)
    rows = written(lake / "out")
    found = rids(store, lake / "out", lake / "p")
    assert {rid: found[rid] for rid in rows} == {rid: {x // 11} for rid, (x,) in rows.items()}
