"""The Markdown of Smoke's experiments: what was measured, and what the paper reports of its own.

Smoke is an engine in memory: its base queries take milliseconds, and its overheads are of that.
Here, the base is a Spark job that writes Parquet files. Both are fractions of the base.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

Found = Mapping[str, Any]

_PAPER_OPERATORS: Final = {
    "group-by": "Smoke-I 0.7 x; logical: orders of magnitude",
    "pk-fk join": "Smoke-I 0.41 x; Logic-Idx 1.4 x",
    "m:n join": "only milliseconds, base not counted",
}
_PAPER_TPCH: Final = "Smoke-I at most 22 %; Logic-Idx up to 22 times Smoke-I's"
_PAPER_DRILLING: Final = {
    "Q1a": "index: 6.2 x faster than lazy for the smallest bar, about the same for the others",
    "Q1b": "data skipping: at most 150 ms, and at least 2 x faster than lazy",
    "Q1c": "index: 72.9 x faster than lazy on average; push-down: about 0 ms",
}
_CAPTURE: Final = ("plain s", "captured", "inject", "defer", "defer: of that, index s")
INTERACTIVE: Final = 0.15


def report(document: Found) -> str:
    """Return all tables of the sections that there are."""
    about, load = document["machine"], document["load"]
    title = (
        f"# Smoke's experiments; {about['cores']} cores, Spark {about['pyspark']}, "
        f"DuckDB {about['duckdb']}, load average {min(load)} to {max(load)}"
    )
    parts = [title, _NOTE]
    for section, shown in _SECTIONS.items():
        if section in document:
            parts += shown(document[section]["results"], document)
    return "\n\n".join(parts) + "\n"


_NOTE = (
    "Overheads are relative to `plain`, the query written to Parquet by Spark without capture: "
    "`captured` has no index, `inject` builds the indexes in the same run, `defer` after it. "
    "Smoke's own (columns `paper`) are relative to base queries of an engine in memory that take "
    "milliseconds, so they are not of the same thing. Index files of `inject` and `defer` were "
    "equal byte by byte. A load average above the number of cores makes times worth little: an "
    "overhead below zero is of other work on the machine. Sections may be of runs of their own."
)


def _operators(results: Sequence[Found], _: Found) -> list[str]:
    head = ["operator", "n", "g", *_CAPTURE, "pairs", "index KB", "bytes a pair", "paper"]
    rows = [
        [
            found["operator"],
            f"{found['n']:,}",
            f"{found['g']:,}",
            *_capture(found),
            *_size(found),
            _PAPER_OPERATORS[found["operator"]],
        ]
        for found in results
    ]
    return [_section("Single operators (6.1): theta 1", head, rows), _means(results)]


def _means(results: Sequence[Found]) -> str:
    lines = []
    for operator in _PAPER_OPERATORS:
        some = [found for found in results if found["operator"] == operator]
        if some:
            lines.append(f"- {operator}: {_geometric(some)}")
    return "Geometric means of the overheads:\n\n" + "\n".join(lines)


def _tpch(results: Sequence[Found], document: Found) -> list[str]:
    head = ["query", *_CAPTURE, "output rows", "pairs", "index KB", "bytes a pair"]
    rows = [
        [f"Q{found['query']}", *_capture(found), f"{found['rows']:,}", *_size(found)]
        for found in results
    ]
    title = f"TPC-H (6.2), SF {document['scale_factor']:g}; paper: {_PAPER_TPCH}"
    return [_section(title, head, rows), f"Geometric means: {_geometric(results)}."]


def _tracing(results: Sequence[Found], _: Found) -> list[str]:
    head = ["theta", "groups asked", "sizes", "rids by index ms", "rows by index ms"]
    head += ["scan of Parquet ms", "scan of memory ms"]
    head += [f"{way} slower than scan of {scan} from" for way in _BY for scan in _SCANS]
    rows = []
    for found in results:
        groups = found["groups"]
        sizes = [group["size"] for group in groups]
        times = {
            way: [group["times"][way]["median"] for group in groups] for way in (*_BY, *_SCANS)
        }
        rows.append(
            [
                *(f"{found['theta']:g}", str(len(groups)), f"{min(sizes):,} to {max(sizes):,}"),
                *(f"{_ms(statistics.median(t))}, most {_ms(max(t))}" for t in times.values()),
                *(
                    _crossover(found["crossover"][f"{way} {scan}"], min(sizes))
                    for way in _BY
                    for scan in _SCANS
                ),
            ]
        )
    title = f"Where one group came from (6.3), {results[0]['n']:,} rows: medians over groups"
    note = (
        "Smoke: mainly about 1 ms, up to five orders of magnitude below its lazy scan; the scan "
        "is faster for the largest groups of theta 0.8 and 1.6. Here an answer has the cost of a "
        "query of the catalog and of looking at the files, too."
    )
    return [_section(title, head, rows), note]


def _drilling(results: Sequence[Found], _: Found) -> list[str]:
    rows = []
    asked = [found for found in results if "query" in found]
    for found in asked:
        times = found["times"]
        lazy = next(f for f in asked if f["query"] == found["query"] and f["way"] == "lazy")
        faster = statistics.geometric_mean(
            late / mine for late, mine in zip(lazy["times"], times, strict=True)
        )
        within = sum(second <= INTERACTIVE for second in times)
        rows.append(
            [
                *(found["query"], found["way"], str(len(times))),
                *(_ms(statistics.median(times)), _ms(max(times)), f"{within} of {len(times)}"),
                "" if found["way"] == "lazy" else f"{faster:.2f} x",
                f"{found['build']:.2f}" if "build" in found else "",
                f"{found['bytes'] / 1e3:,.0f}" if "bytes" in found else "",
                _PAPER_DRILLING[found["query"]] if found["way"] == "lazy" else "",
            ]
        )
    head = ["query", "way", "asked", "median ms", "most ms", "within 150 ms"]
    head += ["faster than lazy", "build s", "index KB", "paper"]
    pruned = [found["pruned"] for found in results if "pruned" in found]
    lines = []
    for found in pruned:
        for label, made in found["workloads"].items():
            seconds = f"{made['times']['median']:.2f}"
            size = f"{made['bytes'] / 1e3:,.1f}"
            lines.append([f"Q{found['query']}", label, str(made["files"]), seconds, size])
    return [
        _section("Queries over a bar of Q1 (6.4)", head, rows),
        _section("Pruning (4.1)", ["query", "indexes of", "files", "build s", "KB"], lines),
    ]


_BY, _SCANS = ("rids", "rows"), ("parquet", "memory")
_SECTIONS: Final = {
    "operators": _operators,
    "tpch": _tpch,
    "tracing": _tracing,
    "drilling": _drilling,
}


def overheads(found: Found) -> dict[str, float]:
    """Return what each way takes on top of the plain one, as a fraction of that."""
    times = {way: found["times"][way]["median"] for way in found["times"]}
    took = {
        "captured": times["captured"],
        "inject": times["inject"],
        "defer": times["captured"] + times["index"],
    }
    return {way: seconds / times["plain"] - 1 for way, seconds in took.items()}


def _capture(found: Found) -> list[str]:
    times = {way: found["times"][way]["median"] for way in found["times"]}
    return [
        f"{times['plain']:.2f}",
        *(f"{more:+.2f} x" for more in overheads(found).values()),
        f"{times['index']:.2f}",
    ]


def _size(found: Found) -> list[str]:
    each = found["bytes"] / max(found["pairs"], 1)
    return [f"{found['pairs']:,}", f"{found['bytes'] / 1e3:,.1f}", f"{each:.2f}"]


def _geometric(results: Sequence[Found]) -> str:
    every = [overheads(found) for found in results]
    means = {way: statistics.geometric_mean(1 + each[way] for each in every) for way in every[0]}
    return ", ".join(f"{way} {mean - 1:+.2f} x" for way, mean in means.items())


def _crossover(size: int | None, least: int) -> str:
    if size is None:
        return "never"
    return "always" if size == least else f"{size:,} rows"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f}"


def _section(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join([f"## {title}", "", *lines])
