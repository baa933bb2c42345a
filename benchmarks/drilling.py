"""Queries that go on from a bar of TPC-H Q1: drilled down, filtered, drilled down (Smoke 6.4).

    Q1a   the bar's rows by year and month of `l_shipdate`, with the aggregates of Q1
    Q1b   the same, of a ship mode and an instruction
    Q1c   the same, by `l_tax`, too

Each is asked of every bar, lazily (DuckDB over `lineitem`, with the bar's key as a condition), by
plain rid indexes, by indexes partitioned by what is compared with parameters (data skipping), and
by partial sums (group-by push-down). Answers are compared with the lazy one's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import capturing
import duckdb
import numpy as np
import pyarrow as pa
from capturing import Bench
from timing import Action, in_turns
from workload import OUT_RID, Output, Workload

_AGGREGATES = (
    " sum(l_quantity) as sum_qty, sum(l_extendedprice) as sum_base_price,"
    " sum(l_extendedprice * (1 - l_discount)) as sum_disc_price,"
    " sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge,"
    " avg(l_quantity) as avg_qty, avg(l_extendedprice) as avg_price, avg(l_discount) as avg_disc,"
    " count(*) as count_order"
)
_MONTH = "year(l_shipdate), month(l_shipdate)"
_SHIPPED = "l_shipmode = $mode and l_shipinstruct = $instruct"
_QUERIES = {"Q1a": (_MONTH, ""), "Q1b": (_MONTH, _SHIPPED), "Q1c": (f"{_MONTH}, l_tax", _SHIPPED)}
_BAR = "l_returnflag = $flag and l_linestatus = $status and l_shipdate <= date '1998-09-02'"

NAME = "q01"


@dataclass(frozen=True)
class Drill:
    """A query, asked of bars (rows of Q1's output, with their rids) with values of parameters."""

    bench: Bench
    database: duckdb.DuckDBPyConnection
    name: str
    asked: Sequence[tuple[Mapping[str, Any], Mapping[str, str]]]

    @property
    def text(self) -> str:
        groups, where = _QUERIES[self.name]
        return _grouped(groups, _backward(self.bench), where)

    def lazily(self, place: int) -> pa.Table:
        bar, values = self.asked[place]
        groups, where = _QUERIES[self.name]
        text = _grouped(groups, "lineitem", f"{_BAR} and {where}" if where else _BAR)
        key = {"flag": bar["l_returnflag"], "status": bar["l_linestatus"]}
        return self.database.sql(text, params={**key, **values}).to_arrow_table()

    def by_index(self, place: int) -> pa.Table:
        bar, values = self.asked[place]
        return self.bench.store.query(self.text, {"bar": [bar[OUT_RID]], **values}).to_arrow()

    def workloads(self) -> dict[str, list[str] | None]:
        """Return the workload that each way of answering is declared by."""
        _, where = _QUERIES[self.name]
        skipping = f"select l_tax from {_backward(self.bench)} where {where}"
        skipped: dict[str, list[str] | None] = {"data skipping": [skipping]} if where else {}
        return {"index": None, **skipped, "push-down": [self.text]}


def queries(
    bench: Bench, workload: Workload, combinations: int, rounds: int
) -> Iterator[dict[str, Any]]:
    """Yield, for each query and way of answering it, the indexes and every latency."""
    run = bench.captured(workload.text(1), NAME)
    bars = Output(bench.output(NAME)).rows.to_pylist()
    database = workload.connect()
    shipped = _combinations(database, combinations)
    for name, (_, where) in _QUERIES.items():
        drill = Drill(
            bench,
            database,
            name,
            [(bar, some) for bar in bars for some in (shipped if where else [{}])],
        )
        expected = [drill.lazily(place) for place in range(len(drill.asked))]
        about = {
            "query": name,
            "bars": [bar["count_order"] for bar, _ in drill.asked],
            "rows": [sum(table.column("count_order").to_pylist()) for table in expected],
        }
        yield {**about, "way": "lazy", "times": _latencies(drill.lazily, expected, rounds)}
        for way, declared in drill.workloads().items():
            built = _built(bench, run, declared)
            yield {
                **about,
                "way": way,
                **built,
                "times": _latencies(drill.by_index, expected, rounds),
            }


def pruned(bench: Bench, workload: Workload, number: int, rounds: int) -> dict[str, Any]:
    """Return what indexes cost of all of a query, and of what one question needs."""
    name = f"q{number:02}"
    run = bench.captured(workload.text(number), name)
    backward = f"select l_orderkey from backward('{bench.output(name)}', 'lineitem', rids => $r)"
    forward = f"select * from forward('lineitem', '{bench.output(name)}', rids => $r)"
    shipped = f"{backward} where l_shipmode = 'AIR'"
    workloads = {
        "all": None,
        "lineitem, both directions": [backward, forward],
        "lineitem, backward": [backward],
        "lineitem, backward, l_shipmode = 'AIR'": [shipped],
    }

    def building(texts: Sequence[str] | None) -> Action:
        return lambda _: bench.store.index(run=run, workload=texts)

    times = in_turns({label: building(texts) for label, texts in workloads.items()}, rounds)
    found = {}
    for label, texts in workloads.items():
        (record,) = bench.store.index(run=run, workload=texts)
        files = sum(len(entry.paths) for entry in record.entries)
        found[label] = {
            "bytes": capturing.size(record),
            "files": files,
            "times": times[label].as_json(),
        }
    return {"query": number, "workloads": found}


def _built(bench: Bench, run: str, declared: Sequence[str] | None) -> dict[str, Any]:
    begin = time.perf_counter()
    (record,) = bench.store.index(run=run, workload=declared)
    seconds = time.perf_counter() - begin
    kinds = [len(entry.parts) for entry in record.entries]
    sums = [len(entry.sums) for entry in record.entries]
    return {
        "build": seconds,
        "bytes": capturing.size(record),
        "parts": sum(kinds),
        "sums": sum(sums),
    }


def _latencies(
    ask: Callable[[int], pa.Table], expected: Sequence[pa.Table], rounds: int
) -> list[float]:
    """Return the median seconds of each question; their answers are as expected."""
    found = []
    for place, table in enumerate(expected):
        _compare(ask(place), table)
        took = []
        for _ in range(rounds):
            begin = time.perf_counter()
            ask(place)
            took.append(time.perf_counter() - begin)
        found.append(float(np.median(took)))
    return found


def _backward(bench: Bench) -> str:
    return f"backward('{bench.output(NAME)}', 'lineitem', rids => $bar)"


def _grouped(groups: str, relation: str, where: str) -> str:
    filtered = f" where {where}" if where else ""
    return f"select {groups},{_AGGREGATES} from {relation}{filtered} group by {groups}"


def _combinations(database: duckdb.DuckDBPyConnection, count: int) -> list[dict[str, str]]:
    """Return some of the ship modes and instructions that there are, evenly among them."""
    query = "select distinct l_shipmode, l_shipinstruct from lineitem order by all"
    every = database.sql(query).fetchall()
    wanted = min(count, len(every))
    some = [every[place * len(every) // wanted] for place in range(wanted)]
    return [{"mode": mode, "instruct": instruct} for mode, instruct in some]


def _compare(found: pa.Table, expected: pa.Table) -> None:
    """Raise unless two tables have the same rows, in any order; doubles nearly so."""
    ours, theirs = (
        sorted(zip(*table.to_pydict().values(), strict=True), key=_key)
        for table in (found, expected)
    )
    assert len(ours) == len(theirs), "they disagree"
    for mine, other in zip(ours, theirs, strict=True):
        assert all(map(_same, mine, other)), "they disagree"


def _key(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value for value in row if not isinstance(value, float))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    assert isinstance(one, int | str | date | Decimal)
    return bool(one == other)
