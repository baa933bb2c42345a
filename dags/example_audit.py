"""A question about the result of `example_tpch`: which rows was the count of urgent orders made of?

The answer is a report in the lineage store; XCom holds where it is and how many rows were found.
"""

from __future__ import annotations

from airflow.sdk import Param, dag

from row_lineage_provider.operators.query import RowLineageQueryOperator


@dag(
    schedule=None,
    catchup=False,
    tags=["row-lineage", "example"],
    params={
        "dataset": Param("demo/results/q4", type="string", title="Dataset asked about"),
        "run": Param(None, type=["null", "string"], title="Run that wrote it; empty: the newest"),
    },
)
def example_audit() -> None:
    RowLineageQueryOperator(
        task_id="urgent_orders",
        dataset="{{ params.dataset }}",
        where="o_orderpriority = '1-URGENT'",
        run="{{ params.run or '' }}",
    )


example_audit()
