"""Two TPC-H queries as Spark tasks whose row lineage is captured.

The only thing that makes them captured is the decorator. Each reads Parquet tables from the folder
`tables` and writes its result below the folder `results`, as given when the DAG is triggered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Param, dag, task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHIPPING_PRIORITY = """
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
from customer, orders, lineitem
where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey
  and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
group by l_orderkey, o_orderdate, o_shippriority
order by revenue desc, o_orderdate
limit 10
"""

ORDER_PRIORITY = """
select o_orderpriority, count(*) as order_count
from orders
where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-07-01' + interval '3' month
  and exists (select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate)
group by o_orderpriority
order by o_orderpriority
"""


def query(spark: SparkSession, text: str, folder: str, *tables: str) -> DataFrame:
    """Return the result of a query over some of the Parquet tables in a folder."""
    for table in tables:
        spark.read.parquet(f"{folder}/{table}.parquet").createOrReplaceTempView(table)
    return spark.sql(text)


@dag(
    schedule=None,
    catchup=False,
    tags=["row-lineage", "example"],
    params={
        "tables": Param("demo/data", type="string", title="Folder of the TPC-H tables"),
        "results": Param("demo/results", type="string", title="Folder for the results"),
    },
)
def example_tpch() -> None:
    @task.row_lineage
    def q3(spark: SparkSession, params: dict[str, Any]) -> None:
        """Unshipped orders of greatest value."""
        found = query(spark, SHIPPING_PRIORITY, params["tables"], "customer", "orders", "lineitem")
        found.write.mode("overwrite").parquet(f"{params['results']}/q3")

    @task.row_lineage
    def q4(spark: SparkSession, params: dict[str, Any]) -> None:
        """Orders that had a late line item, counted by priority."""
        found = query(spark, ORDER_PRIORITY, params["tables"], "orders", "lineitem")
        found.write.mode("overwrite").parquet(f"{params['results']}/q4")

    q3()
    q4()


example_tpch()
