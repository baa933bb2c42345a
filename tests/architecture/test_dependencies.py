"""What a package imports is declared where it is needed: nothing comes along by accident."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {"lineage_core", "row_lineage_provider"}


def imported(folder: Path) -> set[str]:
    """Return the top-level names of all modules that the code below `folder` may import."""
    names: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - OURS


def declared(*extras: str) -> set[str]:
    """Return the normalised names of the distributions that the wheel with `extras` asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return {normal(re.split(r"[^\w.-]", text)[0]) for text in wanted}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize(
    ("folder", "extras", "brought"),
    [
        # py4j is a part of PySpark, airflow.sdk one of Airflow; they pin it to their own version.
        ("lineage_core", ("spark",), {"py4j": "pyspark"}),
        ("provider", ("spark", "airflow"), {"apache-airflow-core": "apache-airflow"}),
    ],
)
def test_imports_are_declared(
    folder: str, extras: tuple[str, ...], brought: dict[str, str]
) -> None:
    owners = packages_distributions()
    wanted = declared(*extras)
    missing = {
        name
        for name in imported(ROOT / folder)
        if not wanted & {brought.get(normal(owner), normal(owner)) for owner in owners[name]}
    }
    assert not missing


def test_the_check_sees_imports() -> None:
    assert {"duckdb", "pyarrow", "pyspark", "z3"} <= imported(ROOT / "lineage_core")
