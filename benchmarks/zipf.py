"""Smoke's made tables: `zipf(theta, n, g)(id, z, v)`, and the keys that its `z` refer to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 2018
ROW_GROUP = 122_880


def table(folder: Path, theta: float, rows: int, groups: int) -> Path:
    """Return a Parquet file of rows numbered from 0, in no order of `z` or `v`.

    Args:
        folder: where it is put, if it is not there.
        theta: how skewed `z` is: `z` is k as often as `k ** -theta` says, evenly at 0.
        rows: how many.
        groups: `z` is from 1 to this.
    """
    path = folder / f"zipf-{theta:g}-{rows}-{groups}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        choose = np.random.default_rng(SEED)
        shares = np.cumsum(np.arange(1, groups + 1, dtype=np.float64) ** -theta)
        z = 1 + np.searchsorted(shares / shares[-1], choose.random(rows), side="right")
        v = choose.uniform(0, 100, rows)
        made = pa.table({"id": np.arange(rows), "z": np.minimum(z, groups), "v": v})
        pq.write_table(made, path, row_group_size=ROW_GROUP)
    return path


def keys(folder: Path, groups: int) -> Path:
    """Return a Parquet file with an `id` for each value of `z`."""
    path = folder / f"gids-{groups}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": np.arange(1, groups + 1)}), path)
    return path
