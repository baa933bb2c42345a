"""Pictures of results, as the paper has them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # there is no screen

from matplotlib import pyplot
from matplotlib.ticker import NullFormatter

_WAYS = {"ug": "UG", "cd": "CD", "sql": "plain SQL"}


def latencies(found: Mapping[str, Any], limit: float, path: Path) -> None:
    """Draw how long each brush took, by view, from the slowest on (Smoke, figure 13)."""
    views = list(found["brush"])
    figure, axes = pyplot.subplots(1, len(views), figsize=(12, 3.2), sharey=True)
    for axis, view in zip(axes, views, strict=True):
        times = sorted((second * 1e3 for second in found["brush"][view]), reverse=True)
        axis.plot(range(1, len(times) + 1), times, ".", label="indexes")
        for how, seconds in found["lazy"][view].items():
            axis.axhline(
                statistics.median(seconds) * 1e3,
                linestyle=":",
                color="C1" if how == "memory" else "C3",
                label=f"lazy, {how} (median)",
            )
        axis.axhline(limit * 1e3, linestyle="--", color="grey", label="150 ms")
        axis.set(yscale="log", xscale="log", title=view, xlabel="bar, by time")
        axis.xaxis.set_minor_formatter(NullFormatter())  # few bars would have a label each
    axes[0].set_ylabel("ms")
    axes[-1].legend(fontsize="x-small")
    _save(figure, path)


def dependencies(found: Mapping[str, Any], path: Path) -> None:
    """Draw how long each check took, by method (Smoke, figure 14)."""
    texts = list(found["seconds"])
    figure, axis = pyplot.subplots(figsize=(8, 3.2))
    for number, (way, name) in enumerate(_WAYS.items()):
        heights = [statistics.median(found["seconds"][text][way]) for text in texts]
        axis.bar([place + number * 0.27 for place in range(len(texts))], heights, 0.25, label=name)
    axis.set_xticks([place + 0.27 for place in range(len(texts))], texts, fontsize="small")
    axis.set_ylabel("s")
    axis.legend()
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
