"""The decorator in a DAG file: bare, with arguments, mapped, overridden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from airflow.sdk import DAG, task

from row_lineage_provider.decorators.row_lineage import (
    RowLineageDecoratedOperator,
    row_lineage_task,
)

Decorator = Callable[..., Any]


@pytest.fixture(params=["typed", "by name"])
def decorator(request: pytest.FixtureRequest) -> Decorator:
    """Both ways to write it."""
    return row_lineage_task if request.param == "typed" else task.row_lineage


def function(spark: Any, table: str, run: Any = None, times: int = 1) -> tuple[Any, str, Any, int]:
    """Copy a table."""
    return spark, table, run, times


def only_task(dag: DAG) -> Any:
    (found,) = dag.tasks
    return found


def test_bare(decorator: Decorator) -> None:
    with DAG("d") as dag:
        decorator(function)("orders")
    found = only_task(dag)
    assert isinstance(found, RowLineageDecoratedOperator)
    assert (found.task_id, found.doc_md) == ("function", "Copy a table.")
    assert found.task_type == "RowLineageDecoratedOperator"
    assert found.operator_name == "@task.row_lineage"


def test_with_arguments(decorator: Decorator) -> None:
    with DAG("d") as dag:
        made = decorator(
            store="s3://{{ ds }}", materialize="never", spark_conf={"a": "b"}, retries=3
        )
        made(function)(table="orders")
    found = only_task(dag)
    assert (found.store, found.materialize) == ("s3://{{ ds }}", "never")
    assert (found.spark_conf, found.retries) == ({"a": "b"}, 3)
    assert "store" in found.template_fields


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), (("a", 1, 2), {}), (("a",), {"spark": 1}), (("a",), {"other": 1})],
)
def test_a_wrong_call_is_noticed_when_the_dag_is_parsed(
    decorator: Decorator, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    with DAG("d"), pytest.raises(TypeError):
        decorator(function)(*args, **kwargs)


def test_it_runs_with_positional_arguments(
    decorator: Decorator, store: Any, session: Any, context: Callable[..., Any]
) -> None:
    with DAG("d") as dag:
        decorator(function)("orders", times=2)
    found = only_task(dag).execute(context())
    assert found == (session, "orders", store.captures[0], 2)


def test_context_is_injected_next_to_ours(
    decorator: Decorator, store: Any, session: Any, context: Callable[..., Any]
) -> None:
    def mixed(spark: Any, params: Any, table: str, ti: Any = None) -> tuple[Any, ...]:
        return spark, params, table, ti.dag_id

    with DAG("d") as dag:
        decorator(mixed)(table="orders")
    assert only_task(dag).execute(context()) == (session, {"tables": "t"}, "orders", "shop")


def test_mapped_and_overridden(
    decorator: Decorator, store: Any, session: Any, context: Callable[..., Any]
) -> None:
    with DAG("d") as dag:
        decorator(store="/a")(function).override(task_id="copy", store="/b").partial(
            times=2
        ).expand(table=["orders", "lines"])
    mapped = only_task(dag)
    assert mapped.task_id == "copy"
    one = mapped.unmap({"op_kwargs": {"table": "lines", "times": 2}})
    assert isinstance(one, RowLineageDecoratedOperator)
    assert one.store == "/b"
    assert one.execute(context())[1:] == ("lines", store.captures[0], 2)


def test_the_source_is_the_users() -> None:
    with DAG("d") as dag:
        row_lineage_task(function)("orders")
    assert "Copy a table." in only_task(dag).get_python_source()
