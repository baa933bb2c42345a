"""Queries that go on from a bar of TPC-H Q1: drilled down, filtered, drilled down again (Smoke 6.4).

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
from datetime import date
from decimal import Decimal
from typing import Any

import capturing
import duckdb
import numpy as np
import pyarrow as pa
from capturing import Bench
from timing import in_turns
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
PUSHED = "Q3, one source backward"


def queries(
    bench: Bench, workload: Workload, combinations: int, rounds: int
) -> Iterator[dict[str, Any]]:
    """Yield, for each query and way of answering it, the indexes and every latency."""
    run = bench.captured(workload.text(1), NAME)
    bars = Output(bench.output(NAME)).rows.to_pylist()
    database = workload.connect()
    shipped = _combinations(database, combinations)
    for query, (groups, where) in _QUERIES.items():
        given = shipped if where else [{}]
        text, lazy = _text(bench, groups, where), _lazy(groups, where)
        asked = [(bar, values) for bar in bars for values in given]
        expected = [_ask_lazily(database, lazy, bar, values) for bar, values in asked]

        def ask_lazily(place: int, lazy: str = lazy, asked: Any = asked) -> pa.Table:
            return _ask_lazily(database, lazy, *asked[place])

        def ask(place: int, text: str = text, asked: Any = asked) -> pa.Table:
            bar, values = asked[place]
            return bench.store.query(text, {"bar": [bar[OUT_RID]], **values}).to_arrow()

        def row(way: str, built: Mapping[str, Any], times: Any, asked: Any = asked) -> Any:
            sizes = [bar["count_order"] for bar, _ in asked]
            return {"query": query, "way": way, **built, "bars": sizes, "times": times}

        yield row("lazy", {}, _latencies(ask_lazily, expected, rounds))
        for way, declared in _ways(bench, text, where).items():
            built = _built(bench, run, declared)
            yield row(way, built, _latencies(ask, expected, rounds))


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
    times = in_turns(
        {
            label: (lambda _, texts=texts: bench.store.index(run=run, workload=texts))
            for label, texts in workloads.items()
        },
        rounds,
    )
    found = {}
    for label, texts in workloads.items():
        (record,) = bench.store.index(run=run, workload=texts)
        files = sum(len(entry.paths) for entry in record.entries)
        found[label] = {
            "bytes": capturing.size(record), "files": files, "times": times[label].as_json()
        }
    return {"query": number, "workloads": found}


def _ways(bench: Bench, text: str, where: str) -> dict[str, list[str] | None]:
    """Return the workload that each way of answering a query is declared by."""
    skipping = f"select l_tax from {_backward(bench)} where {where}"
    skipped: dict[str, list[str] | None] = {"data skipping": [skipping]} if where else {}
    return {"index": None, **skipped, "push-down": [text]}


def _built(bench: Bench, run: str, declared: Sequence[str] | None) -> dict[str, Any]:
    begin = time.perf_counter()
    (record,) = bench.store.index(run=run, workload=declared)
    seconds = time.perf_counter() - begin
    kinds = [len(entry.parts) for entry in record.entries]
    sums = [len(entry.sums) for entry in record.entries]
    return {
        "build": seconds, "bytes": capturing.size(record), "parts": sum(kinds), "sums": sum(sums)
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


def _text(bench: Bench, groups: str, where: str) -> str:
    filtered = f" where {where}" if where else ""
    return f"select {groups},{_AGGREGATES} from {_backward(bench)}{filtered} group by {groups}"


def _lazy(groups: str, where: str) -> str:
    filtered = f" and {where}" if where else ""
    return f"select {groups},{_AGGREGATES} from lineitem where {_BAR}{filtered} group by {groups}"


def _ask_lazily(
    database: duckdb.DuckDBPyConnection, text: str, bar: Mapping[str, Any], values: Mapping[str, str]
) -> pa.Table:
    key = {"flag": bar["l_returnflag"], "status": bar["l_linestatus"]}
    return database.sql(text, params={**key, **values}).to_arrow_table()


def _combinations(database: duckdb.DuckDBPyConnection, count: int) -> list[dict[str, str]]:
    """Return some of the ship modes and instructions that there are, evenly among them."""
    query = "select distinct l_shipmode, l_shipinstruct from lineitem order by all"
    every = database.sql(query).fetchall()
    wanted = min(count, len(every))
    some = [every[place * len(every) // wanted] for place in range(wanted)]
    return [{"mode": mode, "instruct": instruct} for mode, instruct in some]


def _compare(found: pa.Table, expected: pa.Table) -> None:
    """Raise unless two tables have the same rows, in any order; doubles nearly so."""
    ours, theirs = (sorted(zip(*table.to_pydict().values(), strict=True), key=_key)
                    for table in (found, expected))
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
