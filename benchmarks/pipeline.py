"""The pipeline run: a query written to Parquet, plainly and captured in each mode, in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from timing import Action, in_turns
from workload import Workload

from lineage_core.lineage import LineageStore
from lineage_core.query.answer import Answer
from lineage_core.store.manifest import OutputRecord

MODES = ("auto", "inject", "defer", "never")
PLAIN = "plain"


@dataclass(frozen=True)
class Pipeline:
    """One query as a pipeline: where it reads, and where each mode of it writes."""

    workload: Workload
    spark: SparkSession
    store: LineageStore
    folder: Path
    query: int

    def output(self, mode: str) -> str:
        return str(self.folder / f"q{self.query:02}-{mode}")

    def plain(self) -> None:
        """Run the query and write its rows."""
        frame = self.spark.sql(self.workload.text(self.query))
        frame.write.mode("overwrite").parquet(self.output(PLAIN))

    def captured(self, mode: str) -> None:
        """Do the same under capture, up to the committed run."""
        with self.store.capture(self.spark, job=f"q{self.query:02}-{mode}", materialize=mode):
            frame = self.spark.sql(self.workload.text(self.query))
            frame.write.mode("overwrite").parquet(self.output(mode))

    def ask(self, mode: str, strategy: str, rids: list[int] | None = None) -> Answer:
        """Ask DuckDB where rows that a mode wrote came from; all rows by default."""
        folder = self.output(mode)
        return self.store.backward(folder, rids=rids, strategy=strategy, engine="duckdb")

    def run(self, mode: str) -> str:
        """Return the id of the newest run in a mode."""
        return self.store.runs(job=f"q{self.query:02}-{mode}", limit=1)[0].id

    def record(self, mode: str) -> OutputRecord:
        """Return what the newest run in a mode recorded of its write."""
        (output,) = self.store.run(self.run(mode)).outputs
        return output


def measure(pipeline: Pipeline, modes: Sequence[str], rounds: int) -> dict[str, Any]:
    """Return the times of the plain and the captured runs, and what was saved."""

    def captured(mode: str) -> Action:
        return lambda _: pipeline.captured(mode)

    actions: dict[str, Action] = {PLAIN: lambda _: pipeline.plain()}
    actions |= {mode: captured(mode) for mode in modes}
    times = in_turns(actions, rounds, patience=300)
    return {
        "times": {name: found.as_json() for name, found in times.items()},
        "captured": {mode: _captured(pipeline.record(mode)) for mode in modes},
    }


def _captured(output: OutputRecord) -> dict[str, Any]:
    return {
        "uncaptured": output.uncaptured,
        "bytes": sum(f.size for a in output.artifacts for f in a.snapshot.files),
        "saved": [{"step": a.step, "rows": a.rows, "how": a.how.value} for a in output.artifacts],
        "steps": [step.kind.value for step in output.program.steps] if output.program else [],
        "superset": sorted(
            {step.name for step in output.program.steps if step.superset} if output.program else ()
        ),
        "stages": {timing.stage: round(timing.seconds, 4) for timing in output.timings},
    }
