"""ProvRC: sizes, times and queries of DSLog's Table VII and of chains of steps, beside Parquet.

    python benchmarks/provrc.py [--full]

Every line is one operation of the paper (`arrays.py`). The same relation is written as text, as a
numpy array, as Parquet without compression, with gzip and with zstd, and as an index in each
direction; then sets of neighbouring cells are looked up: in the index, and by a join of DuckDB over
each Parquet file. Chains are the paper's random workflows: 20 of 5 and 20 of 10 numpy operations on
100,000 cells, asked forward. All in one process, after a warm-up, medians. Results go to
`benchmarks/results/provrc.{md,json}` and `provrc-{sizes,queries,chains}.png`.

`--full` multiplies matrices of the paper's 1000 x 1000, which are 10^9 pairs an input, chunk by
chunk: some ten minutes and 2 GB of disk on two quiet cores. Operations that are not measured keep
the figures that `provrc.json` has of them.
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
import provrc_plots as plots
import pyarrow as pa
import tables
from arrays import OPERATIONS, Lineage, Slabs, matrix_matrix, workflows
from forms import CODECS, MOST_WRITTEN, estimated, write, write_index

from lineage_core.index import Relation
from lineage_core.index.cells import Cells, cells
from lineage_core.index.file import IndexFile

RESULTS = Path(__file__).parent / "results"
ASKED = (1, 10, 100, 1_000, 10_000, 100_000)
WORKFLOWS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--operations", nargs="*", choices=OPERATIONS, default=list(OPERATIONS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--full", action="store_true", help="multiply 1000 x 1000 matrices")
    given = parser.parse_args()
    operations = OPERATIONS | (
        {"Matrix*Matrix": partial(matrix_matrix, 1000)} if given.full else {}
    )
    found: dict[str, Any] = {"machine": machine.facts(), "operations": {}, "chains": {}}
    loads = []
    for name in given.operations:
        print(name, "...", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            found["operations"][name] = operation(operations[name](), Path(folder), given.rounds)
        loads.append(machine.load())
    for length in (5, 10):
        print(f"{length} steps ...", flush=True)
        found["chains"][length] = chains(length, given.rounds)
        loads.append(machine.load())
    for one in found["operations"].values():
        one["load"] = statistics.median(loads)  # of the run it was measured in
    found["machine"]["load"] = statistics.median(loads)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "provrc.json"
    measured = (measured_before(path) if path.exists() else {}) | found["operations"]
    found["operations"] = {name: measured[name] for name in OPERATIONS if name in measured}
    path.write_text(json.dumps(found, indent=2) + "\n")
    text = tables.report(found)
    (RESULTS / "provrc.md").write_text(text)
    plots.draw(found, RESULTS)
    print(text)


def measured_before(path: Path) -> dict[str, Any]:
    """Return the operations of a results file; counts of cells are numbers again."""

    def counted(made: dict[str, Any]) -> dict[Any, Any]:
        return {int(key) if key.isdigit() else key: each for key, each in made.items()}

    found: dict[str, Any] = json.loads(path.read_text(), object_hook=counted)["operations"]
    return found


def operation(lineage: Lineage, folder: Path, rounds: int) -> dict[str, Any]:
    """Return sizes and times of one operation's relations; sums over its inputs."""
    found: dict[str, Any] = {"pairs": 0, "sizes": {}, "seconds": {}, "scaled": lineage.scaled}
    for number, (pairs, shape) in enumerate(zip(lineage.relations, lineage.shapes, strict=True)):
        chunks = parts(pairs)
        count, keys = len(chunks) * len(chunks[0]), len(chunks[0].keys)
        found["pairs"] += count
        written = {form: folder / f"{number}.{form}" for form in (*CODECS, "csv", "npy")}
        for form, path in written.items():
            if count > MOST_WRITTEN and form not in CODECS:
                add(found, form, estimated(form, chunks, folder), float("nan"))
            else:
                seconds = timed(partial(write, form, chunks, path))
                add(found, form, path.stat().st_size, seconds)
        turned = parts(lineage.inverses[number] if lineage.inverses else pairs.inverse)
        shapes = {"index": shape, "forward": (*shape[keys:], *shape[:keys])}
        for direction, given in (("index", chunks), ("forward", turned)):
            path = folder / f"{number}.{direction}"
            seconds = timed(partial(write_index, given, shapes[direction], path))
            add(found, direction, path.stat().st_size, seconds)
        if not number:
            found["queries"] = queries(chunks, folder / "0.index", written, rounds)
        for path in written.values():
            path.unlink(missing_ok=True)
    return found


def parts(pairs: Relation | Slabs) -> Sequence[Relation]:
    """Return the chunks that a relation is written in: one, unless that would fill the memory."""
    if isinstance(pairs, Relation):
        return [pairs]
    if len(pairs) * len(pairs[0]) > MOST_WRITTEN:
        return pairs
    keys = np.concatenate([slab.keys for slab in pairs], axis=1)
    return [Relation(keys, np.concatenate([slab.values for slab in pairs], axis=1))]


def add(found: dict[str, Any], form: str, size: int, seconds: float) -> None:
    found["sizes"][form] = found["sizes"].get(form, 0) + size
    found["seconds"][form] = found["seconds"].get(form, 0) + seconds


def queries(
    chunks: Sequence[Relation], index: Path, written: dict[str, Path], rounds: int
) -> dict[int, dict[str, float]]:
    """Return the median time of a lookup, by how many pairs' cells are asked for and how."""
    keys = [f"k{i}" for i in range(len(chunks[0].keys))]
    values = ", ".join(f"v{i}" for i in range(len(chunks[0].values)))
    choose = np.random.default_rng(7)
    found = {}
    database = duckdb.connect()
    for asked in ASKED:
        chosen = []
        for _ in range(rounds + 1):
            among = chunks[int(choose.integers(len(chunks)))].keys
            begin = int(choose.integers(0, max(among.shape[1] - asked, 1)))
            chosen.append(np.unique(among[:, begin : begin + asked], axis=1))
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


def chains(length: int, rounds: int) -> dict[int, dict[str, dict[str, float]]]:
    """Return mean, least and greatest time of forward queries through random workflows."""
    seconds: dict[int, dict[str, list[float]]] = {
        asked: {form: [] for form in ("index", *CODECS)} for asked in ASKED
    }
    choose = np.random.default_rng(8)
    for steps in workflows(WORKFLOWS, length, seed=length):
        with tempfile.TemporaryDirectory() as folder:
            for number, (pairs, shape) in enumerate(steps):
                axes = len(pairs.keys)
                turned = (*shape[axes:], *shape[:axes])
                write_index([pairs.inverse], turned, Path(folder) / f"{number}.index")
                for form in CODECS:
                    write(form, [pairs], Path(folder) / f"{number}.{form}")
            first = steps[0][0]
            for asked in ASKED:
                for form, took in chain(first, Path(folder), length, asked, choose, rounds).items():
                    seconds[asked][form].append(took)
    return {
        asked: {
            form: {"mean": statistics.mean(took), "least": min(took), "greatest": max(took)}
            for form, took in forms.items()
        }
        for asked, forms in seconds.items()
    }


def chain(
    first: Relation,
    folder: Path,
    length: int,
    asked: int,
    choose: np.random.Generator,
    rounds: int,
) -> dict[str, float]:
    """Return the median times of a forward query of a range of cells through one workflow."""
    begin = int(choose.integers(0, 100_000 - asked + 1))
    columns = int(first.values[1].max()) + 1
    wanted = np.stack(np.divmod(np.arange(begin, begin + asked), columns))
    database = duckdb.connect()
    database.register("wanted", pa.table(list(wanted), names=["v0", "v1"]))

    def by_index(_: int) -> int:
        here = cells(list(wanted))
        for number in range(length):
            with IndexFile(folder / f"{number}.index", "") as opened:
                here = opened.related(here)
        return here.count

    def by_join(form: str, _: int) -> int:
        query = "select v0, v1 from wanted"
        for number in range(length):
            joined = f"read_parquet('{folder}/{number}.{form}') semi join ({query}) using (v0, v1)"
            query = f"select distinct k0 as v0, k1 as v1 from {joined}"
        return int(database.sql(f"select count(*) from ({query})").fetchall()[0][0])

    ways = {"index": by_index, **{form: partial(by_join, form) for form in CODECS}}
    assert len({way(0) for way in ways.values()}) == 1, "they disagree"
    return {name: median(way, rounds) for name, way in ways.items()}


def timed(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def median(action: Callable[[int], object], rounds: int) -> float:
    return statistics.median(timed(partial(action, i + 1)) for i in range(rounds))


if __name__ == "__main__":
    main()
