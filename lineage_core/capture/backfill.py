"""A past pipeline as a run: its plan, sources and outputs are recorded, and nothing is executed.

The caller says which query gave the data that is there; no job runs to see whether that is so. What
can be told for nothing is checked: the output's columns are the query's, and no source was written
after the output, since that could not have been read for it. Intermediates are not saved, so
questions are answered by computing them again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from lineage_core.capture import existing, hooks, outputs, sources
from lineage_core.capture.catalyst import CapturedPlan, read_dataframe
from lineage_core.capture.statement import plan
from lineage_core.capture.writes import named
from lineage_core.datasets import display
from lineage_core.errors import ChangedError, UnsupportedError
from lineage_core.execute.jvm import text
from lineage_core.infer import infer
from lineage_core.snapshot import Snapshot
from lineage_core.store.manifest import OutputRecord, RunRecord, RunState

TAG = ("backfilled", "true")
"""The tag of every run that was recorded afterwards."""

Query: TypeAlias = DataFrame | str
"""What gave an output: a DataFrame, or SQL text of one query."""


@dataclass(frozen=True, slots=True)
class Past:
    """What is said about a past run.

    Attributes:
        job: the job's name.
        at: when it ended; None for the last modification of what it wrote.
        tags: facts to keep with the run.
        run_id: a UUID; None makes one up.
        sources_unchanged: the sources are what they were, although files of them are younger than
            what was made of them (they were copied, say).
    """

    job: str
    at: datetime | None = None
    tags: tuple[tuple[str, str], ...] = ()
    run_id: str | None = None
    sources_unchanged: bool = False


def record(spark: SparkSession, past: Past, queries: Mapping[str, Query]) -> RunRecord:
    """Return the record of a past run that wrote the result of `queries` to the paths they have.

    Raises:
        NotFoundError: an output is not there.
        ChangedError: a source was written after the output that it is said to be a source of.
        UnsupportedError: an output has other columns than its query, or is not of Parquet files.
        PredicateError: the text is not one query that Spark understands.
    """
    _check(spark, past, queries)
    found = [_output(spark, path, query, past) for path, query in queries.items()]
    snapshots = [output.snapshot for output in found if output.snapshot is not None]
    moment = past.at or datetime.fromtimestamp(max(map(_newest, snapshots)) / 1000, UTC)
    ended = moment.astimezone(UTC).isoformat()
    return RunRecord(
        past.run_id or str(uuid.uuid4()),
        past.job,
        ended,
        ended,
        RunState.COMPLETE,
        tuple(found),
        tuple(sorted({*past.tags, TAG})),
    )


def call(
    function: Callable[[SparkSession], Any], spark: SparkSession
) -> DataFrame | Mapping[str, DataFrame]:
    """Return what `function` gives; it is a past job without its writes.

    Raises:
        UnsupportedError: it writes something, or gives neither a DataFrame nor several by path.
    """
    with _no_writes(spark):
        given = function(spark)
    match given:
        case DataFrame():
            return given
        case Mapping() if given and all(isinstance(df, DataFrame) for df in given.values()):
            return given
    raise UnsupportedError(
        f"the function gave {type(given).__name__}",
        hint="return a DataFrame, or a dict of output path to DataFrame",
    )


def _check(spark: SparkSession, past: Past, queries: Mapping[str, Query]) -> None:
    if not hasattr(spark, "_jsparkSession"):
        raise UnsupportedError(
            "Spark Connect sessions cannot be captured: the plan is on the server",
            hint="use a local session",
        )
    if past.at is not None and past.at.tzinfo is None:
        raise UnsupportedError(
            f"the time {past.at} has no time zone", hint="give one, for example +00:00"
        )
    if not queries:
        raise UnsupportedError("a past run without outputs says nothing", hint="give its outputs")


def _output(spark: SparkSession, path: str, query: Query, past: Past) -> OutputRecord:
    with _no_writes(spark):
        df = plan(spark, query) if isinstance(query, str) else query
    captured = read_dataframe(df)
    analysed = df._jdf.queryExecution().analyzed()
    columns = sources.column_types(analysed.schema())
    write, snapshot = existing.take(path, columns, analysed)
    inputs = _take_sources(df.sparkSession, captured)
    for source in inputs:
        _check_source(source, snapshot, past)
    relation = named(captured.plan, write.columns)
    formats = dict(enumerate(source.format for source in captured.sources))
    return OutputRecord(
        write.dataset,
        write.mode,
        snapshot,
        relation,
        infer(relation, formats=formats, name=write.dataset),
        inputs,
        (),
        text(df.sparkSession, analysed, "toString"),
        text(df.sparkSession, captured.java, "toString"),
        outputs.count(snapshot),
        (),
    )


def _take_sources(spark: SparkSession, captured: CapturedPlan) -> tuple[Snapshot, ...]:
    listings = sources.list_all(spark, captured.sources, captured.leaves)
    return sources.take_all(captured.sources, listings)


def _check_source(source: Snapshot, output: Snapshot, past: Past) -> None:
    written = {file.path for file in output.files}
    newest = _newest(output)
    for file in source.files:
        if file.path in written:
            raise ChangedError(
                f"file {file.path} is part of the output {display(output.dataset)}: "
                "what the query read there before is gone",
                hint="a job that replaces its own source has to be captured when it runs",
            )
        if _later(file.modified, newest) and not past.sources_unchanged:
            raise ChangedError(
                f"file {file.path} was written after the output {display(output.dataset)}, "
                "which therefore was not made of it",
                hint="restore the source; if it was only copied, say so: sources_unchanged=True",
            )


def _newest(snapshot: Snapshot) -> int:
    return max(file.modified for file in snapshot.files)


def _later(modified: int, newest: int) -> bool:
    # Object stores keep whole seconds.
    return modified // 1000 > newest // 1000 if newest % 1000 == 0 else modified > newest


@contextmanager
def _no_writes(spark: SparkSession) -> Iterator[None]:
    refusal = _Refusal(spark)
    hooks.install(refusal)
    try:
        yield
    finally:
        hooks.remove(refusal)


class _Refusal:
    """Stands for a capture, and lets nothing be written."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def write(
        self, command: Callable[[], Any], call: Callable[[Any], Any], *, can_inject: bool
    ) -> Any:
        raise UnsupportedError(
            "the past job is to be recorded, and it began to write",
            hint="give its query: what it would write, as a DataFrame",
        )

    def watch(self, call: Callable[[], Any], why: str) -> Any:
        raise UnsupportedError(
            f"the past job is to be recorded, and it ran what may be {why}",
            hint="give its query: what it would write, as a DataFrame",
        )
