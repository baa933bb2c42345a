"""What Spark wrote in statements that cannot be met before they run.

The text inside EXECUTE IMMEDIATE and the statements of a SQL script are known to nobody until they
run, and analysing them runs them. But Spark tells its listeners of every command that it ran, with
its plan. A listener that needs no Python keeps these events, in a queue in Java.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lineage_core.capture import sources
from lineage_core.capture.catalyst import read_plan
from lineage_core.capture.optimise import optimise
from lineage_core.capture.writes import Write, describe, parts
from lineage_core.execute.jvm import java_class, option, simple_name
from lineage_core.snapshot import Snapshot

_logger = logging.getLogger(__name__)

_LISTENER = "org.apache.spark.scheduler.SparkListenerInterface"
_STARTED = "SparkListenerSQLExecutionStart"
_ENDED = "SparkListenerSQLExecutionEnd"
_QUEUE = "row-lineage"
_PATIENCE = 10_000  # milliseconds; events arrive behind those of everything else that runs


class Watch:
    """Sees the commands that this thread runs, from `begin` to `end`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._tag = f"row-lineage-{uuid.uuid4()}"
        self._events = java_class(spark, "java.util.concurrent.ConcurrentLinkedQueue")()
        self._bus = spark.sparkContext._jsc.sc().listenerBus()
        self._listener = _keeper(spark, self._events)

    def begin(self) -> None:
        self._spark.sparkContext.addJobTag(self._tag)
        self._bus.addToQueue(self._listener, _QUEUE)

    def end(self) -> list[Write]:
        """Return what was written since the beginning, in the order in which that was done.

        A failed write is left out, since Spark takes it back; but not the writes of a statement of
        several, of which nobody knows how many were done.
        """
        try:
            self._spark.sparkContext.removeJobTag(self._tag)
            self._bus.waitUntilEmpty(_PATIENCE)
        finally:
            self._bus.removeListener(self._listener)
        roots: dict[int, int] = {}
        found: dict[int, list[Write]] = {}
        for event in self._drained():
            kind = simple_name(event)
            if kind == _STARTED and event.jobTags().contains(self._tag):
                number = int(event.executionId())
                roots[number] = option(event.rootExecutionId()) or number
            elif kind == _ENDED and event.executionId() in roots:
                number = int(event.executionId())
                writes, root = self._written(event), roots[number]
                # What a command runs to do its work ends before it, and writes the same.
                found[root] = writes if number == root and writes else found.get(root, []) + writes
        return [write for writes in found.values() for write in writes]

    def inputs(self, write: Write) -> tuple[Snapshot, ...]:
        """Return what a write read, as it is now; nothing if that cannot be told."""
        try:
            captured = read_plan(self._spark, optimise(self._spark, write.query))
            listings = sources.list_all(self._spark, captured.sources, captured.leaves)
            return sources.take_all(captured.sources, listings)
        except Exception as error:
            _logger.warning("what a write read is not known: %s", type(error).__name__)
            return ()

    def _written(self, event: Any) -> list[Write]:
        failed = bool(option(event.errorMessage()))
        try:
            commands = parts(event.qe().analyzed())
        except PySparkException:
            if failed:  # it was not even analysed
                return []
            raise
        if failed and len(commands) == 1:
            return []
        described = (describe(self._spark, command) for command in commands)
        return [write for write in described if write is not None]

    def _drained(self) -> Iterator[Any]:
        while (event := self._events.poll()) is not None:
            yield event


def _keeper(spark: SparkSession, events: Any) -> Any:
    """Return a listener that adds the events of queries to a Java collection, in Java."""
    interface = java_class(spark, "java.lang.Class").forName(_LISTENER)
    handler = java_class(spark, "java.beans.EventHandler")
    return handler.create(interface, events, "add", "", "onOtherEvent")
