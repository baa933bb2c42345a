"""The operator gives a function what it asks for, and nothing that captures can break it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.openlineage.plugins.macros import lineage_run_id
from airflow.sdk.exceptions import AirflowSkipException

from lineage_core.openlineage import FACET_KEY
from lineage_core.openlineage.run_facet import RowLineageRunFacet
from lineage_core.store.manifest import RunState
from row_lineage_provider.injection import injected, wanted
from row_lineage_provider.operators.capture import RowLineageCaptureOperator

Context = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("session", "openlineage")


def operator(function: Callable[..., Any], **arguments: Any) -> RowLineageCaptureOperator:
    return RowLineageCaptureOperator(task_id="revenue", python_callable=function, **arguments)


def facet_of(task: RowLineageCaptureOperator) -> Any:
    return task.get_openlineage_facets_on_complete(None).run_facets[FACET_KEY]


def test_a_function_gets_session_and_capture_if_it_asks(
    store: Any, session: Any, context: Context
) -> None:
    seen: list[Any] = []
    operator(lambda: seen.append(())).execute(context())
    operator(lambda spark: seen.append(spark)).execute(context())
    operator(lambda run: seen.append(run)).execute(context())
    operator(lambda run, spark, ti: seen.append((run, spark, ti.dag_id))).execute(context())
    captures = store.captures
    assert seen == [(), session, captures[2], (captures[3], session, "shop")]
    assert [capture.asked["spark"] for capture in captures] == [session] * 4


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((1, 2), {}), ((1,), {"b": 2}), ((), {"a": 1, "b": 2})],
)
def test_positional_arguments_go_to_what_the_caller_fills(
    store: Any, session: Any, context: Context, args: tuple[int, ...], kwargs: dict[str, int]
) -> None:
    def function(spark: Any, a: int, run: Any, b: int, *rest: int, c: int = 3) -> tuple[Any, ...]:
        return spark, a, run.id, b, rest, c

    found = operator(function, op_args=args, op_kwargs=kwargs).execute(context())
    assert found == (session, 1, store.captures[0].id, 2, (), 3)


def test_star_arguments_and_a_decorator_of_the_users_survive() -> None:
    import functools

    def loud(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return "loud", function(*args, **kwargs)

        return call

    @loud
    def function(spark: Any, a: int, *rest: int, **named: int) -> tuple[Any, ...]:
        return spark, a, rest, named

    once = injected(function, {})
    assert wanted(once) == ("spark",)
    twice = injected(once, {"spark": "S"})
    assert twice(1, 2, 3, x=4) == ("loud", ("S", 1, (2, 3), {"x": 4}))
    with pytest.raises(TypeError):
        twice(1, spark="mine")


def test_the_run_is_filed_under_the_tasks_openlineage_run_id(
    store: Any, context: Context, task_instance: Callable[..., SimpleNamespace]
) -> None:
    ids = set()
    for changes in ({}, {"try_number": 2}, {"map_index": 3}, {"task_id": "other"}):
        operator(lambda: None).execute(context(**changes))
        asked = store.captures[-1].asked
        assert asked["run_id"] == lineage_run_id(task_instance(**changes))
        ids.add(asked["run_id"])
    assert len(ids) == 4
    assert asked["job"] == "shop.other"
    assert asked["tags"] == {
        "dag_id": "shop",
        "task_id": "other",
        "run_id": "manual__2026-01-02T03:04:05+00:00",
        "map_index": "-1",
        "try_number": "1",
        "logical_date": "2026-01-02T03:04:05+00:00",
    }


def test_a_run_without_logical_date_can_be_captured(store: Any, context: Context) -> None:
    operator(lambda: None).execute(context() | {"logical_date": None})
    assert store.captures[0].asked["tags"]["logical_date"] == ""


def test_without_the_openlineage_provider_the_id_is_stable_and_a_uuid(
    monkeypatch: pytest.MonkeyPatch, task_instance: Callable[..., SimpleNamespace]
) -> None:
    import sys
    import uuid

    from row_lineage_provider.run_id import lineage_run_id as own

    monkeypatch.setitem(sys.modules, "airflow.providers.openlineage.plugins", None)
    assert own(task_instance()) == own(task_instance()) == str(uuid.UUID(own(task_instance())))
    assert own(task_instance()) != own(task_instance(try_number=2))


def test_the_session_is_asked_for_as_configured(
    store: Any, session: Any, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__ROW_LINEAGE__SPARK_CONF", '{"a": "1", "b": "2"}')
    monkeypatch.setenv("AIRFLOW__ROW_LINEAGE__MATERIALIZE", "defer")
    operator(lambda: None, spark_master="local[1]", spark_conf={"b": "3"}).execute(context())
    assert session.asked == [("shop.revenue", {"master": "local[1]", "conf": {"a": "1", "b": "3"}})]
    assert store.captures[0].asked["materialize"] == "defer"
    operator(lambda: None, materialize="never").execute(context())
    assert store.captures[1].asked["materialize"] == "never"
    assert [store.captures[1].asked[name] for name in ("index", "workload")] == [False, None]
    asked = ["select count(*) from backward('out') where a = $a"]
    operator(lambda: None, index=True, workload=asked).execute(context())
    assert [store.captures[2].asked[name] for name in ("index", "workload")] == [True, asked]


@pytest.mark.parametrize("fails", ["open", "capture", "enter", "exit", "record"])
def test_whatever_breaks_in_the_capture_the_task_succeeds(
    store: Any, context: Context, capsys: pytest.CaptureFixture[str], fails: str
) -> None:
    store.fails = fails
    task = operator(lambda run: (run.id, tuple(run.outputs)))
    found = task.execute(context())
    facet = facet_of(task)
    assert found == (facet.runId, ())
    assert facet.state == "uncaptured"
    assert "ValueError" in facet.reason
    log = capsys.readouterr().out
    assert "The task goes on without row lineage" in log
    assert "Zoe" not in log + repr(facet)


@pytest.mark.parametrize("fails", ["", "open", "enter", "exit", "record"])
@pytest.mark.parametrize("error", [KeyError("mine"), AirflowSkipException("mine")])
def test_the_functions_own_error_is_what_fails_the_task(
    store: Any, context: Context, fails: str, error: Exception
) -> None:
    store.fails = fails

    def function() -> None:
        raise error

    task = operator(function)
    with pytest.raises(type(error)) as raised:
        task.execute(context())
    assert raised.value is error
    if store.captures and fails != "enter":
        assert store.captures[0].left_with is error
    assert task.get_openlineage_facets_on_failure(None).run_facets[FACET_KEY]


def test_a_capture_that_raises_the_users_error_again_is_no_failure_of_its_own(
    store: Any, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextlib import contextmanager

    error = KeyError("mine")
    record = store.capture(None, run_id="r", job="j", tags={}).record

    @contextmanager
    def capture(*_: object, **__: object) -> Any:
        yield SimpleNamespace(record=record)

    monkeypatch.setattr(store, "capture", capture)

    def function() -> None:
        raise error

    task = operator(function)
    with pytest.raises(KeyError):
        task.execute(context())
    assert task._lineage is not None
    facet = task._lineage.run_facets[FACET_KEY]
    assert isinstance(facet, RowLineageRunFacet) and facet.state == "captured"


def test_an_event_that_cannot_be_made_does_not_fail_the_task(
    store: Any, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("Zoe")

    monkeypatch.setattr("lineage_core.openlineage.describe", broken)
    task = operator(lambda: 7)
    assert task.execute(context()) == 7
    assert task.get_openlineage_facets_on_complete(None).run_facets == {}


def test_a_connection_without_store_is_told_and_breaks_nothing(
    store: Any, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_ROW_LINEAGE_DEFAULT", '{"conn_type": "row_lineage"}')
    task = operator(lambda: 7)
    assert task.execute(context()) == 7
    assert (facet_of(task).state, facet_of(task).store) == ("uncaptured", "")
    assert "NotFoundError" in facet_of(task).reason


def test_nothing_is_said_before_the_function_has_run(store: Any) -> None:
    task = operator(lambda: None)
    for lineage in (
        task.get_openlineage_facets_on_start(),
        task.get_openlineage_facets_on_complete(None),
        task.get_openlineage_facets_on_failure(None),
    ):
        assert (lineage.inputs, lineage.outputs, lineage.run_facets) == ([], [], {})


def test_a_forked_child_only_reads(
    store: Any, session: Any, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listener forks; a child that touches Spark breaks the parent's connection to the JVM."""
    task = operator(lambda spark: None)
    task.execute(context())
    expected = facet_of(task).runId

    def touched(*_: object, **__: object) -> None:
        raise AssertionError("the child did something")

    for name in (
        "lineage_core.lineage.open_store",
        "lineage_core.execute.session.spark_session",
        "lineage_core.openlineage.describe",
        "row_lineage_provider.settings.store_address",
    ):
        monkeypatch.setattr(name, touched)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, json.dumps(facet_of(task).runId).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        assert json.loads(answer.read()) == expected
    os.waitpid(child, 0)


def test_a_failed_run_is_recorded_as_failed(store: Any, context: Context) -> None:
    from row_lineage_provider.recording import Recording, TaskRun

    task = TaskRun.of(context())
    logger = operator(lambda: None).log
    recording = Recording(task, lambda: store.capture(None, run_id="r", job="j", tags={}), logger)
    with pytest.raises(KeyError), recording:
        raise KeyError
    assert recording.record.state is RunState.FAILED


def test_an_async_function_is_refused_when_the_dag_is_parsed() -> None:
    async def function() -> None: ...

    with pytest.raises(TypeError, match="function is async"):
        operator(function)
