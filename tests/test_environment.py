"""The development set works as installed: Python UDFs run with `pyspark-client` there too."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.functions import udf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_python_udf_runs_next_to_pyspark_client(spark: SparkSession, tmp_path: Path) -> None:
    """Over Parquet: with Spark 4.2.0 that waits forever (SPARK-58241), over a range it does not."""
    assert version("pyspark") == version("pyspark-client")
    spark.range(3).write.parquet(str(tmp_path / "ids"))
    doubled = udf(lambda x: x * 2, "long")
    rows = spark.read.parquet(str(tmp_path / "ids")).select(doubled("id")).collect()
    assert sorted(row[0] for row in rows) == [0, 2, 4]
