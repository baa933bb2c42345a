"""Which columns of each table a TPC-H query used, and how: read off the query's text by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lineage_core.lineage import open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("customer", "lineitem", "orders", "part", "partsupp", "supplier")

USED: Mapping[int, Mapping[str, Mapping[str, str]]] = {
    3: {
        "customer": {"c_custkey": "join", "c_mktsegment": "filter"},
        "orders": {
            "o_orderkey": "join",
            "o_custkey": "join",
            "o_orderdate": "value filter group sort",
            "o_shippriority": "value group",
        },
        "lineitem": {
            "l_orderkey": "value join group",
            "l_extendedprice": "aggregated sort",
            "l_discount": "aggregated sort",
            "l_shipdate": "filter",
        },
    },
    4: {
        "orders": {
            "o_orderkey": "join",
            "o_orderdate": "filter",
            "o_orderpriority": "value group sort",
        },
        "lineitem": {"l_orderkey": "join", "l_commitdate": "filter", "l_receiptdate": "filter"},
    },
    16: {
        "partsupp": {"ps_partkey": "join", "ps_suppkey": "aggregated join sort"},
        "part": {
            "p_partkey": "join",
            "p_brand": "value filter group sort",
            "p_type": "value filter group sort",
            "p_size": "value filter group sort",
        },
        "supplier": {"s_suppkey": "join", "s_comment": "filter"},
    },
    18: {
        "customer": {"c_custkey": "value join group", "c_name": "value group"},
        "orders": {
            "o_orderkey": "value join group",
            "o_custkey": "join",
            "o_totalprice": "value group sort",
            "o_orderdate": "value group sort",
        },
        # Read twice: what is summed up, and the orders it is asked of (`having`).
        "lineitem": {"l_orderkey": "join group", "l_quantity": "aggregated filter"},
    },
}


@pytest.mark.parametrize("query", USED)
def test_columns_in_use(
    query: int,
    spark: SparkSession,
    tpch_001: Path,
    tpch_query: Callable[[int], str],
    tmp_path: Path,
) -> None:
    store = open_store(str(tmp_path / "store"))
    for table in TABLES:
        spark.read.parquet(str(tpch_001 / f"{table}.parquet")).createOrReplaceTempView(table)
    with store.capture(spark, job=f"q{query}"):
        spark.sql(tpch_query(query)).write.parquet(str(tmp_path / "out"))
    sources = store.backward(str(tmp_path / "out")).sources
    found = {
        Path(source.dataset).stem: {c.name: " ".join(c.roles) for c in source.columns}
        for source in sources
    }
    assert found == {table: dict(columns) for table, columns in USED[query].items()}
