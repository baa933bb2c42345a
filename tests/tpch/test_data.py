"""Generated data is complete or absent, whoever generates at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

COMMAND = [sys.executable, str(Path(__file__).with_name("data.py"))]


def _start(scale_factor: str, cache: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return subprocess.Popen(
        [*COMMAND, scale_factor],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _entries(cache: Path) -> set[str]:
    """Return what lies beside the data, at the depth of a scale factor's folder."""
    return {path.name for path in cache.glob("*/*/*")}


def test_concurrent_generators_share_one_complete_folder(tmp_path: Path) -> None:
    printed = {process.communicate()[0] for process in [_start("0.001", tmp_path) for _ in "ab"]}
    (folder,) = (Path(line.strip()) for line in printed)

    assert _entries(tmp_path) == {"sf0.001"} == {folder.name}
    rows = {file.stem: pq.read_metadata(file).num_rows for file in folder.iterdir()}
    assert rows.pop("lineitem") > 5_000
    assert rows == {
        "customer": 150, "nation": 25, "orders": 1_500, "part": 200,
        "partsupp": 800, "region": 5, "supplier": 10,
    }  # fmt: skip

    before = folder.stat().st_mtime_ns
    _start("0.001", tmp_path).communicate()
    assert folder.stat().st_mtime_ns == before


def test_failed_generator_leaves_nothing(tmp_path: Path) -> None:
    process = _start("-1", tmp_path)
    _, error = process.communicate()
    assert process.returncode != 0 and "tpchgen-cli" in error
    assert _entries(tmp_path) == set()
