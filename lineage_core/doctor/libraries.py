"""Do the native libraries load, on this machine's processor and C library."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from lineage_core.doctor.check import Check, Subject, attempt, failed, ok

_TRIALS = {
    "z3": "import z3; s = z3.Solver(); assert s.check() == z3.sat; print(z3.get_version_string())",
    "duckdb": "import duckdb; duckdb.sql('SELECT 1').fetchall(); print(duckdb.__version__)",
}


def libraries(subject: Subject) -> Iterator[Check]:
    """Use z3 and DuckDB once."""
    for name, code in _TRIALS.items():
        tried = attempt(sys.executable, "-c", code)
        if tried.success:
            yield ok(name, f"{name} {tried.last_line}")
        else:
            advice = "reinstall airflow-provider-row-lineage with its dependencies"
            yield failed(name, f"does not work: {tried.last_line}", advice)
