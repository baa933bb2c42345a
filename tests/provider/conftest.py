"""A task instance without Airflow's services, and a store that does what a test tells it to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace, TracebackType
from typing import Any

import pytest

from lineage_core.store.manifest import RunRecord, RunState

LOGICAL_DATE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass
class FakeCapture:
    """A capture that records how it was used, and raises where it is told to."""

    asked: dict[str, Any]
    fails: str = ""
    left_with: BaseException | None = None
    outputs: tuple[Any, ...] = ()

    @property
    def id(self) -> str:
        return str(self.asked["run_id"])

    @property
    def record(self) -> RunRecord:
        if self.fails == "record":
            raise ValueError("Zoe lives here")
        now = "2026-01-01T00:00:00+00:00"
        tags = tuple(self.asked["tags"].items())
        return RunRecord(self.id, self.asked["job"], now, now, RunState.COMPLETE, (), tags)

    def __enter__(self) -> FakeCapture:
        if self.fails == "enter":
            raise ValueError("Zoe lives here")
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.left_with = error
        if self.fails == "exit":
            raise ValueError("Zoe lives here")


@dataclass
class FakeStore:
    """Remembers the captures it opened."""

    fails: str = ""
    captures: list[FakeCapture] = field(default_factory=list)

    def capture(self, spark: object, **asked: Any) -> FakeCapture:
        if self.fails == "capture":
            raise ValueError("Zoe lives here")
        self.captures.append(FakeCapture({"spark": spark, **asked}, self.fails))
        return self.captures[-1]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> FakeStore:
    """The store that hooks open; `fails` is `open`, `capture`, `enter`, `exit` or `record`."""
    fake = FakeStore()

    def opened(*_: object, **__: object) -> FakeStore:
        if fake.fails == "open":
            raise ValueError("Zoe lives here")
        return fake

    monkeypatch.setattr("lineage_core.lineage.open_store", opened)
    return fake


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Stands for the Spark session; `asked` holds how it was asked for."""
    fake = SimpleNamespace(asked=[])

    @contextmanager
    def opened(name: str, **settings: Any) -> Iterator[SimpleNamespace]:
        fake.asked.append((name, settings))
        yield fake

    monkeypatch.setattr("lineage_core.execute.session.spark_session", opened)
    return fake


@pytest.fixture
def openlineage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make operators believe that events will be sent."""
    monkeypatch.setattr(
        "row_lineage_provider.operators.capture._openlineage_is_active", lambda: True
    )


def _task(**changes: Any) -> SimpleNamespace:
    dag_run = SimpleNamespace(logical_date=LOGICAL_DATE, run_after=LOGICAL_DATE)
    known = {
        "dag_id": "shop",
        "task_id": "revenue",
        "run_id": "manual__2026-01-02T03:04:05+00:00",
        "map_index": -1,
        "try_number": 1,
        "dag_run": dag_run,
        "get_template_context": lambda: {"dag_run": dag_run},
    }
    return SimpleNamespace(**(known | changes))


@pytest.fixture
def task_instance() -> Callable[..., SimpleNamespace]:
    """Build what operators need of a task instance."""
    return _task


@pytest.fixture
def context() -> Callable[..., dict[str, Any]]:
    """Build the context a task runs in; arguments change the task instance."""

    def build(**changes: Any) -> dict[str, Any]:
        return {
            "ti": _task(**changes),
            "logical_date": LOGICAL_DATE,
            "outlet_events": {},
            "params": {"tables": "t"},
        }

    return build
