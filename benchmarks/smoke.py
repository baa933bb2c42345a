"""Smoke's experiments, sections 6.1 to 6.4 of its paper, by the public API over Spark.

    python benchmarks/smoke.py [--sf 1] [--only operators tpch tracing drilling] [--quick]

    operators   group-by, pk-fk and m:n joins over zipfian tables, written in four ways
                (`capturing.py`): overheads and bytes; `--large` adds the paper's largest tables
    tpch        Q1, Q3, Q10 and Q12 in the same ways
    tracing     where one group came from: rids and rows by index, beside a scan (`tracing.py`)
    drilling    queries over a bar of Q1, by plain indexes and declared workloads (`drilling.py`)

Ways that are compared take turns in one process, after a warm-up; medians count, and answers are
compared. Results go to `benchmarks/results/smoke.md`, `.json` and `smoke-*.png`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import drilling
import machine
import operators
import smoke_plots
import smoke_report
import tracing
from capturing import Bench
from workload import Workload, session

import lineage_core as lc

RESULTS = Path(__file__).parent / "results"
SECTIONS = ("operators", "tpch", "tracing", "drilling")


@dataclass(frozen=True)
class Sizes:
    """How large everything is.

    Attributes:
        scale: TPC-H's scale factor.
        grouped: rows and groups of group-bys.
        joined: rows and keys of pk-fk joins.
        matched: rows of the right table of m:n joins, values of the left one's key.
        traced: rows and groups of the table whose groups are traced.
        sample: groups that are.
        combinations: of parameters, of queries over a bar.
        rounds: of anything.
    """

    scale: float = 1
    grouped: tuple[tuple[int, int], ...] = operators.GROUPED
    joined: tuple[tuple[int, int], ...] = operators.JOINED
    matched: tuple[tuple[int, int], ...] = operators.MATCHED
    traced: tuple[int, int] = (1_000_000, 5_000)
    sample: int = 25
    combinations: int = 4
    rounds: int = 3


QUICK = Sizes(0.01, ((2_000, 20),), ((2_000, 20),), ((100, 10),), (5_000, 50), 3, 2, 1)


def main() -> None:
    arguments = _arguments()
    sizes = _sizes(arguments)
    document: dict[str, Any] = {
        "machine": machine.facts(),
        "load": [machine.load()],
        "scale_factor": sizes.scale,
    }
    with tempfile.TemporaryDirectory(prefix="row-lineage-smoke-") as folder:
        document |= measure(Path(folder), sizes, arguments.only)
    RESULTS.mkdir(exist_ok=True)
    name = "quick-smoke" if arguments.quick else "smoke"
    whole = RESULTS / f"{name}.json"
    known = json.loads(whole.read_text()) if whole.exists() and not arguments.again else {}
    document["load"] = [*known.get("load", []), *document["load"], machine.load()]
    document = {**known, **document}
    whole.write_text(json.dumps(document, indent=2) + "\n")
    text = smoke_report.report(document)
    whole.with_suffix(".md").write_text(text)
    smoke_plots.draw(document, RESULTS / name)
    print(text)


def measure(folder: Path, sizes: Sizes, sections: list[str]) -> dict[str, Any]:
    """Return what was measured, by section."""
    workload, found = Workload(sizes.scale), {}
    with session(workload, folder / "spark") as spark:
        bench = Bench(spark, lc.open_store(str(folder / "store")), folder)
        for section in sections:
            begin = time.perf_counter()
            found[section] = {
                "results": list(_told(section, _SECTIONS[section](bench, workload, sizes))),
                "seconds": round(time.perf_counter() - begin, 1),
            }
    return found


def _operators(bench: Bench, _: Workload, sizes: Sizes) -> Iterator[dict[str, Any]]:
    data = bench.folder / "data"
    yield from operators.group_bys(bench, data, sizes.grouped, sizes.rounds)
    yield from operators.pk_fk_joins(bench, data, sizes.joined, sizes.rounds)
    yield from operators.many_to_many_joins(bench, data, sizes.matched, sizes.rounds)


def _tpch(bench: Bench, workload: Workload, sizes: Sizes) -> Iterator[dict[str, Any]]:
    return operators.tpch(bench, workload, operators.TPCH, sizes.rounds)


def _tracing(bench: Bench, _: Workload, sizes: Sizes) -> Iterator[dict[str, Any]]:
    rows, groups = sizes.traced
    return tracing.groups(bench, bench.folder / "data", rows, groups, sizes.sample, sizes.rounds)


def _drilling(bench: Bench, workload: Workload, sizes: Sizes) -> Iterator[dict[str, Any]]:
    yield from drilling.queries(bench, workload, sizes.combinations, sizes.rounds)
    for number in (1, 3):
        yield {"pruned": drilling.pruned(bench, workload, number, 2)}


_SECTIONS: dict[str, Callable[[Bench, Workload, Sizes], Iterator[dict[str, Any]]]] = {
    "operators": _operators,
    "tpch": _tpch,
    "tracing": _tracing,
    "drilling": _drilling,
}


def _told(section: str, results: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    begin = time.perf_counter()
    for number, result in enumerate(results, 1):
        seconds = time.perf_counter() - begin
        print(f"{section}: {number} done, {seconds:.0f} s", file=sys.stderr, flush=True)
        yield result


def _sizes(arguments: argparse.Namespace) -> Sizes:
    if arguments.quick:
        return QUICK
    sizes = Sizes(
        scale=arguments.sf,
        traced=(arguments.rows, 5_000),
        sample=arguments.sample,
        combinations=arguments.combinations,
        rounds=arguments.rounds,
    )
    if not arguments.large:
        return sizes
    return Sizes(
        **{
            **{name: getattr(sizes, name) for name in sizes.__dataclass_fields__},
            "grouped": (*sizes.grouped, (5_000_000, 100), (5_000_000, 10_000)),
            "matched": (*sizes.matched, (100_000, 10), (100_000, 100)),
        }
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sf", type=float, default=1, help="scale factor of TPC-H")
    parser.add_argument("--only", nargs="+", default=SECTIONS, choices=SECTIONS, help="sections")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the table traced")
    parser.add_argument("--sample", type=int, default=25, help="groups traced, a skew")
    parser.add_argument("--combinations", type=int, default=4, help="of parameters, a bar")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="the largest tables, too")
    parser.add_argument("--again", action="store_true", help="forget sections not measured now")
    parser.add_argument("--quick", action="store_true", help="tiny tables, to see that it runs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
