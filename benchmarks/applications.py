"""Crossfilter and functional dependencies: Smoke's two applications, 6.5.1 and 6.5.2.

    python benchmarks/applications.py [--rows 10000000] [--physicians 2500000]

Crossfilter: Spark writes four group-bys of a made dataset like Ontime (`flights.py`), captured; the
run is indexed; then every bar of every view is brushed singly. Beside it, for a sample of the bars,
the lazy way: DuckDB runs the other three group-bys again over the rows of the bar, from Parquet and
from a table in memory, and its answers are compared. Dependencies: four of a made dataset like
Medicare's physicians (`physicians.py`), by either method, and by plain SQL in DuckDB: the violating
values, and the join that connects them with their rows; all answers are compared.

Everything in one process, one after the other. Results go to `benchmarks/results/applications.md`,
`.json` and `applications-*.png`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import applications_plots as plots
import duckdb
import flights
import machine
import numpy as np
import physicians
import pyarrow as pa
from pyspark.sql import SparkSession

import lineage_core as lc
from lineage_core.query.crossfiltering.crossfilter import Crossfilter
from lineage_core.snapshot import RID_SHIFT

RESULTS = Path(__file__).parent / "results"
INTERACTIVE = 0.15
"""Seconds within which an answer feels immediate (Smoke 6.5.1)."""

_DUCKDB = {"memory": "flights", "Parquet": "read_parquet('{folder}/*.parquet')"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--physicians", type=int, default=2_500_000)
    parser.add_argument("--sample", type=int, default=25, help="bars a view, asked the lazy way")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    about = machine.facts() | {"load": machine.load()}
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "machine": about,
            "crossfilter": crossfilter(Path(folder), given.rows, given.sample),
            "dependencies": dependencies(Path(folder), given.physicians, given.rounds),
        }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "applications.json").write_text(json.dumps(found, indent=2) + "\n")
    text = report(found)
    (RESULTS / "applications.md").write_text(text)
    plots.latencies(found["crossfilter"], INTERACTIVE, RESULTS / "applications-crossfilter.png")
    plots.dependencies(found["dependencies"], RESULTS / "applications-dependencies.png")
    print(text)


def crossfilter(folder: Path, rows: int, sample: int) -> dict[str, Any]:
    """Return what capturing, indexing, opening and brushing took."""
    tell(f"flights: {rows:,} rows")
    flights.generate(folder / "flights", rows)
    store = lc.open_store(str(folder / "lineage"))
    run, plain, captured = write_views(folder, store)
    tell("indexing")
    index, records = timed(lambda: store.index(run=run, engine="duckdb"))
    tell("opening")
    names = {view: str(folder / "views" / view) for view in flights.VIEWS}
    opened_in, opened = timed(lambda: store.crossfilter(list(names.values())))
    _, measured = timed(lambda: store.crossfilter(list(names.values()), measures=["delay"]))
    tell("brushing every bar")
    latencies = {view: every_bar(opened, name) for view, name in names.items()}
    sums = {view: every_bar(measured, name) for view, name in names.items()}
    tell("the lazy way")
    return {
        "rows": rows,
        "write": {"plain": plain, "captured": captured},
        "index": index,
        "index_bytes": sum(entry.size for record in records for entry in record.entries),
        "open": opened_in,
        "bytes": opened.nbytes,
        "brush": latencies,
        "brush_sums": sums,
        "lazy": lazy(folder, opened, names, sample),
    }


def write_views(folder: Path, store: lc.LineageStore) -> tuple[str, float, float]:
    """Write the views with and without capture; return the run, and the seconds of either."""
    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.memory", "4g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    source = spark.read.parquet(str(folder / "flights"))

    def write(below: str) -> None:
        for view, columns in flights.VIEWS.items():
            grouped = source.groupBy(*columns).count().coalesce(1)
            grouped.write.parquet(str(folder / below / view))

    def captured() -> str:
        with store.capture(spark, job="flights") as run:
            write("views")
        return run.id

    write("warm-up")
    plain, _ = timed(lambda: write("plain"))
    took, run = timed(captured)
    spark.stop()
    return run, plain, took


def every_bar(opened: Crossfilter, view: str) -> list[float]:
    """Return the seconds that brushing each bar of a view took."""
    rids = range(opened.brush({})[view].num_rows)
    opened.brush({view: [0]})
    return [timed(lambda rid=rid: opened.brush({view: [rid]}))[0] for rid in rids]


def lazy(
    folder: Path, opened: Crossfilter, names: Mapping[str, str], sample: int
) -> dict[str, dict[str, list[float]]]:
    """Return the seconds of the lazy way for some bars of each view; its answers are compared."""
    database = duckdb.connect()
    source = folder / "flights"
    database.execute(f"create table flights as from read_parquet('{source}/*.parquet')")
    choose = np.random.default_rng(651)
    shown = opened.brush({})
    found: dict[str, dict[str, list[float]]] = {}
    for view, columns in flights.VIEWS.items():
        count = shown[names[view]].num_rows
        biggest = int(np.argmax(shown[names[view]].column("brushed").to_numpy()))
        some = {biggest, *choose.choice(count, min(sample, count), replace=False).tolist()}
        found[view] = {how: [] for how in _DUCKDB}
        for bar in sorted(some):
            (values,) = shown[names[view]].select(columns).slice(bar, 1).to_pylist()
            told = opened.brush({names[view]: [bar]})
            for how, text in _DUCKDB.items():
                relation = text.format(folder=source)
                took, answers = timed(lambda r=relation, v=values: again(database, r, v))
                found[view][how].append(took)
                for other, answer in answers.items():
                    if other != view:
                        compare(told[names[other]], flights.VIEWS[other], answer)
    return found


def again(
    database: duckdb.DuckDBPyConnection, relation: str, values: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Return the group-bys by other columns than those of `values`, of the rows that have them."""
    where = " and ".join(f"{column} = ?" for column in values)
    answers = {}
    for view, columns in flights.VIEWS.items():
        if not set(columns) & set(values):
            keys = ", ".join(columns)
            query = f"select {keys}, count(*) as n from {relation} where {where} group by {keys}"
            answers[view] = database.sql(query, params=list(values.values())).to_arrow_table()
    return answers


def compare(told: pa.Table, columns: Sequence[str], answer: pa.Table) -> None:
    kept = told.filter(pa.compute.greater(told.column("brushed"), 0))
    mine = [tuple(row.values()) for row in kept.select([*columns, "brushed"]).to_pylist()]
    theirs = [tuple(row.values()) for row in answer.to_pylist()]
    assert sorted(mine) == sorted(theirs), "they disagree"


def dependencies(folder: Path, rows: int, rounds: int) -> dict[str, Any]:
    """Return what checking each dependency took, by each method and by plain SQL."""
    tell(f"physicians: {rows:,} rows")
    source = folder / "physicians"
    physicians.generate(source, rows)
    store = lc.open_store(str(folder / "lineage"))
    database = duckdb.connect()
    ways: dict[str, Callable[[Sequence[str]], Any]] = {
        "ug": lambda texts: store.dependencies(str(source), texts, method="ug"),
        "cd": lambda texts: store.dependencies(str(source), texts, method="cd"),
        "sql": lambda texts: [by_sql(database, source, text) for text in texts],
    }
    seconds: dict[str, dict[str, list[float]]] = {}
    for text in (*physicians.DEPENDENCIES, "all"):
        tell(text)
        texts = physicians.DEPENDENCIES if text == "all" else (text,)
        took: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds + 1):
            for way, ask in ways.items():
                took[way].append(timed(lambda ask=ask, texts=texts: ask(texts))[0])
        seconds[text] = {way: times[1:] for way, times in took.items()}
    found = {}
    for text in physicians.DEPENDENCIES:
        (one,), (other,) = ways["ug"]([text]), ways["cd"]([text])
        assert one.values().equals(other.values()) and one.graph().equals(other.graph())
        same(one, by_sql(database, source, text))
        found[text] = {"violations": one.count, "rows": one.graph().num_rows}
    return {"rows": rows, "found": found, "seconds": seconds}


def by_sql(database: duckdb.DuckDBPyConnection, source: Path, text: str) -> pa.Table:
    """Return the violating values and the rids of their rows, by plain SQL."""
    a, b = text.split(" -> ")
    files = sorted(map(str, source.glob("*.parquet")))
    relation = f"read_parquet({files})"
    query = (
        f"with v as (select {a} from {relation} group by {a} having count(distinct {b}) > 1) "
        f"select t.{a} as value, (t.file_index::bigint << {RID_SHIFT}) | t.file_row_number as rid "
        f"from {relation} t join v on t.{a} is not distinct from v.{a}"
    )
    return database.sql(query).to_arrow_table()


def same(found: Any, answer: pa.Table) -> None:
    graph = found.graph()
    values = found.values().column(0).take(graph.column("violation"))
    mine = pa.table({"value": values, "rid": graph.column("rid")}).sort_by("rid")
    assert mine.equals(answer.cast(mine.schema).sort_by("rid")), "they disagree"


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = action()
    return time.perf_counter() - begin, found


def tell(what: str) -> None:
    print(what, "...", flush=True)


def report(found: Mapping[str, Any]) -> str:
    """Return the tables as Markdown."""
    about, cross, checks = (found[key] for key in ("machine", "crossfilter", "dependencies"))
    title = f"{about['cores']} cores, DuckDB {about['duckdb']}, load {about['load']}"
    lines = [f"# Applications; {title}", ""]
    head = ["view", "bars", "within 150 ms", "median ms", "slowest ms", "all bars s"]
    head += ["with a sum: median ms", "slowest ms"]
    head += [f"lazy, {how}: {what} ms" for how in _DUCKDB for what in ("median", "slowest")]
    rows = []
    every = {"all": [t for times in cross["brush"].values() for t in times]}
    sums = {"all": [t for times in cross["brush_sums"].values() for t in times]}
    again = {"all": {h: [t for v in cross["lazy"].values() for t in v[h]] for h in _DUCKDB}}
    for view, times in (cross["brush"] | every).items():
        slow = (cross["brush_sums"] | sums)[view]
        late = (cross["lazy"] | again)[view]
        within = sum(second <= INTERACTIVE for second in times)
        rows.append(
            [
                *(view, f"{len(times):,}", f"{within:,} ({within / len(times):.2%})"),
                *(ms(statistics.median(times)), ms(max(times)), f"{sum(times):.1f}"),
                *(ms(statistics.median(slow)), ms(max(slow))),
                *(ms(of(late[how])) for how in _DUCKDB for of in (statistics.median, max)),
            ]
        )
    lines += section(f"Crossfilter, {cross['rows']:,} rows: every bar singly", head, rows)
    head = ["step", "s", "MB"]
    rows = [
        ["four group-bys by Spark, plain", f"{cross['write']['plain']:.1f}", ""],
        ["the same, captured", f"{cross['write']['captured']:.1f}", ""],
        ["rid indexes", f"{cross['index']:.1f}", f"{cross['index_bytes'] / 1e6:.1f}"],
        ["crossfilter opened", f"{cross['open']:.1f}", f"{cross['bytes'] / 1e6:.0f}"],
    ]
    lines += section("Before the first brush", head, rows)
    head = ["dependency", "violating values", "their rows", "UG s", "CD s", "plain SQL s"]
    rows = []
    for text, seconds in checks["seconds"].items():
        told = checks["found"].get(text)
        counts = [f"{told['violations']:,}", f"{told['rows']:,}"] if told else ["", ""]
        medians = [f"{statistics.median(seconds[way]):.2f}" for way in ("ug", "cd", "sql")]
        rows.append([text, *counts, *medians])
    title = f"Functional dependencies, {checks['rows']:,} rows: violations and their graph"
    lines += section(title, head, rows)
    return "\n".join(lines)


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f}"


def section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    table = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return [f"## {title}", "", *table, ""]


if __name__ == "__main__":
    main()
