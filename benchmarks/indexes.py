"""Rid indexes of what a pipeline wrote: building them, their bytes, and asking by them, in turns.

The same questions by the lineage program, and a bare scan of the columns that it reads, take turns
with them. The indexes are taken away again: other sections ask the programs.
"""

from __future__ import annotations

import time
from typing import Any

from lazy import Lazy
from pipeline import Pipeline
from questions import SAMPLE, fetch_pairs, fetch_rids
from scan import columns_read, scan
from timing import Action, in_turns
from workload import OUT_RID, Output

from lineage_core.index.record import folder
from lineage_core.query.relations import bind


def measure(pipeline: Pipeline, rounds: int) -> dict[str, Any]:
    """Return what building took, and the times of questions by index and by program."""
    store, run = pipeline.store, pipeline.run("auto")
    begin = time.perf_counter()
    (made,) = store.index(run=run, engine="duckdb")
    seconds = time.perf_counter() - begin
    try:
        lazy = Lazy(pipeline.workload, pipeline.query)
        read = columns_read(bind(pipeline.record("auto"), store.artifacts.uri))
        rows = Output(pipeline.output("auto")).sample(SAMPLE).column(OUT_RID).to_pylist()

        def one(strategy: str) -> Action:
            def ask(round: int) -> None:
                fetch_rids(pipeline.ask("auto", strategy, [rows[round % len(rows)]]))

            return ask

        def every(strategy: str) -> Action:
            return lambda _: fetch_pairs(pipeline.ask("auto", strategy))

        actions = {"index": one("index"), "saved": one("saved")}
        asked = in_turns(
            {**actions, "scan": lambda _: scan(lazy.connection, read)}, rounds, patience=30
        )
        pairs = in_turns({"index": every("index"), "saved": every("saved")}, 2, patience=10)
    finally:
        store.artifacts.remove(folder(store.artifacts.run_path(run)))
    return {
        "build": seconds,
        "pairs": sum(entry.pairs for entry in made.entries),
        "bytes": sum(entry.size for entry in made.entries),
        "one": {name: found.as_json() for name, found in asked.items()},
        "all": {name: found.as_json() for name, found in pairs.items()},
    }
