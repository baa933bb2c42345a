"""A query written by Spark in Smoke's ways: plainly, captured, and with rid indexes.

    plain      as it is
    captured   with its lineage program recorded, and no index
    inject     captured, the indexes built in the same run: rids ride along with the rows
    index      the indexes built afterwards, of the run that was captured

Smoke's *defer* is `captured` and `index` together.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from timing import in_turns

import lineage_core as lc
from lineage_core.index.record import IndexRecord

WAYS = ("plain", "captured", "index", "inject")
JOB = "smoke"


@dataclass(frozen=True)
class Bench:
    """A Spark session, a store, and the folder that all is written to."""

    spark: SparkSession
    store: lc.LineageStore
    folder: Path

    def views(self, **tables: Path) -> None:
        """Give Parquet files names in Spark."""
        for name, path in tables.items():
            self.spark.read.parquet(str(path)).createOrReplaceTempView(name)

    def output(self, name: str) -> str:
        return str(self.folder / "out" / name)

    def write(self, text: str, name: str) -> None:
        self.spark.sql(text).write.mode("overwrite").parquet(self.output(name))

    def captured(self, text: str, name: str, **options: Any) -> str:
        """Write a query's rows under capture; return the run's id."""
        with self.store.capture(self.spark, job=f"{JOB}-{name}", **options) as run:
            self.write(text, name)
        return run.id

    def index_files(self, run: str) -> dict[str, bytes]:
        """Return what the files of a run's indexes hold."""
        folder = self.folder / "store" / "runs" / run / "index"
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def measure(bench: Bench, text: str, rounds: int, patience: float = 60) -> dict[str, Any]:
    """Return the times of each way, and how large the indexes are; both ways give the same."""
    runs: dict[str, str] = {}

    def captured(_: int) -> None:
        runs["captured"] = bench.captured(text, "captured")

    def inject(_: int) -> None:
        runs["inject"] = bench.captured(text, "inject", index=True)

    def index(_: int) -> None:
        if "captured" not in runs:
            captured(0)
        bench.store.index(run=runs["captured"])

    times = in_turns(
        {
            "plain": lambda _: bench.write(text, "plain"),
            "captured": captured,
            "index": index,
            "inject": inject,
        },
        rounds,
        patience,
    )
    for name, found in times.items():
        if found.failure:
            raise RuntimeError(f"{name}: {found.failure}")
    in_same_run = bench.index_files(runs["inject"])
    (record,) = bench.store.index(run=runs["inject"])
    assert in_same_run == bench.index_files(runs["inject"]), "inject and defer differ"
    written = {way: bench.store.run(run).outputs[0] for way, run in runs.items()}
    return {
        "times": {name: found.as_json() for name, found in times.items()},
        "rows": written["inject"].rows,
        "pairs": sum(entry.pairs for entry in record.entries),
        "bytes": size(record),
        "stages": {
            way: {timing.stage: round(timing.seconds, 4) for timing in output.timings}
            for way, output in written.items()
        },
    }


def size(record: IndexRecord) -> int:
    """Return the bytes of an output's indexes."""
    return sum(entry.size for entry in record.entries)
