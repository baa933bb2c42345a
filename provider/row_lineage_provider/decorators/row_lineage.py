"""`@task.row_lineage`, and `row_lineage_task`, the same with the function's types kept.

@row_lineage_task
def totals(spark: SparkSession, table: str) -> None:
    spark.read.parquet(table).groupBy("customer").count().write.parquet("totals")

totals("orders")   # in the DAG: `spark` is not the caller's to give
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from airflow.sdk.bases.decorator import DecoratedOperator, task_decorator_factory

from row_lineage_provider.injection import injected
from row_lineage_provider.operators.capture import RowLineageCaptureOperator

if TYPE_CHECKING:
    from airflow.sdk.bases.decorator import Task
    from pyspark.sql import SparkSession

    from lineage_core.capture.session import Capture

P = ParamSpec("P")
R = TypeVar("R")


class RowLineageDecoratedOperator(DecoratedOperator, RowLineageCaptureOperator):
    """The operator behind the decorator."""

    template_fields = RowLineageCaptureOperator.template_fields
    template_fields_renderers = RowLineageCaptureOperator.template_fields_renderers
    shallow_copy_attrs = RowLineageCaptureOperator.shallow_copy_attrs
    custom_operator_name = "@task.row_lineage"

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Any = None,
        op_kwargs: Any = None,
        **kwargs: Any,
    ) -> None:
        # Airflow checks the call's arguments against the signature before our operator is set up.
        shown = injected(python_callable, {})
        upstream = {"python_callable": shown, "op_args": op_args, "op_kwargs": op_kwargs}
        super().__init__(kwargs_to_upstream=upstream, **upstream, **kwargs)


class RowLineageTaskDecorator(Protocol):
    """Makes a task of a function whose first parameters may be the session and the capture."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[SparkSession, Capture, P], R], /
    ) -> Task[P, R]: ...

    @overload
    def __call__(self, function: Callable[Concatenate[SparkSession, P], R], /) -> Task[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...


@overload
def row_lineage_task(
    python_callable: Callable[Concatenate[SparkSession, Capture, P], R], /
) -> Task[P, R]: ...


@overload
def row_lineage_task(
    python_callable: Callable[Concatenate[SparkSession, P], R], /
) -> Task[P, R]: ...


@overload
def row_lineage_task(python_callable: Callable[P, R], /) -> Task[P, R]: ...


@overload
def row_lineage_task(
    *,
    store: str | None = None,
    row_lineage_conn_id: str = ...,
    materialize: str | None = None,
    index: bool = False,
    workload: Sequence[str] | None = None,
    spark_master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    multiple_outputs: bool | None = None,
    **kwargs: Any,
) -> RowLineageTaskDecorator: ...


def row_lineage_task(
    python_callable: Callable[..., Any] | None = None,
    multiple_outputs: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Make a task of a function, and capture what it writes with Spark.

    Use it bare or with arguments: those of `RowLineageCaptureOperator` and of any operator.
    """
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=RowLineageDecoratedOperator,
        **kwargs,
    )
