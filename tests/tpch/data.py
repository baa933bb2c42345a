"""TPC-H for tests, benchmarks and the demo: Parquet data per scale factor, and the 22 query texts.

The data of one scale factor is one folder with one file a table, `<table>.parquet`. It is generated
once per user and generator version, outside the repository, and shared from then on: treat it as
read-only, copy what you mean to change. Run `python data.py 0.1` to generate and print the folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Final

QUERIES: Final = tuple(range(1, 23))


def query(number: int) -> str:
    """Return TPC-H query `number` with the validation parameters, valid in Spark and DuckDB."""
    return (Path(__file__).parent / "queries" / f"q{number:02}.sql").read_text()


def generate(scale_factor: float) -> Path:
    """Return the folder of the data at `scale_factor`, generating it if it is not there.

    Safe to call from several processes: each generates aside, the first rename wins.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "row-lineage" / f"tpch-{version('tpchgen-cli')}" / f"sf{scale_factor:g}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
        fresh = Path(aside) / folder.name
        generator = Path(sys.executable).parent / "tpchgen-cli"
        subprocess.run(
            [generator, "parquet", "-s", str(scale_factor), "--output-dir", fresh],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        try:
            fresh.rename(folder)
        except OSError:  # another process was first
            if not folder.exists():
                raise
    return folder


if __name__ == "__main__":
    print(generate(float(sys.argv[1])))
