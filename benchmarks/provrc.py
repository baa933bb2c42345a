"""ProvRC: sizes, times and queries of DSLog's Table VII and of chains of steps, beside Parquet.

    python benchmarks/provrc.py

Every line is one operation of the paper (`arrays.py`). The same relation is written as text, as a
numpy array, as Parquet without compression, with gzip and with zstd, and as an index; then sets of
neighbouring cells are looked up: in the index, and by a join of DuckDB over each Parquet file. All
in one process, after a warm-up, medians. Results go to `benchmarks/results/provrc.{md,json}`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import machine
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from arrays import OPERATIONS, steps

from lineage_core.index import Relation
from lineage_core.index.cells import Cells, boxes, cells
from lineage_core.index.file import IndexFile, IndexWriter

RESULTS = Path(__file__).parent / "results"
CODECS = {"parquet": "none", "gzip": "gzip", "zstd": "zstd"}
ASKED = (1, 100, 10_000, 100_000)
PAPER_MB = {
    "Negative": (4.33, 0.0103),
    "Addition": (8.66, 0.0207),
    "Aggregate": (0.0255, 0.0103),
    "Repetition": (14.52, 0.0103),
    "Matrix*Vector": (0.048, 0.0207),
    "Matrix*Matrix": (48.06, 0.0210),
    "Sort": (2.76, 2.79),
    "ImgFilter": (1.06, 0.0104),
    "Lime": (0.123, 0.0121),
    "DRISE": (None, 0.0108),
    "Group By": (13.56, 13.62),
    "Inner Join": (53.44, 6.36),
}
"""What the paper reports of Parquet-GZip and ProvRC-GZip, in MB."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--operations", nargs="+", choices=OPERATIONS, default=list(OPERATIONS))
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    found: dict[str, Any] = {
        "machine": machine.facts() | {"load": machine.load()},
        "operations": {},
        "chains": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        for name in given.operations:
            print(name, "...", flush=True)
            found["operations"][name] = operation(name, Path(folder), given.rounds)
        for count in (5, 10):
            print(f"{count} steps ...", flush=True)
            found["chains"][count] = chain(count, Path(folder), given.rounds)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "provrc.json").write_text(json.dumps(found, indent=2) + "\n")
    text = report(found)
    (RESULTS / "provrc.md").write_text(text)
    print(text)


def operation(name: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Return sizes and times of one operation's relations; sums over its inputs."""
    lineage = OPERATIONS[name]()
    found: dict[str, Any] = {"pairs": 0, "sizes": {}, "seconds": {}, "scaled": lineage.scaled}
    for number, pairs in enumerate(lineage.relations):
        found["pairs"] += len(pairs)
        written = {form: folder / f"{number}.{form}" for form in (*CODECS, "csv", "npy")}
        table = table_of(pairs)
        for form, path in written.items():
            add(found, form, path, timed(partial(write, form, table, path)))
        for direction, related in (("index", pairs), ("forward", pairs.inverse)):
            path = folder / f"{number}.{direction}"
            shape = lineage.shapes[number]
            keys = len(pairs.keys)
            turned = shape if direction == "index" else (*shape[keys:], *shape[:keys])
            add(found, direction, path, timed(partial(write_index, related, turned, path)))
        if not number:
            found["queries"] = queries(pairs, folder / "0.index", written, rounds)
    return found


def add(found: dict[str, Any], form: str, path: Path, seconds: float) -> None:
    found["sizes"][form] = found["sizes"].get(form, 0) + path.stat().st_size
    found["seconds"][form] = found["seconds"].get(form, 0) + seconds


def write(form: str, table: pa.Table, path: Path) -> None:
    match form:
        case "csv":
            pa.csv.write_csv(table, path)
        case "npy":
            with path.open("wb") as file:
                np.save(file, np.array([column.to_numpy() for column in table.columns]))
        case _:
            pq.write_table(table, path, compression=CODECS[form])


def write_index(pairs: Relation, shape: Sequence[int], path: Path) -> None:
    with path.open("wb") as file:
        writer = IndexWriter(file, shape, len(pairs.keys), "")
        writer.add(pairs)
        writer.finish()


def table_of(pairs: Relation) -> pa.Table:
    """Return a relation as a table: `k0`, `k1`, ... and `v0`, ..."""
    names = [f"k{i}" for i in range(len(pairs.keys))] + [f"v{i}" for i in range(len(pairs.values))]
    return pa.table([*pairs.keys, *pairs.values], names=names)


def queries(
    pairs: Relation, index: Path, written: dict[str, Path], rounds: int
) -> dict[int, dict[str, float]]:
    """Return the median time of a lookup, by how many cells are asked for and how."""
    keys = [f"k{i}" for i in range(len(pairs.keys))]
    values = ", ".join(f"v{i}" for i in range(len(pairs.values)))
    choose = np.random.default_rng(7)
    found = {}
    database = duckdb.connect()
    for asked in ASKED:
        begins = choose.integers(0, max(len(pairs) - asked, 1), rounds + 1)
        chosen = [np.unique(pairs.keys[:, b : b + asked], axis=1) for b in begins]
        wanted = [cells(list(each)) for each in chosen]

        def by_index(round: int, wanted: list[Cells] = wanted) -> int:
            with IndexFile(index, "") as opened:
                return opened.related(wanted[round]).count

        def by_join(path: Path, chosen: list[Any] = chosen) -> Callable[[int], int]:
            def ask(round: int) -> int:
                database.register("wanted", pa.table(list(chosen[round]), names=keys))
                joined = f"read_parquet('{path}') semi join wanted using ({', '.join(keys)})"
                query = f"select count(*) from (select distinct {values} from {joined})"
                return int(database.sql(query).fetchall()[0][0])

            return ask

        ways = {"index": by_index, **{form: by_join(written[form]) for form in CODECS}}
        assert len({way(0) for way in ways.values()}) == 1, "they disagree"
        found[asked] = {name: median(way, rounds) for name, way in ways.items()}
    return found


def chain(
    count: int, folder: Path, rounds: int, size: int = 100_000
) -> dict[int, dict[str, float]]:
    """Return the median time of a forward query through a chain of operations."""
    hops = list(steps(size, count, seed=count))
    for number, hop in enumerate(hops):
        write_index(hop.inverse, (size, size), folder / f"{number}.hop")
        write("zstd", table_of(hop), folder / f"{number}.zstd")
    database = duckdb.connect()
    choose = np.random.default_rng(8)
    found = {}
    for asked in ASKED:
        begins = choose.integers(0, size - asked + 1, rounds + 1)

        def by_index(round: int, begins: Any = begins, asked: int = asked) -> int:
            low = np.array([[begins[round]]])
            here = boxes(low, low + asked - 1)
            for number in range(count):
                with IndexFile(folder / f"{number}.hop", "") as opened:
                    here = opened.related(here)
            return here.count

        def by_join(round: int, begins: Any = begins, asked: int = asked) -> int:
            first = int(begins[round])
            query = f"select range as k from range({first}, {first + asked})"
            for number in range(count):
                path = folder / f"{number}.zstd"
                query = f"select distinct k0 as k from read_parquet('{path}') where v0 in ({query})"
            return int(database.sql(f"select count(*) from ({query})").fetchall()[0][0])

        assert by_index(0) == by_join(0), "they disagree"
        found[asked] = {"index": median(by_index, rounds), "zstd": median(by_join, rounds)}
    return found


def timed(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def median(action: Callable[[int], object], rounds: int) -> float:
    return statistics.median(timed(partial(action, i + 1)) for i in range(rounds))


def report(found: dict[str, Any]) -> str:
    """Return the tables as Markdown."""
    about = found["machine"]
    title = f"{about['cores']} cores, DuckDB {about['duckdb']}, load {about['load']}"
    lines = [f"# ProvRC; {title}", ""]
    forms = ("csv", "npy", "parquet", "gzip", "zstd", "index", "forward")
    head = ["operation", "pairs", *(f"{form} KB" for form in forms)]
    head += ["paper: Parquet-GZip KB", "paper: ProvRC-GZip KB", "note"]
    rows = [
        [
            *(name, f"{one['pairs']:,}"),
            *(f"{one['sizes'][form] / 1e3:,.1f}" for form in forms),
            *("-" if mb is None else f"{mb * 1e3:,.1f}" for mb in PAPER_MB[name]),
            one["scaled"],
        ]
        for name, one in found["operations"].items()
    ]
    lines += [*section("Bytes on disk", head, rows)]
    rows = [
        [name, *(f"{one['seconds'][form]:.2f}" for form in forms)]
        for name, one in found["operations"].items()
    ]
    lines += section("Seconds to encode and write", ["operation", *forms], rows)
    ways = ("index", *CODECS)
    head = ["operation", *(f"{way}, {asked:,}" for asked in ASKED for way in ways)]
    rows = [
        [
            name,
            *(f"{one['queries'][asked][way] * 1e3:.1f}" for asked in ASKED for way in ways),
        ]
        for name, one in found["operations"].items()
    ]
    lines += section("Backward query, ms, by cells asked for; files opened each time", head, rows)
    head = ["steps", *(f"{way}, {asked:,}" for asked in ASKED for way in ("index", "zstd"))]
    rows = [
        [str(count), *(f"{one[asked][way] * 1e3:.1f}" for asked in ASKED for way in one[asked])]
        for count, one in found["chains"].items()
    ]
    lines += section("Forward query through a chain, ms, by cells asked for", head, rows)
    return "\n".join(lines) + "\n"


def section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    table = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return [f"## {title}", "", *table, ""]


if __name__ == "__main__":
    main()
