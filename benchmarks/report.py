"""The Markdown of results: a table per subject, and what of the goals is reached.

A cell is the median of what was measured; a dash is something that was not measured, and a word in
brackets why it could not be. Columns of what others report say so.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import reported

Result = Mapping[str, Any]
"""What a query's results file holds, by section."""


def report(results: Sequence[Result], title: str) -> str:
    """Return all tables."""
    parts = [
        f"# {title}",
        _pipelines(results),
        _questions(results),
        _exactness(results),
        _indexes(results),
        _smokedduck(results),
        _goals(results),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _pipelines(results: Sequence[Result]) -> str:
    columns = [
        "query",
        "plain s",
        *(f"{mode} s (overhead)" for mode in _MODES),
        "saved KiB (auto)",
        "saved KiB (inject)",
        "infer ms (cold)",
        "infer ms (from disk)",
        "infer ms (cached)",
    ]
    rows = []
    for result in _having(results, "pipeline"):
        rows.append(
            [
                _name(result),
                _seconds(_get(result, "pipeline", "times", "plain")),
                *(_captured(result, mode) for mode in _MODES),
                *(_kib(result, mode) for mode in ("auto", "inject")),
                *(_ms(_get(result, "inference", "times", how)) for how in _PROOFS),
            ]
        )
    return _section("Pipeline runs, bytes saved, logical inference", columns, rows)


def _questions(results: Sequence[Result]) -> str:
    columns = {
        "rids": "rids ms",
        "rows": "rows ms",
        "rids_inject": "rids ms (saved)",
        "replay": "replay ms",
        "iterative": "iterative ms",
        "scan": "bare scan ms",
        "query": "the query ms",
        "provenance": "lazy: provenance rewrite ms",
        "trace": "lazy: inverse queries ms",
    }
    every = {
        "pairs": "all rows: pairs ms",
        "replay": "all rows: replay ms",
        "provenance": "all rows: provenance rewrite ms",
    }
    rows = [
        [
            _name(result),
            f"{_get(result, 'questions', 'rows'):,}",
            *(_ms(_get(result, "questions", "one", name)) for name in columns),
            *(_ms(_get(result, "questions", "all", name)) for name in every),
        ]
        for result in _having(results, "questions")
    ]
    header = ["query", "output rows", *columns.values(), *every.values()]
    return _section("Where one output row came from, and where all did; DuckDB", header, rows)


def _exactness(results: Sequence[Result]) -> str:
    columns = [
        "query",
        "pairs",
        "every pair right",
        "replay: false positives",
        "iterative: false positives",
        "iterative: rows missed",
        "PredTrace without saved data: false positives (reported)",
    ]
    rows = []
    for result in _having(results, "exactness"):
        found = result["exactness"]
        superset = result["query"] in reported.PREDTRACE_SUPERSETS
        rows.append(
            [
                _name(result),
                f"{found['all']['pairs']:,}",
                "yes" if found["all"]["exact"] else "NO",
                *(
                    f"{found['sample'][how]['false_positive_rate'] * 100:.1f} %"
                    for how in ("replay", "iterative")
                ),
                f"{found['sample']['iterative']['missing']:,}",
                "some" if superset else "0",
            ]
        )
    return _section("Exactness, against hand-written lineage SQL", columns, rows)


def _indexes(results: Sequence[Result]) -> str:
    columns = [
        "query",
        "pairs",
        "build s",
        "KiB, both ways",
        "bytes a pair",
        "one row: rids ms",
        "one row by the program: rids ms",
        "one row: bare scan ms",
        "all rows: pairs ms",
        "all rows by the program: pairs ms",
    ]
    rows = []
    for result in _having(results, "index"):
        found = result["index"]
        each = (("one", "index"), ("one", "saved"), ("one", "scan"), ("all", "index"))
        rows.append(
            [
                _name(result),
                f"{found['pairs']:,}",
                f"{found['build']:.2f}",
                f"{found['bytes'] / 1024:,.0f}",
                f"{found['bytes'] / max(found['pairs'], 1):.2f}",
                *(_ms(_get(found, *path)) for path in (*each, ("all", "saved"))),
            ]
        )
    return _section("Rid indexes", columns, rows)


def _smokedduck(results: Sequence[Result]) -> str:
    columns = ["query", "plain ms", "captured ms", "overhead", "one row ms", "all rows ms"]
    rows = []
    for result in _having(results, "smokedduck"):
        found = result["smokedduck"]
        ratio = _ratio(found, "capture", "plain")
        rows.append(
            [
                _name(result),
                _ms(found.get("plain", found)),
                _ms(found.get("capture", found)),
                "-" if ratio is None else _percent(ratio),
                _ms(found.get("backward", found)),
                _ms(found.get("all", found)),
            ]
        )
    return _section("SmokedDuck: one thread, tables in memory; measured", columns, rows)


def _goals(results: Sequence[Result]) -> str:
    """Return the rows of DESIGN section 6 that TPC-H decides."""
    rows = [
        ["exact lineage", reported.EXACT, "22", _exact_count(results)],
        [
            "overhead on the pipeline run (geometric mean)",
            reported.OVERHEAD,
            "<= 5 %",
            _overheads(results),
        ],
        ["bytes saved per query", reported.SAVED, "<= 1 MB mean, <= 8 MB max", _bytes(results)],
        [
            "one output row",
            f"PredTrace {reported.QUERY_MS['PredTrace']} ms",
            "rids <= 20 ms median, <= 50 ms mean, <= 1.5 x a bare scan",
            _one_row(results, ("questions", "one"), "rids"),
        ],
        [
            "one output row, by index",
            f"PredTrace {reported.QUERY_MS['PredTrace']} ms",
            "rids <= 20 ms median, <= 50 ms mean, <= 1.5 x a bare scan",
            _one_row(results, ("index", "one"), "index"),
        ],
        [
            "false positives without saved data",
            f"{reported.PREDTRACE_RATE} (PredTrace)",
            "0 on 22 of 22 (replay)",
            _false_positives(results),
        ],
        [
            "time without saved data",
            f"{reported.QUERY_MS['PredTrace, nothing saved']} ms (PredTrace)",
            "<= 120 ms mean, no slower than the query",
            _replays(results),
        ],
        ["logical inference", reported.INFERENCE, "< 300 ms, < 30 ms cached", _inference(results)],
    ]
    return _section("Goals", ["what", "reported by others", "wanted", "measured here"], rows)


_MODES = ("auto", "inject", "defer", "never")
_PROOFS = ("cold", "disk", "cached")


def _exact_count(results: Sequence[Result]) -> str:
    asked = _having(results, "exactness")
    exact = sum(result["exactness"]["all"]["exact"] for result in asked)
    return f"{exact} of {len(asked)}" if asked else "-"


def _overheads(results: Sequence[Result]) -> str:
    found = []
    for mode in _MODES:
        ratios = _ratios(results, ("pipeline", "times"), mode, "plain")
        if ratios:
            found.append(f"{mode} {_percent(statistics.geometric_mean(ratios))}")
    return ", ".join(found) or "-"


def _bytes(results: Sequence[Result]) -> str:
    found = []
    for mode in _MODES:
        found_sizes = (
            _get(r, "pipeline", "captured", mode, "bytes") for r in _having(results, "pipeline")
        )
        sizes = [size for size in found_sizes if size is not None]
        if sizes:
            mean, most = statistics.mean(sizes) / 1e6, max(sizes) / 1e6
            found.append(f"{mode} {mean:.2f} MB mean, {most:.2f} MB max")
    return "; ".join(found) or "-"


def _one_row(results: Sequence[Result], path: tuple[str, str], name: str) -> str:
    found = _medians(results, path, name)
    if not found:
        return "-"
    processor = _medians(results, path, name, of="cpu")
    scans = _ratios(results, path, name, "scan")
    within = sum(ratio <= 1.5 for ratio in scans)
    return (
        f"{statistics.median(found) * 1e3:.0f} ms median, "
        f"{statistics.mean(found) * 1e3:.0f} ms mean "
        f"(processor time {statistics.median(processor) * 1e3:.0f} and "
        f"{statistics.mean(processor) * 1e3:.0f} ms), "
        f"{statistics.geometric_mean(scans):.1f} x a bare scan (geometric mean; "
        f"within 1.5 x on {within} of {len(scans)})"
    )


def _false_positives(results: Sequence[Result]) -> str:
    found = []
    for how in ("replay", "iterative"):
        rates = [
            r["exactness"]["sample"][how]["false_positive_rate"]
            for r in _having(results, "exactness")
        ]
        if rates:
            zero = sum(not rate for rate in rates)
            mean = statistics.mean(rates) * 100
            found.append(f"{how}: mean {mean:.1f} %, zero on {zero} of {len(rates)}")
    return "; ".join(found) or "-"


def _replays(results: Sequence[Result]) -> str:
    found = _medians(results, ("questions", "one"), "replay")
    if not found:
        return "-"
    ratios = _ratios(results, ("questions", "one"), "replay", "query")
    within = sum(ratio <= 1 for ratio in ratios)
    return (
        f"{statistics.mean(found) * 1e3:.0f} ms mean; "
        f"{statistics.geometric_mean(ratios):.2f} x the query "
        f"(geometric mean; no slower on {within} of {len(ratios)})"
    )


def _inference(results: Sequence[Result]) -> str:
    found = []
    for how in _PROOFS:
        times = _medians(results, ("inference", "times"), how)
        if times:
            mean, most = statistics.mean(times) * 1e3, max(times) * 1e3
            found.append(f"{how} {mean:.0f} ms mean, {most:.0f} ms max")
    return "; ".join(found) or "-"


def _having(results: Sequence[Result], section: str) -> list[Result]:
    return [result for result in results if section in result]


def _get(result: Result, *path: str) -> Any:
    found: Any = result
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _medians(
    results: Sequence[Result], path: tuple[str, ...], name: str, of: str = "median"
) -> list[float]:
    found = (_get(result, *path, name, of) for result in results)
    return [median for median in found if median is not None]


def _ratios(results: Sequence[Result], path: tuple[str, ...], name: str, base: str) -> list[float]:
    found = (_ratio(_get(result, *path) or {}, name, base) for result in results)
    return [ratio for ratio in found if ratio is not None]


def _ratio(times: Result, name: str, base: str) -> float | None:
    one, other = _get(times, name, "median"), _get(times, base, "median")
    return one / other if one and other else None


def _captured(result: Result, mode: str) -> str:
    if _get(result, "pipeline", "captured", mode, "uncaptured"):
        return "[uncaptured]"
    times = _get(result, "pipeline", "times", mode)
    ratio = _ratio(result["pipeline"]["times"], mode, "plain")
    return _seconds(times) if ratio is None else f"{_seconds(times)} ({_percent(ratio)})"


def _kib(result: Result, mode: str) -> str:
    size = _get(result, "pipeline", "captured", mode, "bytes")
    return "-" if size is None else f"{size / 1024:,.0f}"


def _name(result: Result) -> str:
    return f"Q{result['query']}"


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f} %"


def _seconds(times: Result | None) -> str:
    return _cell(times, lambda median: f"{median:.2f}")


def _ms(times: Result | None) -> str:
    return _cell(times, lambda median: f"{median * 1e3:,.1f}")


def _cell(times: Result | None, show: Callable[[float], str]) -> str:
    if not times:
        return "-"
    if "failure" in times:
        return f"[{times['failure'].split(':')[0]}]"
    return show(times["median"])


def _section(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return ""
    header = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    return "\n".join([f"## {title}", "", *header, *lines])
