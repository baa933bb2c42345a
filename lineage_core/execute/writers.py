"""The user's writer, over other rows: the same target, mode, format, options and partitioning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from lineage_core.execute.jvm import java_class, simple_name

_ROWS = ("df", "logicalPlan")
_STATIC = 8  # java.lang.reflect.Modifier.STATIC


def over(spark: SparkSession, writer: Any, rows: Any) -> Any:
    """Return a Java writer, of either version, with the settings of `writer` for other `rows`."""
    java = java_class(spark, str(writer.getClass().getName()))
    # A second version's writer wants its table's name parsed anew; the field is copied over it.
    copy = java("t", rows) if simple_name(writer) == "DataFrameWriterV2" else java(rows)
    for field in _fields(writer.getClass()):
        if field.getName() not in _ROWS and not field.getModifiers() & _STATIC:
            field.setAccessible(True)
            field.set(copy, field.get(writer))
    return copy


def _fields(java: Any) -> Iterator[Any]:
    """Yield the fields of a Java class and of Spark's classes above it."""
    while java.getName().startswith("org.apache.spark."):
        yield from java.getDeclaredFields()
        java = java.getSuperclass()
