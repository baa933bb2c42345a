"""Where one group of a group-by came from: by index, and by a lazy scan (Smoke 6.3).

A lazy scan is a selection by the group's key, by DuckDB: from the same Parquet file, and from a
table in memory. Groups are a sample, of all sizes from the smallest to the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import zipf
from capturing import Bench
from operators import GROUP_BY
from timing import Action, in_turns
from workload import OUT_RID, Output

SKEWS = (0, 0.4, 0.8, 1.6)
BY_INDEX, LAZY = ("rids", "rows"), ("parquet", "memory")


def groups(
    bench: Bench, data: Path, rows: int, count: int, sample: int, rounds: int
) -> Iterator[dict[str, Any]]:
    """Yield, for each skew, how long some groups took, in order of their sizes."""
    for theta in SKEWS:
        source = zipf.table(data, theta, rows, count)
        bench.views(zipf=source)
        name = f"groups-{theta:g}"
        bench.captured(GROUP_BY, name, index=True)
        database = duckdb.connect()
        database.execute("create table zipf as from read_parquet(?)", [str(source)])
        scans = {
            "parquet": f"select * from read_parquet('{source}') where z = ?",
            "memory": "select * from zipf where z = ?",
        }
        asked = [
            _group(bench, bench.output(name), group, database, scans, rounds)
            for group in _sample(Output(bench.output(name)).rows, sample)
        ]
        yield {
            "theta": theta,
            "n": rows,
            "groups": asked,
            "crossover": {
                f"{way} {scan}": crossover(asked, way, scan) for way in BY_INDEX for scan in LAZY
            },
        }


def crossover(asked: Sequence[dict[str, Any]], way: str, scan: str) -> int | None:
    """Return the size of a group from which on the scan was always faster; None if it was not."""
    least = None
    for group in reversed(asked):
        if group["times"][scan]["median"] >= group["times"][way]["median"]:
            break
        least = group["size"]
    return least


def _sample(rows: pa.Table, sample: int) -> list[dict[str, Any]]:
    """Return groups whose sizes are spread evenly on a logarithmic scale, the smallest first."""
    ordered = rows.sort_by("n")
    sizes = ordered.column("n").to_numpy()
    wanted = np.geomspace(sizes[0], sizes[-1], sample)
    places = np.minimum(np.searchsorted(sizes, wanted), len(sizes) - 1)
    found: list[dict[str, Any]] = ordered.take(np.unique(places)).to_pylist()
    return found


def _group(
    bench: Bench,
    output: str,
    group: dict[str, Any],
    database: duckdb.DuckDBPyConnection,
    scans: dict[str, str],
    rounds: int,
) -> dict[str, Any]:
    def rids() -> pa.Array:
        (source,) = bench.store.backward(output, rids=[group[OUT_RID]], strategy="index").sources
        return source.rids()

    def rows() -> pa.Table:
        (source,) = bench.store.backward(output, rids=[group[OUT_RID]], strategy="index").sources
        return source.to_arrow()

    def timed(way: Callable[[], object]) -> Action:
        return lambda _: way()

    def scanned(text: str) -> Callable[[], pa.Table]:
        return lambda: database.sql(text, params=[group["z"]]).to_arrow_table()

    ways = {"rids": rids, "rows": rows, **{how: scanned(text) for how, text in scans.items()}}
    answers = [way() for name, way in ways.items() if name != "rids"]
    first = answers[0].sort_by("id")
    assert all(first.equals(other.sort_by("id")) for other in answers[1:]), "they disagree"
    assert len(rids()) == len(first) == group["n"], "they disagree"
    times = in_turns({name: timed(way) for name, way in ways.items()}, rounds, 10)
    return {
        "size": group["n"],
        "times": {name: found.as_json() for name, found in times.items()},
    }
