"""TPC-H data, query texts, the lineage oracle and captured queries, as fixtures.

Tests are no package, so the modules beside this file are loaded by their paths, each known by the
name that type checkers give it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.tpch.captured import Captured, Captures


def _load(name: str) -> ModuleType:
    full = f"tests.tpch.{name}"
    spec = spec_from_file_location(full, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = sys.modules[full] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_data = _load("data")
_oracle = _load("oracle")
_load("case")
_captured = _load("captured")
_load("false_positives")

_REPORTS = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def tpch_001() -> Path:
    """The folder of TPC-H at scale factor 0.01, one Parquet file a table; read-only."""
    folder: Path = _data.generate(0.01)
    return folder


@pytest.fixture(scope="session")
def tpch_01() -> Path:
    """The folder of TPC-H at scale factor 0.1, one Parquet file a table; read-only."""
    folder: Path = _data.generate(0.1)
    return folder


@pytest.fixture(scope="session")
def tpch_query() -> Callable[[int], str]:
    """Number of a TPC-H query -> its text, valid in Spark and in DuckDB."""
    text: Callable[[int], str] = _data.query
    return text


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """The module `oracle.py`: `connect`, `table_of`, `oracle_lineage`, `oracle_pairs`."""
    return _oracle


@pytest.fixture(scope="session")
def oracle_pairs() -> Callable[[int, Path], pa.Table]:
    """(query, data folder) -> its whole lineage: occurrence, key columns..., rid."""
    pairs: Callable[[int, Path], pa.Table] = _oracle.oracle_pairs
    return pairs


@pytest.fixture(scope="session")
def captures(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, tpch_query: Callable[[int], str]
) -> Captures:
    """(query, mode, scale factor) -> the query, captured once."""
    folder = tmp_path_factory.mktemp("tpch")
    made: Captures = _captured.Captures(spark, folder, _data.generate, tpch_query)
    return made


@pytest.fixture(scope="session")
def expected(oracle: ModuleType) -> Callable[[Captured], dict[str, set[tuple[int, int]]]]:
    """Captured query -> the oracle's relation by table, with output rows named by their rids."""
    lineage = cache(oracle.oracle_lineage)

    @cache
    def find(captured: Captured) -> dict[str, set[tuple[int, int]]]:
        relations = lineage(captured.query, captured.data)
        found: dict[str, set[tuple[int, int]]] = {}
        for occurrence, relation in relations.items():
            found.setdefault(oracle.table_of(occurrence), set()).update(captured.named(relation))
        return found

    return find


@pytest.fixture(scope="session")
def report(pytestconfig: pytest.Config) -> list[str]:
    """Lines shown at the end of the test session."""
    return pytestconfig.stash.setdefault(_REPORTS, [])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for line in config.stash.get(_REPORTS, []):
        terminalreporter.write_line(line)
