"""TPC-H, all of it: no operator of any query is opaque, and every table read is a source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_core.capture import read_dataframe
from lineage_core.plan.relation import Opaque, Scan
from lineage_core.plan.traverse import nodes

_QUERIES = sorted((Path(__file__).parents[1] / "tpch" / "queries").glob("q*.sql"))

_TABLES = {
    "region": "r_regionkey int, r_name string, r_comment string",
    "nation": "n_nationkey int, n_name string, n_regionkey int, n_comment string",
    "supplier": "s_suppkey bigint, s_name string, s_address string, s_nationkey int,"
    " s_phone string, s_acctbal decimal(15,2), s_comment string",
    "customer": "c_custkey bigint, c_name string, c_address string, c_nationkey int,"
    " c_phone string, c_acctbal decimal(15,2), c_mktsegment string, c_comment string",
    "part": "p_partkey bigint, p_name string, p_mfgr string, p_brand string, p_type string,"
    " p_size int, p_container string, p_retailprice decimal(15,2), p_comment string",
    "partsupp": "ps_partkey bigint, ps_suppkey bigint, ps_availqty bigint,"
    " ps_supplycost decimal(15,2), ps_comment string",
    "orders": "o_orderkey bigint, o_custkey bigint, o_orderstatus string,"
    " o_totalprice decimal(15,2), o_orderdate date, o_orderpriority string, o_clerk string,"
    " o_shippriority int, o_comment string",
    "lineitem": "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber bigint,"
    " l_quantity decimal(15,2), l_extendedprice decimal(15,2), l_discount decimal(15,2),"
    " l_tax decimal(15,2), l_returnflag string, l_linestatus string, l_shipdate date,"
    " l_commitdate date, l_receiptdate date, l_shipinstruct string, l_shipmode string,"
    " l_comment string",
}


@pytest.fixture(scope="module")
def warehouse(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """The session with the eight tables, empty."""
    folder = tmp_path_factory.mktemp("warehouse")
    for name, columns in _TABLES.items():
        path = str(folder / name)
        spark.createDataFrame([], columns).write.parquet(path)
        spark.read.parquet(path).createOrReplaceTempView(name)
    yield spark
    for name in _TABLES:
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("query", _QUERIES, ids=lambda path: path.stem)
def test_nothing_is_opaque(warehouse: SparkSession, query: Path) -> None:
    text = query.read_text()
    captured = read_dataframe(warehouse.sql(text))
    found = list(nodes(captured.plan))
    assert [node for node in found if isinstance(node, Opaque)] == []
    named = {name for name in _TABLES if re.search(rf"\b{name}\b", text)}
    assert {Path(source.dataset).name for source in captured.sources} == named
    assert {n.source for n in found if isinstance(n, Scan)} == set(range(len(captured.sources)))
    assert len({node.at for node in found}) == len(found)


def test_there_are_22_queries() -> None:
    assert len(_QUERIES) == 22
