"""Small tables on disk, and a store to capture into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from lineage_core.capture import Capture
from lineage_core.catalog import Catalog, open_catalog
from lineage_core.store import ArtifactStore

ORDERS = pa.table(
    {
        "o_id": pa.array(range(8), pa.int64()),
        "o_cust": pa.array([0, 0, 1, 1, 2, 2, 3, None], pa.int64()),
        "o_price": pa.array([float(i) * 10 for i in range(8)], pa.float64()),
        "o_status": pa.array(["a", "b", "a", "b", "a", "b", "a", None]),
    }
)
CUSTOMERS = pa.table(
    {
        "c_id": pa.array(range(4), pa.int64()),
        "c_name": pa.array(["Ann", "Bob", "Cid", "Dora"]),
    }
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the tables `orders` and `customers`, whose name has to be quoted in URIs."""
    root = tmp_path / "my data"
    for name, table in (("orders", ORDERS), ("customers", CUSTOMERS)):
        (root / name).mkdir(parents=True)
        pq.write_table(table, root / name / "part-0.parquet")
    return root


@pytest.fixture
def tables(spark: SparkSession, folder: Path) -> Iterator[SparkSession]:
    """The session, with the tables as temporary views."""
    for name in ("orders", "customers"):
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    yield spark
    for name in ("orders", "customers"):
        spark.catalog.dropTempView(name)


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(str(tmp_path / "the store"))


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with open_catalog(f"sqlite:///{tmp_path / 'catalog.db'}") as opened:
        yield opened


@pytest.fixture
def capture(spark: SparkSession, store: ArtifactStore, catalog: Catalog) -> Callable[..., Capture]:
    """Starts captures of the session into the store."""

    def start(**options: Any) -> Capture:
        return Capture(store, catalog, options.pop("spark", spark), job="test", **options)

    return start


@pytest.fixture
def table(spark: SparkSession) -> Iterator[Callable[[str], str]]:
    """Gives names of tables that are dropped at the end."""
    names: list[str] = []

    def named(name: str) -> str:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        names.append(name)
        return name

    yield named
    for name in names:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
