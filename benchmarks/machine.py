"""Facts about the machine a benchmark ran on; nothing that identifies it."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version


def facts() -> dict[str, str | int | float]:
    """Return cores, memory, system and the versions that matter to a measurement."""
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count() or 0,
        "memory_gib": round(pages * size / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("pyspark", "duckdb", "pyarrow", "z3-solver")},
    }


def load() -> float:
    """Return how many processes wanted a core in the last minute; above the cores, it is noise."""
    return round(os.getloadavg()[0], 2)
