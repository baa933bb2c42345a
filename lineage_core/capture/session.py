"""A captured run: every write of a session while it lasts, committed as one record at its end."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Any, Self, TypeVar

from pyspark.sql import SparkSession

from lineage_core.capture import hooks
from lineage_core.capture.attempt import Attempt, uncaptured
from lineage_core.capture.history import observed_sizes
from lineage_core.capture.watch import Watch
from lineage_core.capture.writes import UNKNOWN
from lineage_core.catalog import Catalog
from lineage_core.execute.jvm import error_kind
from lineage_core.execute.saved import Place
from lineage_core.snapshot import Snapshot
from lineage_core.store.carried import Carried
from lineage_core.store.filesystem import ArtifactStore
from lineage_core.store.manifest import Materialize, OutputRecord, RunRecord, RunState

T = TypeVar("T")

BuildIndex = Callable[[str, int, OutputRecord, Carried | None], object]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Noted:
    """A write of which nothing more is known than its record says."""

    record: OutputRecord


class Capture:
    """A context in which every DataFrame and SQL write of `spark` is captured.

    Capturing never breaks the user's code: what cannot be captured is recorded with the reason.

    Args:
        artifacts: the store that takes the run.
        catalog: its index.
        spark: the session whose writes are met.
        job: the job's name, free text.
        run_id: a UUID; a new one by default.
        tags: facts to keep with the run.
        materialize: when intermediates are saved.
        index: builds the indexes of what was written, given the run, the write's number and record,
            and what rode along with its rows; without it none are built.

    Attributes:
        id: the run's id.
        record: the run as committed; None before the end.
    """

    def __init__(
        self,
        artifacts: ArtifactStore,
        catalog: Catalog,
        spark: SparkSession,
        *,
        job: str,
        run_id: str | None = None,
        tags: Mapping[str, str] | None = None,
        materialize: Materialize | str = Materialize.AUTO,
        index: BuildIndex | None = None,
    ) -> None:
        self.id = run_id or str(uuid.uuid4())
        self.spark = spark
        self.record: RunRecord | None = None
        self._artifacts = artifacts
        self._catalog = catalog
        self._job = job
        self._tags = tuple(sorted((tags or {}).items()))
        self._wish = Materialize(materialize)
        self._index = index
        self._attempts: list[Attempt | _Noted] = []
        self._lock = Lock()
        self._started = ""
        self._uncaptured = ""
        artifacts.run_path(self.id)  # refuses an id that no run can have

    @property
    def outputs(self) -> tuple[OutputRecord, ...]:
        """What was written so far, in the order in which the writes began."""
        with self._lock:
            attempts = tuple(self._attempts)
        return tuple(attempt.record for attempt in attempts if attempt.record is not None)

    def __enter__(self) -> Self:
        self._started = _now()
        if not hasattr(self.spark, "_jsparkSession"):
            self._uncaptured = (
                "Spark Connect sessions cannot be captured: the plan is on the server"
            )
            return self
        try:
            hooks.install(self)
        except Exception as error:
            self._uncaptured = f"the session's writes could not be met: {type(error).__name__}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        hooks.remove(self)
        if self._uncaptured:
            _logger.warning("row lineage of run %s not captured: %s", self.id, self._uncaptured)
        state = RunState.COMPLETE if kind is None else RunState.FAILED
        self.record = RunRecord(
            self.id,
            self._job,
            self._started,
            _now(),
            state,
            self.outputs,
            self._tags,
            self._uncaptured,
        )
        try:
            self._artifacts.commit(self.record)
            self._catalog.add(self.record)
        except Exception as failure:
            _logger.warning("row lineage of run %s not stored: %s", self.id, failure)

    def write(self, command: Callable[[], Any], call: Callable[[Any], T], *, can_inject: bool) -> T:
        """Run one write and capture it; called by the hooks.

        Args:
            command: gives the Java command that the write is going to run.
            call: runs it, of a Java Dataset that takes the place of the user's, or of None.
            can_inject: whether `call` can be given a Dataset at all.
        """
        with self._lock:
            place = Place(self._artifacts, self.id, len(self._attempts))
            observed = partial(observed_sizes, self._catalog, self._artifacts)
            attempt = Attempt(
                self.spark,
                place,
                self._wish,
                command,
                can_inject,
                observed,
                carries=self._index is not None,
            )
            self._attempts.append(attempt)
        result = attempt.run(call)
        if self._index is not None:
            self._build(self._index, attempt)
        return result

    def _build(self, index: BuildIndex, attempt: Attempt) -> None:
        """Build the indexes of a write; without them, its program answers."""
        written, carried = attempt.record, attempt.carried
        try:
            if written is not None and written.program is not None and written.snapshot is not None:
                index(self.id, attempt.place.output, written, carried)
        except Exception as error:
            _logger.warning("what was written is not indexed: %s", error_kind(error))
            _logger.debug("", exc_info=error)
        finally:
            if carried is not None:
                self._artifacts.remove(attempt.place.folder(carried.at))

    def watch(self, call: Callable[[], T], why: str) -> T:
        """Run statements that cannot be met before, and note what they wrote; called by the hooks.

        Args:
            call: runs them.
            why: why that is uncaptured.
        """
        watch = self._watching()
        try:
            return call()
        finally:
            self._note(watch, why)

    def _watching(self) -> Watch | None:
        try:
            watch = Watch(self.spark)
            watch.begin()
        except Exception as error:
            _logger.warning("statements cannot be watched: %s", type(error).__name__)
            return None
        return watch

    def _note(self, watch: Watch | None, why: str) -> None:
        """Record what was seen; if nothing could be, that something may have been written."""
        written: list[tuple[str, str, tuple[Snapshot, ...]]] = [(UNKNOWN, "", ())]
        try:
            if watch is not None:
                seen = watch.end()
                written = [(write.dataset, write.mode, watch.inputs(write)) for write in seen]
        except Exception as error:
            _logger.warning("what statements wrote is not known: %s", type(error).__name__)
        for dataset, mode, inputs in written:
            _logger.warning("row lineage not captured: %s", why)
            noted = _Noted(uncaptured(dataset, mode, inputs, why))
            with self._lock:
                self._attempts.append(noted)


def _now() -> str:
    return datetime.now(UTC).isoformat()
