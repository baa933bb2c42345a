"""What importing loads: DAGs are parsed again and again, by a process that never runs Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pyspark", "z3", "duckdb", "sqlalchemy")


def loaded_by(module: str, candidates: tuple[str, ...]) -> set[str]:
    """Return which of `candidates` are loaded in a fresh interpreter after `import module`."""
    code = f"import sys, {module}; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(candidates) & set(done.stdout.split())


@pytest.mark.parametrize("module", ["lineage_core", "lineage_core.cli.main"])
def test_the_core_is_light_and_knows_no_airflow(module: str) -> None:
    assert not loaded_by(module, (*HEAVY, "airflow", "row_lineage_provider"))


@pytest.mark.parametrize("module", ["row_lineage_provider", "row_lineage_provider.provider_info"])
def test_the_provider_is_light(module: str) -> None:
    assert not loaded_by(module, HEAVY)


def test_the_check_sees_what_is_loaded() -> None:
    assert loaded_by("sqlite3", ("sqlite3", "duckdb")) == {"sqlite3"}
