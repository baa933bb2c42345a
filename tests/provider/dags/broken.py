"""A DAG whose tasks meet what can go wrong around a captured task; run by `test_end_to_end.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

from airflow.sdk import Param, dag, get_current_context

from row_lineage_provider.decorators.row_lineage import row_lineage_task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lineage_core.capture.session import Capture


def write_urgent(spark: SparkSession, name: str) -> None:
    """Write something whose plan holds a literal."""
    params = get_current_context()["params"]
    orders = spark.read.parquet(f"{params['tables']}/orders.parquet")
    found = orders.where("o_orderpriority = '1-URGENT'").groupBy("o_orderstatus").count()
    found.write.mode("overwrite").parquet(f"{params['results']}/{name}")


@dag(
    schedule=None,
    params={"tables": Param("tables", type="string"), "results": Param("results", type="string")},
)
def broken() -> None:
    @row_lineage_task
    def function_fails(spark: SparkSession) -> None:
        write_urgent(spark, "function_fails")
        raise KeyError("this is the user's own error")

    @row_lineage_task
    def capture_fails(spark: SparkSession, run: Capture) -> str:
        with patch("lineage_core.capture.saving.infer", side_effect=RuntimeError("1-URGENT")):
            write_urgent(spark, "capture_fails")
        return run.id

    @row_lineage_task(store="nosuchscheme://nowhere")
    def no_store(spark: SparkSession, run: Capture) -> str:
        write_urgent(spark, "no_store")
        assert run.outputs == ()
        return run.id

    @row_lineage_task
    def session_stopped(spark: SparkSession) -> None:
        write_urgent(spark, "session_stopped")
        spark.stop()

    @row_lineage_task
    def copies(number: int, spark: SparkSession) -> None:
        write_urgent(spark, f"copy_{number}")

    function_fails()
    capture_fails()
    no_store()
    session_stopped()
    copies.expand(number=[1, 2])


broken()
