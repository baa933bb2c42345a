"""A made dataset like Ontime, as Smoke 6.5.1 uses it: four groupings with 8,100 bars in all.

301 airports lie on a grid of 65,536 cells of latitude and longitude, 7,762 days follow each other,
delays have 8 bins, most of them the least, and 29 carriers are as unequal as words. Files hold a
span of days each; within one, rows are in no order.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

VIEWS = {
    "place": ("lat_bin", "lon_bin"),
    "day": ("day",),
    "delay": ("delay_bin",),
    "carrier": ("carrier",),
}
"""Columns that each view groups by."""

_FILES = 8
_AIRPORTS, _DAYS, _CARRIERS = 301, 7762, 29
_DELAYS = (0.62, 0.17, 0.08, 0.05, 0.035, 0.02, 0.015, 0.01)


def generate(folder: Path, rows: int) -> None:
    """Write the dataset into a folder that is not there yet."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(650)
    cells = draw.choice(65_536, _AIRPORTS, replace=False)
    bounds = np.linspace(0, rows, _FILES + 1).astype(np.int64)
    for number, (begin, end) in enumerate(pairwise(bounds)):
        size = int(end - begin)
        airport = cells[draw.choice(_AIRPORTS, size, p=_zipf(_AIRPORTS, 0.9))]
        first, last = (at * _DAYS // rows for at in (int(begin), int(end)))
        delay = draw.choice(len(_DELAYS), size, p=_DELAYS)
        table = pa.table(
            {
                "lat_bin": (airport // 256).astype(np.int32),
                "lon_bin": (airport % 256).astype(np.int32),
                "day": pa.array(draw.integers(first, last, size).astype(np.int32) + 6_500).cast(
                    pa.date32()
                ),
                "delay_bin": delay.astype(np.int32),
                "delay": (delay * 15 + draw.integers(0, 15, size)).astype(np.int32),
                "carrier": _carriers(draw.choice(_CARRIERS, size, p=_zipf(_CARRIERS, 1.0))),
            }
        )
        pq.write_table(table, folder / f"part-{number:05}.parquet", compression="snappy")


def _zipf(count: int, skew: float) -> np.ndarray:
    weights = 1 / np.arange(1, count + 1) ** skew
    return weights / weights.sum()


def _carriers(codes: np.ndarray) -> pa.Array:
    names = pa.array([f"{chr(65 + n // 26)}{chr(65 + n % 26)}" for n in range(_CARRIERS)])
    return names.take(pa.array(codes))
