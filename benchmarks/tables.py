"""The tables of the ProvRC benchmark as Markdown, with the paper's figures beside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from forms import CODECS, MOST_WRITTEN

PAPER_MB = {
    "Negative": (22.66, 32.0, 5.05, 4.33, 0.00978, 0.0103),
    "Addition": (45.33, 64.0, 10.11, 8.66, 0.0195, 0.0207),
    "Aggregate": (20.55, 32.0, 0.131, 0.0255, 0.00978, 0.0103),
    "Repetition": (98.22, 128.0, 25.20, 14.52, 0.00983, 0.0103),
    "Matrix*Vector": (39.22, 64.0, 0.254, 0.048, 0.0195, 0.0207),
    "Matrix*Matrix": (40127, 64000, 254.8, 48.06, 0.0198, 0.0210),
    "Sort": (22.66, 32.0, 3.38, 2.76, 3.43, 2.79),
    "ImgFilter": (4.288, 5.632, 1.96, 1.06, 0.00999, 0.0104),
    "Lime": (24.09, 29.63, 0.529, 0.123, 0.0123, 0.0121),
    "DRISE": (8.82, 11.07, 0.0898, None, 0.0106, 0.0108),
    "Group By": (183.43, 251.0, 32.62, 13.56, 29.45, 13.62),
    "Inner Join": (2330, 2612.13, 195.44, 53.44, 14.13, 6.36),
}
"""Table VII of the paper, in MB: raw, array, Parquet, Parquet-GZip, ProvRC, ProvRC-GZip.

Its cell of Parquet-GZip for DRISE is not legible. ProvRC is one direction only.
"""

FORMS = ("csv", "npy", *CODECS, "index", "forward")
WAYS = ("index", *CODECS)


def report(found: dict[str, Any]) -> str:
    """Return the tables as Markdown."""
    about = found["machine"]
    title = f"{about['cores']} cores, DuckDB {about['duckdb']}, median load {about['load']}"
    lines = [f"# ProvRC; {title}", ""]
    operations = found["operations"].items()
    head = ["operation", "pairs", *(f"{form} KB" for form in FORMS), "both directions KB", "note"]
    rows = [[name, f"{one['pairs']:,}", *sizes(one), note(one)] for name, one in operations]
    lines += section("Bytes on disk; `index` is one direction, as in the paper", head, rows)
    head = ["operation", "raw", "array", "Parquet", "Parquet-GZip", "ProvRC", "ProvRC-GZip"]
    rows = [
        [name, *("-" if mb is None else f"{mb * 1e3:,.1f}" for mb in PAPER_MB[name])]
        for name, _ in operations
    ]
    lines += section("The paper's Table VII, KB", head, rows)
    rows = [
        [name, *(decimal(one["seconds"][form], 2) for form in FORMS), str(one["load"])]
        for name, one in operations
    ]
    head = ["operation", *FORMS, "median load of the run"]
    lines += section("Seconds to encode and write", head, rows)
    for title, times in (
        (
            "Backward query, ms, by cells asked for; files opened each time",
            {name: one["queries"] for name, one in operations},
        ),
        *(
            (
                f"Forward query through 20 random workflows of {length} steps, ms: mean (least to "
                "greatest)",
                {f"{length} steps": one},
            )
            for length, one in found["chains"].items()
        ),
    ):
        asked = [each for one in times.values() for each in one]
        head = ["", "form", *(f"{count:,}" for count in dict.fromkeys(asked))]
        rows = [
            [name, way, *(milliseconds(one[count][way]) for count in one)]
            for name, one in times.items()
            for way in WAYS
        ]
        lines += section(title, head, rows)
    return "\n".join(lines) + "\n"


def sizes(one: dict[str, Any]) -> list[str]:
    found = one["sizes"]
    estimate = "~" if math.isnan(one["seconds"]["csv"]) else ""
    both = found["index"] + found["forward"]
    raw = [f"{estimate}{found[form] / 1e3:,.1f}" for form in ("csv", "npy")]
    return [*raw, *(f"{found[form] / 1e3:,.1f}" for form in FORMS[2:]), f"{both / 1e3:,.1f}"]


def note(one: dict[str, Any]) -> str:
    if math.isnan(one["seconds"]["csv"]):
        return f"more than {MOST_WRITTEN:,} pairs: csv and npy are estimated from a chunk"
    return str(one["scaled"])


def milliseconds(seconds: float | dict[str, float]) -> str:
    if isinstance(seconds, float):
        return f"{seconds * 1e3:.1f}"
    mean, least, greatest = (seconds[key] * 1e3 for key in ("mean", "least", "greatest"))
    return f"{mean:.1f} ({least:.1f} to {greatest:.1f})"


def decimal(number: float, digits: int) -> str:
    return "-" if math.isnan(number) else f"{number:.{digits}f}"


def section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    table = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return [f"## {title}", "", *table, ""]
