"""TPC-H data, query texts and the lineage oracle, as fixtures.

Tests are no package, so the two modules beside this file are loaded by their path.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest


def _load(name: str) -> ModuleType:
    spec = spec_from_file_location(f"tpch_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_data = _load("data")
_oracle = _load("oracle")


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
