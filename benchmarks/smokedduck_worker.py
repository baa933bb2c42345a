"""One query under SmokedDuck, run by the Python of its own environment (see `smokedduck_peer`).

    python smokedduck_worker.py DATA ROUNDS TABLE... < QUERY

Prints one line of JSON. SmokedDuck prints a lot by itself, also from C++: that goes nowhere. It is
given its tables in memory, and one thread, as its own wrapper does.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main() -> None:
    answer = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    data, rounds, *tables = sys.argv[1:]
    result = run(Path(data), sys.stdin.read(), int(rounds), tables)
    os.write(answer, (json.dumps(result) + "\n").encode())
    os._exit(0)  # its destructors are not to be relied on


def run(data: Path, text: str, rounds: int, tables: list[str]) -> dict[str, object]:
    """Return the seconds of the query plain and captured, and of backward questions."""
    import smokedduck  # type: ignore[import-not-found]  # only in its own environment

    wrapper = smokedduck.prov_connect()
    connection = wrapper.duckdb_conn
    for table in tables:
        rows = connection.from_parquet(str(data / f"{table}.parquet"))
        rows.create(table)
    times: dict[str, list[float]] = {"plain": [], "capture": []}
    for round in range(rounds + 1):
        for name, pragma in (("plain", ""), ("capture", "lineage")):
            if pragma:
                connection.execute("pragma enable_lineage")
            start = time.perf_counter()
            outputs = connection.execute(text).fetchall()
            took = time.perf_counter() - start
            if pragma:
                connection.execute("pragma disable_lineage")
            if round:
                times[name].append(took)
    result: dict[str, object] = {
        name: {"median": statistics.median(found), "seconds": found}
        for name, found in times.items()
    }
    result["outputs"] = len(outputs)
    try:
        wrapper.execute(text, capture_lineage="lineage")
    except Exception as error:
        return {**result, "backward": _failure(error)}
    for name, ask in (
        ("backward", lambda place: wrapper.backward([place])),
        ("all", lambda _: wrapper.lineage()),
    ):
        try:
            result[name] = ask_for(ask, min(rounds, 3), len(outputs), patience=20)
        except Exception as error:
            result[name] = _failure(error)
    return result


def ask_for(
    ask: Callable[[int], Any], rounds: int, outputs: int, patience: float
) -> dict[str, object]:
    """Return the times of a question, and how many rows came back at last."""
    found: list[float] = []
    rows = 0
    for round in range(rounds):
        start = time.perf_counter()
        rows = len(ask(round * max(outputs, 1) // rounds).fetchnumpy()["out_index"])
        found.append(time.perf_counter() - start)
        if sum(found) > patience:
            break
    return {"median": statistics.median(found), "seconds": found, "rows": rows}


def _failure(error: Exception) -> dict[str, str]:
    return {"failure": f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"}


if __name__ == "__main__":
    main()
