"""Plots of the ProvRC benchmark, as the paper draws them: sizes, queries, and chains of steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

COLOURS = {
    "csv": "#bdbdbd",
    "npy": "#8c8c8c",
    "parquet": "#9ecae1",
    "gzip": "#4292c6",
    "zstd": "#084594",
    "index": "#d94801",
    "forward": "#fd8d3c",
}
LABELS = {
    "csv": "CSV",
    "npy": "numpy",
    "parquet": "Parquet",
    "gzip": "Parquet, gzip",
    "zstd": "Parquet, zstd",
    "index": "ProvRC",
    "forward": "ProvRC, the other direction",
}
WAYS = ("parquet", "gzip", "zstd", "index")


def draw(found: dict[str, Any], folder: Path) -> None:
    """Write `provrc-sizes.png`, `provrc-queries.png` and `provrc-chains.png` into a folder."""
    matplotlib.use("Agg")
    drawn = {"chains": chains(found["chains"])}
    if found["operations"]:
        drawn |= {"sizes": sizes(found["operations"]), "queries": queries(found["operations"])}
    for name, figure in drawn.items():
        figure.savefig(folder / f"provrc-{name}.png", dpi=72, bbox_inches="tight")
        plt.close(figure)


def sizes(operations: dict[str, Any]) -> Any:
    figure, axes = plt.subplots(figsize=(13, 4.5))
    places, width = np.arange(len(operations)), 0.8 / len(COLOURS)
    for number, (form, colour) in enumerate(COLOURS.items()):
        heights = [one["sizes"][form] for one in operations.values()]
        axes.bar(places + number * width, heights, width, color=colour, label=LABELS[form])
    axes.set(yscale="log", ylabel="bytes on disk")
    axes.set_xticks(places + 0.4 - width / 2, list(operations), rotation=20)
    axes.legend(ncols=len(COLOURS), loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
    return figure


def queries(operations: dict[str, Any]) -> Any:
    columns = 4
    rows = -(-len(operations) // columns)
    figure, panels = plt.subplots(
        rows, columns, figsize=(13, 2.6 * rows), sharex=True, sharey=True, squeeze=False
    )
    for panel in panels.flat[len(operations) :]:
        panel.set_visible(False)
    for panel, (name, one) in zip(panels.flat, operations.items(), strict=False):
        for form in WAYS:
            times = [each[form] * 1e3 for each in one["queries"].values()]
            panel.plot(list(one["queries"]), times, ".-", color=COLOURS[form], label=LABELS[form])
        panel.set(xscale="log", yscale="log", title=name)
    figure.supxlabel("cells asked for")
    figure.supylabel("ms")
    return shared_legend(figure, panels.flat[0])


def chains(found: dict[int, Any]) -> Any:
    figure, panels = plt.subplots(1, len(found), figsize=(11, 4), sharey=True, squeeze=False)
    for panel, (length, times) in zip(panels.flat, found.items(), strict=True):
        for form in WAYS:
            mean, least, greatest = (
                [each[form][key] * 1e3 for each in times.values()]
                for key in ("mean", "least", "greatest")
            )
            panel.plot(list(times), mean, ".-", color=COLOURS[form], label=LABELS[form])
            panel.fill_between(list(times), least, greatest, color=COLOURS[form], alpha=0.12)
        panel.set(xscale="log", yscale="log", title=f"{length} steps", xlabel="cells asked for")
    panels.flat[0].set_ylabel("ms: mean, least to greatest of 20 workflows")
    return shared_legend(figure, panels.flat[0])


def shared_legend(figure: Any, panel: Any) -> Any:
    handles, labels = panel.get_legend_handles_labels()
    figure.tight_layout()
    figure.legend(
        handles,
        labels,
        ncols=len(labels),
        loc="lower center",
        bbox_to_anchor=(0.5, 1),
        frameon=False,
    )
    return figure
