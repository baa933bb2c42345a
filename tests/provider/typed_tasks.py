"""Read by mypy, never run: what a decorated function's types become."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

from airflow.sdk import task
from airflow.sdk.bases.decorator import Task
from airflow.sdk.definitions.xcom_arg import XComArg

from lineage_core.capture.session import Capture
from row_lineage_provider.decorators.row_lineage import row_lineage_task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@row_lineage_task
def bare(spark: SparkSession, table: str, times: int = 1) -> int:
    return times


@row_lineage_task(store="s3://bucket", retries=2)
def with_arguments(spark: SparkSession, run: Capture, table: str) -> None: ...


@row_lineage_task
def alone(table: str) -> str:
    return table


@row_lineage_task()
def called(spark: SparkSession) -> list[int]:
    return []


@task.row_lineage
def by_name(spark: SparkSession, table: str) -> None: ...


def calls() -> None:
    assert_type(bare("orders"), XComArg)
    assert_type(bare("orders", times=2), XComArg)
    assert_type(with_arguments("orders"), XComArg)
    assert_type(alone("orders"), XComArg)
    assert_type(called, Task[[], list[int]])
    assert_type(called(), XComArg)
    bare.override(task_id="other").expand(table=["a", "b"])

    # Misuse that mypy has to report: it fails on an ignore that nothing is ignored by.
    bare(1)  # type: ignore[arg-type]
    bare()  # type: ignore[call-arg, misc]
    bare("orders", times="2")  # type: ignore[arg-type]
    with_arguments()  # type: ignore[call-arg, misc]
    alone(1)  # type: ignore[arg-type]
    called(1)  # type: ignore[call-arg]
