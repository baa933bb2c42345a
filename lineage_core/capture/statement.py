"""A query over named files as a DataFrame, to be explained or recorded and not run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import is_instance_of
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from lineage_core.capture.writes import analyse
from lineage_core.errors import PredicateError
from lineage_core.execute.jvm import LOGICAL, preorder, simple_name

_COMMAND = f"{LOGICAL}.Command"

_ECHO = "SQLQueryContextLogger"
"""PySpark's logger of what is wrong with a query, the text of the exception once more."""


def query(sql: str, tables: Mapping[str, str]) -> DataFrame:
    """Return the DataFrame of `sql`, in whose session `tables` name Parquet files by path or URL.

    Raises:
        PredicateError: Spark cannot read the files or does not understand the query.
    """
    spark = session()
    name(spark, tables)
    return plan(spark, sql)


def session() -> SparkSession:
    """Return this process's session, one that is there or a new local one."""
    return SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()


def name(spark: SparkSession, tables: Mapping[str, str]) -> None:
    """Make views of the Parquet files at the paths `tables`, by name.

    Raises:
        PredicateError: Spark cannot read the files.
    """
    with _explained():
        for view, path in tables.items():
            spark.read.parquet(path).createOrReplaceTempView(view)


def plan(spark: SparkSession, sql: str) -> DataFrame:
    """Return the DataFrame of the query `sql`; a command, which Spark would run at once, is none.

    Raises:
        PredicateError: Spark does not understand it, or it is a command.
    """
    with _explained():
        parsed = spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)
        if _commands(spark, parsed) or _commands(spark, analyse(spark, parsed)):
            raise PredicateError(
                "the text is a command, not a query", hint="give the SELECT whose rows it writes"
            )
        return spark.sql(sql)


_RUN_WHEN_ANALYSED = frozenset({"UnresolvedExecuteImmediate"})
"""Statements that are no commands to Spark's parser, whose analysis runs what they hold."""


def _commands(spark: SparkSession, java: Any) -> bool:
    gateway = spark.sparkContext._gateway
    return any(
        simple_name(node) in _RUN_WHEN_ANALYSED or is_instance_of(gateway, node, _COMMAND)
        for node in preorder(spark, java)
    )


@contextmanager
def _explained() -> Iterator[None]:
    """Turn what Spark says of a query into one line."""
    # Made by PySpark: a logger of the standard class under this name would break the user's errors.
    logger = PySparkLogger.getLogger(_ECHO)
    logger.disabled, before = True, logger.disabled
    try:
        yield
    except PySparkException as error:
        lines = str(error).strip().splitlines() or ["no message"]
        hint = "name every table of the query, with its files: NAME=PATH"
        raise PredicateError(f"the query cannot be planned: {lines[0]}", hint=hint) from error
    finally:
        logger.disabled = before
