"""A query over named files as a DataFrame, to be explained and not run."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lineage_core.errors import PredicateError

_ECHO = "SQLQueryContextLogger"
"""PySpark's logger of what is wrong with a query, the text of the exception once more."""


def query(sql: str, tables: Mapping[str, str]) -> DataFrame:
    """Return the DataFrame of `sql`, in whose session `tables` name Parquet files by path or URL.

    Raises:
        PredicateError: Spark cannot read the files or does not understand the query.
    """
    spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
    logger = logging.getLogger(_ECHO)
    logger.disabled, before = True, logger.disabled
    try:
        for name, path in tables.items():
            spark.read.parquet(path).createOrReplaceTempView(name)
        return spark.sql(sql)
    except PySparkException as error:
        lines = str(error).strip().splitlines() or ["no message"]
        hint = "name every table with --table NAME=PATH"
        raise PredicateError(f"the query cannot be planned: {lines[0]}", hint=hint) from error
    finally:
        logger.disabled = before
