"""A DAG whose tasks meet what can go wrong around a captured task; run by `test_end_to_end.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from airflow.sdk import Param, dag, task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lineage_core.capture.session import Capture


def write_urgent(spark: SparkSession, params: dict[str, Any], name: str) -> None:
    """Write something whose plan holds a literal."""
    orders = spark.read.parquet(f"{params['tables']}/orders.parquet")
    found = orders.where("o_orderpriority = '1-URGENT'").groupBy("o_orderstatus").count()
    found.write.mode("overwrite").parquet(f"{params['results']}/{name}")


@dag(
    schedule=None,
    params={"tables": Param("tables", type="string"), "results": Param("results", type="string")},
)
def broken() -> None:
    @task.row_lineage
    def function_fails(spark: SparkSession, params: dict[str, Any]) -> None:
        write_urgent(spark, params, "function_fails")
        raise KeyError("this is the user's own error")

    @task.row_lineage
    def capture_fails(spark: SparkSession, run: Capture, params: dict[str, Any]) -> str:
        with patch("lineage_core.capture.attempt.infer", side_effect=RuntimeError("1-URGENT")):
            write_urgent(spark, params, "capture_fails")
        return run.id

    @task.row_lineage(store="nosuchscheme://nowhere")
    def no_store(spark: SparkSession, run: Capture, params: dict[str, Any]) -> str:
        write_urgent(spark, params, "no_store")
        assert run.outputs == ()
        return run.id

    @task.row_lineage
    def session_stopped(spark: SparkSession, params: dict[str, Any]) -> None:
        write_urgent(spark, params, "session_stopped")
        spark.stop()

    @task.row_lineage
    def copies(number: int, spark: SparkSession, params: dict[str, Any]) -> None:
        write_urgent(spark, params, f"copy_{number}")

    function_fails()
    capture_fails()
    no_store()
    session_stopped()
    copies.expand(number=[1, 2])


broken()
