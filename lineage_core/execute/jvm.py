"""Reading and building Scala values over py4j: what `capture` and `execute` share.

A Java object has no Python type; it is `Any` wherever it appears. A call takes about 0.1 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"


def items(sequence: Any) -> list[Any]:
    """Return the elements of a Scala `Seq`."""
    elements = sequence.toIndexedSeq()
    return [elements.apply(i) for i in range(elements.size())]


def option(value: Any) -> Any | None:
    """Return what a Scala `Option` holds, or None."""
    return value.get() if value.isDefined() else None


def some(spark: SparkSession, value: Any) -> Any:
    """Return `value` as a Scala `Some`."""
    return java_class(spark, "scala.Some")(value)


def none(spark: SparkSession) -> Any:
    """Return Scala's `None`."""
    return scala_object(spark, "scala.None")


def seq(spark: SparkSession, values: Iterable[Any]) -> Any:
    """Return `values` as a Scala `Seq`."""
    return java_class(spark, "org.apache.spark.api.python.PythonUtils").toSeq(list(values))


def java_class(spark: SparkSession, name: str) -> Any:
    """Return the Java class of that full name, to construct or to call statically."""
    return getattr(spark._jvm, name)


def scala_object(spark: SparkSession, name: str) -> Any:
    """Return the Scala object of that full name (`scala.None`)."""
    return getattr(getattr(spark._jvm, f"{name}$"), "MODULE$")


def simple_name(node: Any) -> str:
    """Return the class name of a Java object, without its package."""
    return str(node.getClass().getSimpleName())


def preorder(plan: Any) -> list[Any]:
    """Return the nodes of a Catalyst plan in a pre-order walk over children; position is `at`."""
    found = []
    stack = [plan]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(reversed(items(node.children())))
    return found


@contextmanager
def active(spark: SparkSession) -> Iterator[None]:
    """Make `spark` this thread's active session, which Catalyst reads, for a while."""
    sessions = java_class(spark, "org.apache.spark.sql.classic.SparkSession")
    before = option(sessions.getActiveSession())
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before is None:
            sessions.clearActiveSession()
        else:
            sessions.setActiveSession(before)
