"""Reading and building Scala values over py4j: what `capture` and `execute` share.

A Java object has no Python type; it is `Any` wherever it appears. A call takes about 0.1 ms, and
so does forgetting the object it gave. What is done with every node of a tree is therefore one call
of `foreach`, with a function that runs in Java: the JDK makes such ones of the names of methods.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
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
    elements = list(values)
    if not elements:
        return scala_object(spark, "scala.collection.immutable.Nil")
    return java_class(spark, "org.apache.spark.api.python.PythonUtils").toSeq(elements)


def java_class(spark: SparkSession, name: str) -> Any:
    """Return the Java class of that full name, to construct or to call statically."""
    return _class(spark._jvm, name)


def scala_object(spark: SparkSession, name: str) -> Any:
    """Return the Scala object of that full name (`scala.None`)."""
    return _object(spark._jvm, f"{name}$")


@cache
def _class(jvm: Any, name: str) -> Any:
    return getattr(jvm, name)


@cache
def _object(jvm: Any, name: str) -> Any:
    return getattr(_class(jvm, name), "MODULE$")


def simple_name(node: Any) -> str:
    """Return the class name of a Java object, without its package."""
    return str(node.getClass().getSimpleName())


def text(spark: SparkSession, java: Any, method: str) -> str:
    """Return the string, however long, that a Java object's method without parameters gives.

    It comes compressed, in one piece: a longer answer than 8 KB leaves py4j's gateway in several,
    of which TCP holds back the second until the first is acknowledged, for 40 ms.
    """
    packed = java_class(spark, "java.io.ByteArrayOutputStream")()
    deflated = java_class(spark, "java.util.zip.DeflaterOutputStream")(packed)
    writer = java_class(spark, "java.io.OutputStreamWriter")(deflated, "UTF-8")
    _calling(spark._jvm)(writer, "write", method).apply(java)
    writer.close()
    return zlib.decompress(packed.toByteArray()).decode()


def preorder(spark: SparkSession, plan: Any) -> Any:
    """Return the nodes of a Catalyst plan in a pre-order walk over children; position is `at`.

    It is a Java list, which gives a node when it is asked for it.
    """
    found = java_class(spark, "java.util.ArrayList")()
    plan.foreach(_calling(spark._jvm)(found, "add", ""))
    return found


@cache
def _calling(jvm: Any) -> Callable[[Any, str, str], Any]:
    """Return what makes, of `(target, action, of)`, the Scala function `x => target.action(x.of)`.

    It runs in Java. `of` is a method without parameters; if empty, `x` itself is meant.
    """
    kind = _class(jvm, "java.lang.Class").forName("scala.Function1")
    return partial(_class(jvm, "java.beans.EventHandler").create, kind)


def error_kind(error: BaseException) -> str:
    """Return the class of an error, and Spark's condition: messages may hold values of rows."""
    match error:
        case PySparkException():
            return f"{type(error).__name__} {error.getCondition() or ''}".rstrip()
        case Py4JJavaError():
            return str(error.java_exception.getClass().getName())
        case _:
            return type(error).__name__


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
