"""Pictures of Smoke's experiments, as the paper has them (figures 4 to 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # there is no screen

from matplotlib import pyplot
from matplotlib.ticker import NullFormatter
from smoke_report import INTERACTIVE, overheads

Found = Mapping[str, Any]

_TRACED = {
    "rids": "rids by index",
    "rows": "rows by index",
    "parquet": "scan of Parquet",
    "memory": "scan of memory",
}


_COLOURS = {"lazy": "C0", "index": "C1", "data skipping": "C2", "push-down": "C3"}


def draw(document: Found, path: Path) -> None:
    """Draw the sections that there are, each into a file whose name begins with that of `path`."""
    drawn = {"operators": _operators, "tpch": _tpch, "tracing": _tracing, "drilling": _drilling}
    for section, figure in drawn.items():
        if section in document:
            made = figure(document[section]["results"])
            made.tight_layout()
            made.savefig(path.with_name(f"{path.name}-{section}.png"), dpi=120)
            pyplot.close(made)


def _operators(results: Sequence[Found]) -> Any:
    names = [f"{f['operator']}\nn={f['n']:,}\ng={f['g']:,}" for f in results]
    return _overheads(names, results, (13, 3.6))


def _tpch(results: Sequence[Found]) -> Any:
    return _overheads([f"Q{found['query']}" for found in results], results, (6, 3.2))


def _overheads(names: Sequence[str], results: Sequence[Found], size: tuple[float, float]) -> Any:
    figure, axis = pyplot.subplots(figsize=size)
    for number, way in enumerate(("captured", "inject", "defer")):
        heights = [overheads(found)[way] for found in results]
        axis.bar([place + number * 0.27 for place in range(len(names))], heights, 0.25, label=way)
    axis.set_xticks([place + 0.27 for place in range(len(names))], names, fontsize="x-small")
    axis.set_ylabel("overhead (x of the plain write)")
    axis.axhline(0, color="grey", linewidth=0.8)
    axis.legend(fontsize="small")
    return figure


def _tracing(results: Sequence[Found]) -> Any:
    figure, axes = pyplot.subplots(1, len(results), figsize=(12, 3.2), sharey=True, squeeze=False)
    for axis, found in zip(axes[0], results, strict=True):
        sizes = [group["size"] for group in found["groups"]]
        for way, label in _TRACED.items():
            times = [group["times"][way]["median"] * 1e3 for group in found["groups"]]
            axis.plot(sizes, times, ".-", label=label)
        axis.set(xscale="log", yscale="log", title=f"theta {found['theta']:g}", xlabel="rows")
        axis.xaxis.set_minor_formatter(NullFormatter())  # a narrow axis would be full of labels
    axes[0][0].set_ylabel("ms")
    axes[0][-1].legend(fontsize="x-small")
    return figure


def _drilling(results: Sequence[Found]) -> Any:
    asked = [found for found in results if "query" in found]
    queries = list(dict.fromkeys(found["query"] for found in asked))
    figure, axes = pyplot.subplots(1, len(queries), figsize=(12, 3.2), sharey=True, squeeze=False)
    for axis, query in zip(axes[0], queries, strict=True):
        for found in asked:
            if found["query"] == query:
                times = [second * 1e3 for second in found["times"]]
                axis.plot(
                    found["rows"], times, ".", color=_COLOURS[found["way"]], label=found["way"]
                )
        axis.axhline(INTERACTIVE * 1e3, linestyle="--", color="grey", label="150 ms")
        axis.set(xscale="log", yscale="log", title=query, xlabel="rows asked for")
    axes[0][0].set_ylabel("ms")
    axes[0][-1].legend(fontsize="x-small")
    return figure
