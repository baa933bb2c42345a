"""Views of one dataset, linked by lineage: what is selected in one is counted in the others.

A task groups flights by day and by carrier, captured; their rid indexes are built; then one day is
brushed, and a functional dependency of the flights is checked. Only counts are logged. The dataset
is made first, below the folder `results`, as given when the DAG is triggered.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from airflow.sdk import Param, dag, task

from row_lineage_provider.hooks.row_lineage import RowLineageHook
from row_lineage_provider.operators.index import BuildLineageIndexOperator
from row_lineage_provider.run_id import lineage_run_id

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)


@dag(
    schedule=None,
    catchup=False,
    tags=["row-lineage", "example"],
    params={
        "results": Param("demo/results", type="string", title="Folder for data and results"),
        "flights": Param(10_000, type="integer", minimum=1, title="Flights to make"),
    },
)
def example_linked_views() -> None:
    @task.row_lineage
    def flights(spark: SparkSession, params: dict[str, Any]) -> None:
        """A flight belongs to a carrier, which is at home in one city; a few say another."""
        made = spark.range(params["flights"]).selectExpr(
            "id",
            "date_add(date'2026-01-01', cast(id * 7 % 31 as int)) as day",
            "concat('C', id * 13 % 11) as carrier",
            "concat('city ', if(id % 1000 = 999, 'elsewhere', string(id * 13 % 11 % 5))) as home",
            "cast(id * 17 % 90 - 10 as int) as delay",
        )
        made.write.mode("overwrite").parquet(f"{params['results']}/flights")

    @task.row_lineage
    def views(spark: SparkSession, params: dict[str, Any], ti: Any) -> str:
        """Flights by day and by carrier; returns the id of the lineage run that wrote both."""
        source = spark.read.parquet(f"{params['results']}/flights")
        for column in ("day", "carrier"):
            view = source.groupBy(column).count().coalesce(1)
            view.write.mode("overwrite").parquet(f"{params['results']}/by_{column}")
        return lineage_run_id(ti)

    @task
    def brush(params: dict[str, Any]) -> dict[str, int]:
        """How many carriers flew on a day, and how often."""
        by_day, by_carrier = (f"{params['results']}/by_{name}" for name in ("day", "carrier"))
        linked = RowLineageHook().get_store().crossfilter([by_day, by_carrier], measures=["delay"])
        brushed = linked.brush({by_day: "day = '2026-01-17'"})[by_carrier].column("brushed")
        counts = brushed.to_pylist()
        found = {"carriers": sum(count > 0 for count in counts), "flights": sum(counts)}
        log.info("Brushed one day: %(flights)d flights of %(carriers)d carriers", found)
        return found

    @task
    def check_homes(params: dict[str, Any]) -> dict[str, int]:
        """How many carriers are at home in several cities, and how many flights they have."""
        store = RowLineageHook().get_store()
        (found,) = store.dependencies(f"{params['results']}/flights", ["carrier -> home"])
        counts = {"carriers": found.count, "flights": found.graph().num_rows}
        log.info("Several homes: %(carriers)d carriers with %(flights)d flights", counts)
        return counts

    made = flights()
    written = views()
    index = BuildLineageIndexOperator(task_id="index", run=written)
    made >> [written, check_homes()]
    index >> brush()


example_linked_views()
