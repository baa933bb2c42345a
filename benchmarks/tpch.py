"""TPC-H, all 22 queries: what DESIGN section 6 wants to know, beside baselines and peers.

    python benchmarks/tpch.py --sf 1

The sections, each of which takes its own baselines in turns with what is compared to them, in this
process and after a warm-up; medians count:

    pipeline     the query written to Parquet, plainly and captured in each mode; bytes saved
    inference    plan to lineage program, with and without proofs known
    questions    one row and all rows, by every strategy; the query itself, a bare scan, two lazy
                 baselines (`lazy.py`)
    exactness    every pair of rows against hand-written lineage SQL; false positives
    index        rid indexes: building them, their bytes, questions by them and by the program
    smokedduck   the eager peer, in a process of its own (`smokedduck_peer.py`)

Each query's results are put into `benchmarks/results/tpch-sf<scale>/` as soon as they are there; a
run that was killed goes on from them, and `--again` makes it begin anew. Prints Markdown at last.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import exactness
import indexes
import inference
import machine
import pipeline
import questions
import smokedduck_peer
from pipeline import MODES, Pipeline
from pyspark.sql import SparkSession
from report import report
from workload import QUERIES, Workload, session

from lineage_core.lineage import LineageStore, open_store

SECTIONS = ("pipeline", "inference", "questions", "exactness", "index", "smokedduck")
RESULTS = Path(__file__).parent / "results"
PEER_LIMIT = 180.0


class Benchmark:
    """The sections of one query after the other, and their results files."""

    def __init__(
        self, workload: Workload, modes: Sequence[str], rounds: int, question_rounds: int
    ) -> None:
        self.workload, self.modes = workload, modes
        self.rounds, self.question_rounds = rounds, question_rounds
        self.results = RESULTS / f"tpch-sf{workload.scale:g}"
        self.results.mkdir(parents=True, exist_ok=True)
        self.failed: list[str] = []

    def load(self, query: int) -> dict[str, Any]:
        """Return what is known of a query."""
        file = self._file(query)
        return json.loads(file.read_text()) if file.exists() else {"query": query}

    def run(self, wanted: Mapping[int, list[str]], folder: Path) -> None:
        """Measure the wanted sections of each query."""
        store = open_store(str(folder / "store"))
        with session(self.workload, folder / "spark") as spark:
            for query, sections in wanted.items():
                self._measure(spark, store, folder, query, sections)

    def _measure(
        self,
        spark: SparkSession,
        store: LineageStore,
        folder: Path,
        query: int,
        sections: list[str],
    ) -> None:
        one = Pipeline(self.workload, spark, store, folder, query)
        result = self.load(query)
        if "pipeline" not in sections and set(sections) - {"smokedduck"}:
            for mode in self.modes:
                one.captured(mode)
        for section in sections:
            print(f"Q{query} {section} ...", file=sys.stderr, flush=True)
            before = machine.load()
            try:
                found = self._actions(one)[section]()
            except Exception:  # the others are measured all the same; a next run tries it again
                traceback.print_exc()
                self.failed.append(f"Q{query} {section}")
                continue
            result[section] = {**found, "load": [before, machine.load()]}
            self._save(query, result)

    def _actions(self, one: Pipeline) -> dict[str, Callable[[], dict[str, Any]]]:
        return {
            "pipeline": lambda: pipeline.measure(one, self.modes, self.rounds),
            "inference": lambda: inference.measure(_plan(one), self.rounds),
            "questions": lambda: questions.measure(one, self.modes, self.question_rounds),
            "exactness": lambda: exactness.measure(one),
            "index": lambda: indexes.measure(one, self.question_rounds),
            "smokedduck": lambda: smokedduck_peer.measure(
                self.workload, one.query, self.rounds, PEER_LIMIT
            ),
        }

    def _save(self, query: int, result: Mapping[str, Any]) -> None:
        file = self._file(query)
        aside = file.with_suffix(".part")
        aside.write_text(json.dumps(result, indent=2) + "\n")
        aside.rename(file)

    def _file(self, query: int) -> Path:
        return self.results / f"q{query:02}.json"


def _plan(one: Pipeline) -> Any:
    output = one.record("auto")
    if output.plan is None:
        raise SystemExit(f"Q{one.query} was not captured: {output.uncaptured}")
    return output.plan


def main() -> None:
    arguments = _arguments()
    modes = ["auto", *(mode for mode in arguments.modes if mode != "auto")]  # it is what is asked
    benchmark = Benchmark(
        Workload(arguments.sf), modes, arguments.rounds, arguments.question_rounds
    )
    wanted = {}
    for query in arguments.queries:
        known = {} if arguments.again else benchmark.load(query)
        missing = [section for section in arguments.only if section not in known]
        if missing:
            wanted[query] = missing
    if wanted:
        with tempfile.TemporaryDirectory(prefix="row-lineage-bench-") as folder:
            benchmark.run(wanted, Path(folder))
    results = [benchmark.load(query) for query in QUERIES]
    results = [result for result in results if len(result) > 1]
    text = report(results, f"TPC-H SF{arguments.sf:g}, {len(results)} queries; {_noise(results)}")
    document = {"scale_factor": arguments.sf, "machine": machine.facts(), "queries": results}
    whole = RESULTS / f"tpch-sf{arguments.sf:g}.json"
    whole.write_text(json.dumps(document, indent=2) + "\n")
    whole.with_suffix(".md").write_text(text)
    print(text)
    if benchmark.failed:
        raise SystemExit(f"not measured, see above: {', '.join(benchmark.failed)}")


def _noise(results: list[dict[str, Any]]) -> str:
    """Return how busy the machine was: above the number of its cores, times are of little worth."""
    loads = [
        load
        for result in results
        for section in SECTIONS
        for load in result.get(section, {}).get("load", ())
    ]
    cores = machine.facts()["cores"]
    return f"load average {min(loads)} to {max(loads)} on {cores} cores" if loads else ""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sf", type=float, default=1, help="scale factor of the data")
    parser.add_argument("--queries", type=int, nargs="+", default=QUERIES, choices=QUERIES)
    parser.add_argument("--only", nargs="+", default=SECTIONS, choices=SECTIONS, help="sections")
    parser.add_argument("--modes", nargs="+", default=MODES, choices=MODES, help="of capturing")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds")
    parser.add_argument("--question-rounds", type=int, default=10, help="of one-row questions")
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
