"""Where writes are met: Spark's Python classes, patched as long as a capture is going on.

A patched method hands its writer's Java object, behind a stand-in, to the original method. That
sets mode, format and options as it always does, and finally calls one of the Java methods that
write; there the capture takes over. Methods built on each other (`parquet`, `save`) count once.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import combinations
from threading import RLock
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.classic.column import _to_java_column
from pyspark.sql.functions import lit
from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2
from pyspark.sql.sql_formatter import SQLStringFormatter

from lineage_core.capture.writes import analyse, apart, describe, parts
from lineage_core.execute.jvm import (
    java_class,
    none,
    preorder,
    seq,
    simple_name,
    some,
)
from lineage_core.execute.writers import over


class Writes(Protocol):
    """What a capture does with the writes of its session."""

    spark: SparkSession

    def write(
        self, command: Callable[[], Any], call: Callable[[Any], Any], *, can_inject: bool
    ) -> Any:
        """Run a write by `call`, and capture it; `command` gives its Java command."""

    def watch(self, call: Callable[[], Any], why: str) -> Any:
        """Run statements that may write, and note what they wrote as uncaptured: `why`."""


def install(capture: Writes) -> None:
    """Meet the writes of the capture's session, until `remove`; the last one installed wins."""
    with _lock:
        if not _captures:
            _patch()
        _captures.append((_identity(capture.spark), capture))


def remove(capture: Writes) -> None:
    """Stop meeting writes for `capture`; Spark is as it was when no capture is left."""
    with _lock:
        _captures[:] = [entry for entry in _captures if entry[1] is not capture]
        if not _captures:
            while _originals:
                (owner, name), original = _originals.popitem()
                setattr(owner, name, original)


_lock = RLock()
_captures: list[tuple[str, Writes]] = []
_originals: dict[tuple[type, str], Any] = {}


def _identity(spark: SparkSession) -> str:
    return str(spark._jsparkSession.sessionUUID())


def _capture_of(spark: SparkSession) -> Writes | None:
    identity = _identity(spark)
    with _lock:
        return next((c for id, c in reversed(_captures) if id == identity), None)


def _patch() -> None:
    for name in _COMMANDS:
        _replace(DataFrameWriter, name, _writing("_jwrite"))
    for name in _COMMANDS_V2:
        _replace(DataFrameWriterV2, name, _writing("_jwriter"))
    _replace(SparkSession, "sql", _sql)


def _replace(owner: type, name: str, patch: Callable[[Callable[..., Any]], Any]) -> None:
    original = owner.__dict__[name]
    _originals[owner, name] = original
    setattr(owner, name, patch(original))


def _writing(attribute: str) -> Callable[[Callable[..., Any]], Any]:
    def patch(original: Callable[..., Any]) -> Any:
        @functools.wraps(original)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            java = getattr(self, attribute)
            capture = None if isinstance(java, _Writer) else _capture_of(self._spark)
            if capture is None:
                return original(self, *args, **kwargs)
            setattr(self, attribute, _Writer(java, capture))
            try:
                return original(self, *args, **kwargs)
            finally:
                setattr(self, attribute, java)

        return method

    return patch


class _Writer:
    """Stands for a Java writer, and lets a capture run the methods that write."""

    def __init__(self, java: Any, capture: Writes) -> None:
        self._java = java
        self._capture = capture

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._java, name)
        command = _COMMANDS.get(name) or _COMMANDS_V2.get(name)

        def call(*args: Any) -> Any:
            if command is None:
                method(*args)  # sets something on the Java object and returns it
                return self
            return self._write(name, command, args)

        return call

    def _write(self, name: str, command: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        spark = self._capture.spark

        def call(rows: Any) -> Any:
            java = self._java if rows is None else over(spark, self._java, rows)
            return getattr(java, name)(*args)

        return self._capture.write(lambda: command(spark, self._java, *args), call, can_inject=True)


def _save(spark: SparkSession, java: Any, path: str | None = None) -> Any:
    return java.saveCommand(none(spark) if path is None else some(spark, path))


def _save_as(format: str) -> Callable[..., Any]:
    def command(spark: SparkSession, java: Any, path: str) -> Any:
        return _save(spark, java.format(format), path)

    return command


def _jdbc(spark: SparkSession, java: Any, url: str, table: str, _properties: Any) -> Any:
    return _save(spark, java.format("jdbc").option("url", url).option("dbtable", table))


_COMMANDS: Mapping[str, Callable[..., Any]] = {
    "save": _save,
    "insertInto": lambda spark, java, table: java.insertIntoCommand(table),
    "saveAsTable": lambda spark, java, table: java.saveAsTableCommand(table),
    "csv": _save_as("csv"),
    "json": _save_as("json"),
    "orc": _save_as("orc"),
    "parquet": _save_as("parquet"),
    "text": _save_as("text"),
    "xml": _save_as("xml"),
    "jdbc": _jdbc,
}
"""The methods of a writer that write, and the command each one runs."""

_COMMANDS_V2: Mapping[str, Callable[..., Any]] = {
    "create": lambda spark, java: java.createCommand(),
    "replace": lambda spark, java: java.replaceCommand(False),
    "createOrReplace": lambda spark, java: java.replaceCommand(True),
    "append": lambda spark, java: java.appendCommand(),
    "overwrite": lambda spark, java, condition: java.overwriteCommand(condition),
    "overwritePartitions": lambda spark, java: java.overwritePartitionsCommand(),
}
"""The same for the second version's writer."""

_MAY_WRITE = re.compile(r"\b(insert|create|replace|execute|begin)\b", re.IGNORECASE)
"""Words of which a statement that writes rows has one; others are not even parsed here."""

_STATEMENTS = frozenset(
    {"InsertIntoStatement", "InsertIntoDir", "CreateTableAsSelect", "ReplaceTableAsSelect"}
)

_UNSEEN = {"UnresolvedExecuteImmediate": "EXECUTE IMMEDIATE", "CompoundBody": "a SQL script"}
"""Statements that run others, which nobody can look at before: analysing these runs them."""


def _sql(original: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def sql(self: Any, sqlQuery: str, args: Any = None, **kwargs: Any) -> Any:
        capture = _capture_of(self) if _MAY_WRITE.search(sqlQuery) else None
        if capture is None:
            return original(self, sqlQuery, args, **kwargs)
        with _formatted(self, sqlQuery, kwargs) as text:
            statement = _statement(self, text)
            if statement is None:
                return original(self, text, args)
            command = partial(_bound, self, statement, args)
            return _run(capture, statement, command, lambda: original(self, text, args))

    return sql


def _run(
    capture: Writes, statement: Any, command: Callable[[], Any], call: Callable[[], Any]
) -> Any:
    """Run the statement by `call`, and capture each write it does."""
    held = _UNSEEN.get(simple_name(statement))
    if held is not None:
        return capture.watch(
            call, f"written inside {held}: statements in it are not met before they run"
        )
    if not _is_several(capture.spark, statement):
        return capture.write(command, lambda _rows: call(), can_inject=False)
    try:
        commands = _separate(capture.spark, command())
    except Exception:
        commands = []
    if not commands:
        return capture.watch(call, "one of several writes of a statement that cannot be told apart")
    return _nested(capture, commands, call)


def _nested(capture: Writes, commands: list[Any], call: Callable[[], Any]) -> Any:
    """Run the statement that is made of `commands`, as the innermost of the writes of each."""
    if not commands:
        return call()
    first, *rest = commands
    return capture.write(
        lambda: first, lambda _rows: _nested(capture, rest, call), can_inject=False
    )


def _is_several(spark: SparkSession, statement: Any) -> bool:
    """Whether the parsed statement is a union of those that write, not one that writes a union."""
    names = (simple_name(node) for node in preorder(spark, statement)[:_HEAD])
    return next(name for name in names if name in _STATEMENTS or name == "Union") == "Union"


def _separate(spark: SparkSession, statement: Any) -> list[Any]:
    """Return the analyzed commands of a statement of several writes; none if targets overlap."""
    commands = parts(analyse(spark, statement))
    writes = [describe(spark, command) for command in commands]
    known = [write for write in writes if write is not None]
    separate = all(apart(one, other) for one, other in combinations(known, 2))
    return commands if separate and len(known) == len(commands) else []


@contextmanager
def _formatted(spark: SparkSession, text: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Give the statement with `values` put in, as `SparkSession.sql` does with its keywords."""
    formatter = SQLStringFormatter(spark)
    if not values:
        yield text
        return
    try:
        yield formatter.format(text, **values)
    finally:
        formatter.clear()


def _statement(spark: SparkSession, text: str) -> Any | None:
    """Return the parsed statement if it may write rows; an error is the user's to see, not ours."""
    try:
        parsed = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
        found = preorder(spark, parsed)[:_HEAD]
    except Exception:
        return None
    writes = _STATEMENTS | _UNSEEN.keys()
    return parsed if any(simple_name(node) in writes for node in found) else None


_HEAD = 3  # a statement that writes is the root, or below WITH, or one of several in a Union


def _bound(spark: SparkSession, statement: Any, args: Any) -> Any:
    """Return the statement with its parameters bound to `args`, a list or a dictionary."""
    if not args:
        return statement
    values = args.values() if isinstance(args, dict) else args
    session = spark._jsparkSession
    literals = seq(spark, [session.expression(_to_java_column(lit(value))) for value in values])
    if isinstance(args, dict):
        query = java_class(spark, f"{_ANALYSIS}.NameParameterizedQuery")
        return query(statement, seq(spark, args), literals)
    return java_class(spark, f"{_ANALYSIS}.PosParameterizedQuery")(statement, literals)


_ANALYSIS = "org.apache.spark.sql.catalyst.analysis"
