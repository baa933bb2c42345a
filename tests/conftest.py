"""What all tests share: a hermetic environment and one Spark session."""

from __future__ import annotations

import gc
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Machines are noisy: how long an example takes says nothing.
settings.register_profile("row-lineage", deadline=None)
settings.load_profile("row-lineage")

_FOREIGN = ("AIRFLOW", "MARQUEZ", "OPENLINEAGE", "PYSPARK", "ROW_LINEAGE", "SPARK_")
"""Prefixes of variables that would let the machine's own set-up into the tests."""


def _make_hermetic() -> tempfile.TemporaryDirectory[str]:
    """Clear the environment and give Airflow its own home; return the folder, to be kept alive.

    Airflow reads its configuration when it is imported, so this runs before any test module is.
    """
    for name in [name for name in os.environ if name.startswith(_FOREIGN)]:
        if not name.startswith("ROW_LINEAGE_TEST_"):  # given to the tests themselves
            del os.environ[name]
    home = tempfile.TemporaryDirectory(prefix="row-lineage-tests-")
    os.environ |= {
        "AIRFLOW_HOME": home.name,
        "AIRFLOW__CORE__DAGS_FOLDER": str(Path(__file__).parents[1] / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        # Proofs kept by other runs would prove nothing here.
        "XDG_CACHE_HOME": str(Path(home.name) / "cache"),
    }
    return home


_HOME = _make_hermetic()


@pytest.fixture(scope="module", autouse=True)
def _java_objects_are_let_go() -> Iterator[None]:
    """Collect garbage after each module: Java keeps what Python has not collected.

    A process of thousands of tests has so many objects that Python by itself hardly ever looks.
    """
    yield
    gc.collect()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one local Spark session; tests may change its configuration only if they put it back."""
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("row-lineage-tests")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder}")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    # Airflow turns the root logger up, and py4j would go on about sockets after the last test.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    yield session
    session.stop()
