"""The development set works as installed: Python UDFs run with `pyspark-client` there too."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from pyspark.sql.functions import udf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_python_udf_runs_next_to_pyspark_client(spark: SparkSession) -> None:
    assert version("pyspark") == version("pyspark-client")
    doubled = udf(lambda x: x * 2, "long")
    assert [row[0] for row in spark.range(3).select(doubled("id")).collect()] == [0, 2, 4]
