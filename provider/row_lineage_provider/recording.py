"""A capture that cannot break what it captures.

The core's capture is fail-open already; what is left is opening the store, and whatever nobody
thought of. Then the task runs as if it were not captured, and the reason is kept for the event and
the log.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from lineage_core.store.manifest import RunRecord, RunState
from row_lineage_provider.run_id import lineage_run_id

if TYPE_CHECKING:
    from airflow.sdk.types import Logger

    from lineage_core.capture.session import Capture
    from lineage_core.store.manifest import OutputRecord


@dataclass(frozen=True, slots=True)
class TaskRun:
    """What a task's lineage is filed under.

    Attributes:
        run_id: the task's OpenLineage run id.
        job: the task's OpenLineage job name.
        tags: the task's own key in Airflow, since an OpenLineage id changes with its configuration.
    """

    run_id: str
    job: str
    tags: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, context: Any) -> TaskRun:
        """Return the identity of the task that runs in an Airflow context."""
        task = context["ti"]
        logical_date = context.get("logical_date")
        tags = {
            "dag_id": task.dag_id,
            "task_id": task.task_id,
            "run_id": task.run_id,
            "map_index": str(task.map_index),
            "try_number": str(task.try_number),
            "logical_date": logical_date.isoformat() if logical_date else "",
        }
        return cls(lineage_run_id(task), f"{task.dag_id}.{task.task_id}", tuple(tags.items()))


@dataclass(frozen=True, slots=True)
class Uncaptured:
    """What a task's function gets as `run` without a capture: same questions, no answers."""

    record: RunRecord

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def outputs(self) -> tuple[OutputRecord, ...]:
        return ()


class Recording(AbstractContextManager[Any]):
    """One attempt at capturing; `record` tells how it went once the block is left.

    Args:
        task: what the run is filed under.
        capture: opens the capture; may fail.
        log: where failures are told, by class name only, as a message may quote rows or passwords.
    """

    def __init__(
        self,
        task: TaskRun,
        capture: Callable[[], AbstractContextManager[Capture]],
        log: Logger,
    ) -> None:
        self._task = task
        self._open = capture
        self._log = log
        self._capture: AbstractContextManager[Capture] | None = None
        now = datetime.now(UTC).isoformat()
        self.record = RunRecord(
            task.run_id, task.job, now, now, RunState.COMPLETE, (), task.tags, "not started"
        )

    def __enter__(self) -> Capture | Uncaptured:
        try:
            capture = self._open()
            self._run = capture.__enter__()
        except Exception as error:
            self._uncaptured("could not be opened", error)
            return Uncaptured(self.record)
        self._capture = capture
        return self._run

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._capture is not None:
            try:
                self._capture.__exit__(kind, error, traceback)
                self.record = self._run.record or self.record
            except Exception as raised:
                if raised is not error:
                    self._uncaptured("could not be finished", raised)
        state = RunState.COMPLETE if error is None else RunState.FAILED
        self.record = replace(self.record, state=state)

    def _uncaptured(self, what: str, error: Exception) -> None:
        reason = f"the capture {what} ({type(error).__name__})"
        self._log.warning("The task goes on without row lineage: %s.", reason)
        self._log.debug("Why the capture failed", exc_info=error)
        self.record = replace(self.record, ended=datetime.now(UTC).isoformat(), uncaptured=reason)
