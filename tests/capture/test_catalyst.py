"""Catalyst plans as IR: golden plans, one for each operator, and honest opaqueness for the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lineage_core import codec
from lineage_core.capture import read_dataframe
from lineage_core.plan.relation import (
    Aggregate,
    Filter,
    Join,
    Opaque,
    Plan,
    Project,
    Scan,
    children,
    output,
)
from lineage_core.plan.traverse import nodes

Lines = Callable[[Plan], list[str]]

_TPCH = {
    "customer": "c_custkey:long c_mktsegment:string",
    "orders": "o_orderkey:long o_custkey:long o_orderdate:date o_orderpriority:string "
    "o_shippriority:int",
    "lineitem": "l_orderkey:long l_extendedprice:decimal l_discount:decimal l_shipdate:date "
    "l_commitdate:date l_receiptdate:date",
}
_TYPES = {
    "long": pa.int64(),
    "int": pa.int32(),
    "string": pa.string(),
    "date": pa.date32(),
    "decimal": pa.decimal128(15, 2),
}


@pytest.fixture
def tpch(spark: SparkSession, tmp_path: Path) -> SparkSession:
    """The session with empty tables of the columns that Q3 and Q4 use."""
    for name, columns in _TPCH.items():
        schema = pa.schema([(c, _TYPES[t]) for c, t in (x.split(":") for x in columns.split())])
        (tmp_path / name).mkdir()
        pq.write_table(schema.empty_table(), tmp_path / name / "part-0.parquet")
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    return spark


Q4 = """
select o_orderpriority, count(*) as order_count from orders
where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-07-01' + interval '3' month
  and exists (select * from lineitem where l_orderkey = o_orderkey
              and l_commitdate < l_receiptdate)
group by o_orderpriority order by o_orderpriority
"""

Q3 = """
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
from customer, orders, lineitem
where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey
  and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate limit 10
"""


def test_tpch_q4(tpch: SparkSession, lines: Lines) -> None:
    plan = read_dataframe(tpch.sql(Q4)).plan
    assert lines(plan) == [
        "0 Sort [#3 asc True] True",
        "  1 Aggregate [#3] [#3 #3, #11 count[1]]",
        "    2 Project [#3 o_orderpriority = #3]",
        "      3 Join left_semi (#5 = #0)",
        "        4 Project [#0 o_orderkey = #0, #3 o_orderpriority = #3]",
        "          5 Filter not null?(#2) And (#2 >= '1993-07-01') And (#2 < '1993-10-01')",
        "            6 Scan 0 orders [#0 o_orderkey, #1 o_custkey, #2 o_orderdate,"
        " #3 o_orderpriority, #4 o_shippriority]",
        "        7 Project [#5 l_orderkey = #5]",
        "          8 Filter not null?(#9) And not null?(#10) And (#9 < #10)",
        "            9 Scan 1 lineitem [#5 l_orderkey, #6 l_extendedprice, #7 l_discount,"
        " #8 l_shipdate, #9 l_commitdate, #10 l_receiptdate]",
    ]


def test_tpch_q3(tpch: SparkSession, lines: Lines) -> None:
    plan = read_dataframe(tpch.sql(Q3)).plan
    assert lines(plan) == [
        "0 Limit 10",
        "  2 Sort [#13 desc False, #4 asc True] True",
        "    3 Aggregate [#7, #4, #6] [#7 #7, "
        "#13 sum[multiply(#8, subtract('1', #9))], #4 #4, #6 #6]",
        "      4 Project [#4 o_orderdate = #4, #6 o_shippriority = #6, #7 l_orderkey = #7, "
        "#8 l_extendedprice = #8, #9 l_discount = #9]",
        "        5 Join inner (#7 = #2)",
        "          6 Project [#2 o_orderkey = #2, #4 o_orderdate = #4, #6 o_shippriority = #6]",
        "            7 Join inner (#0 = #3)",
        "              8 Project [#0 c_custkey = #0]",
        "                9 Filter not null?(#1) And (#1 = 'BUILDING') And not null?(#0)",
        "                  10 Scan 0 customer [#0 c_custkey, #1 c_mktsegment]",
        "              11 Project [#2 o_orderkey = #2, #3 o_custkey = #3, "
        "#4 o_orderdate = #4, #6 o_shippriority = #6]",
        "                12 Filter not null?(#4) And (#4 < '1995-03-15') And not null?(#3)"
        " And not null?(#2)",
        "                  13 Scan 1 orders [#2 o_orderkey, #3 o_custkey, #4 o_orderdate,"
        " #5 o_orderpriority, #6 o_shippriority]",
        "          14 Project [#7 l_orderkey = #7, #8 l_extendedprice = #8, #9 l_discount = #9]",
        "            15 Filter not null?(#10) And (#10 > '1995-03-15') And not null?(#7)",
        "              16 Scan 2 lineitem [#7 l_orderkey, #8 l_extendedprice, #9 l_discount,"
        " #10 l_shipdate, #11 l_commitdate, #12 l_receiptdate]",
    ]


ORDERS = "Scan 0 orders [#0 o_id, #1 o_cust, #2 o_price, #3 o_status]"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select * from orders", [f"0 {ORDERS}"]),
        (
            "select o_id + 1 as n from orders where o_status in ('a', 'b', null)",
            [
                "0 Project [#4 n = add(#0, 1)]",
                "  1 Filter (#3 in ['a', 'b', None])",
                f"    2 {ORDERS}",
            ],
        ),
        (
            "select o_id from orders cross join (select 1 from customers)",
            [
                "0 Join inner True",
                "  1 Project [#0 o_id = #0]",
                f"    2 {ORDERS}",
                "  3 Project []",
                "    4 Scan 1 customers [#4 c_id, #5 c_name]",
            ],
        ),
        (
            "select o_status, count(*) filter (where o_id > 3) as n, max(o_price) + 1 as m"
            " from orders group by o_status",
            [
                "0 Aggregate [#3] [#3 #3, #4 count[1] if (#0 > 3), #5 add(max[#2], 1.0)]",
                "  1 Project [#0 o_id = #0, #2 o_price = #2, #3 o_status = #3]",
                f"    2 {ORDERS}",
            ],
        ),
        (
            "select sum(distinct o_cust) as n from orders",
            [
                "0 Aggregate [] [#4 sum[distinct #1]]",
                "  1 Project [#1 o_cust = #1]",
                f"    2 {ORDERS}",
            ],
        ),
        (
            "select first(o_id, true) as f, last(o_id) as g from orders",
            [
                "0 Aggregate [] [#4 first[#0, True], #5 last[#0]]",
                "  1 Project [#0 o_id = #0]",
                f"    2 {ORDERS}",
            ],
        ),
        (
            "select count(*) as n from orders",
            ["0 Aggregate [] [#4 count[1]]", "  1 Project []", f"    2 {ORDERS}"],
        ),
        (
            "select distinct o_cust from orders",
            ["0 Aggregate [#1] [#1 #1]", "  1 Project [#1 o_cust = #1]", f"    2 {ORDERS}"],
        ),
        (
            "select * from orders sort by o_id desc nulls first",
            ["0 Sort [#0 desc True] False", f"  1 {ORDERS}"],
        ),
        ("select * from orders limit 3", ["0 Limit 3", f"  2 {ORDERS}"]),
        ("select * from range(3)", ["0 Values 1"]),
        ("select * from values (1, 'x'), (2, 'y')", ["0 Values 2"]),
        ("select /*+ repartition(3) */ * from orders", [f"1 {ORDERS}"]),
    ],
)
def test_operators(tables: SparkSession, query: str, expected: list[str], lines: Lines) -> None:
    found = lines(read_dataframe(tables.sql(query)).plan)
    assert found == expected


def test_ids_are_unique_even_across_subqueries(tables: SparkSession) -> None:
    query = "select * from orders where o_price > (select avg(o_price) from orders)"
    captured = read_dataframe(tables.sql(query))
    scans = [node for node in nodes(captured.plan) if isinstance(node, Scan)]
    ids = [column.id for scan in scans for column in scan.columns]
    assert len(scans) == 2 and len(set(ids)) == len(ids)
    assert [scan.source for scan in scans] == [0, 0]
    assert len({node.at for node in nodes(captured.plan)}) == len(list(nodes(captured.plan)))
    assert set(ids) <= captured.expr_ids.keys()


def test_python_functions_are_opaque(tables: SparkSession) -> None:
    double = F.udf(lambda x: None if x is None else x * 2, "bigint")
    plan = read_dataframe(tables.table("orders").where(double("o_id") > 3)).plan
    opaque = [node for node in nodes(plan) if isinstance(node, Opaque)]
    assert [node.why for node in opaque] == ["it calls a Python function"]
    assert [type(child) for child in opaque[0].children] == [Scan]


def test_rows_from_python_are_a_source_of_unknown_identity(spark: SparkSession) -> None:
    rdd = spark.sparkContext.parallelize([(1, "x")])
    frame = spark.createDataFrame(rdd, "a int, b string")
    captured = read_dataframe(frame.join(frame.alias("other"), "a"))
    assert [source.format for source in captured.sources] == ["", ""]
    assert len({source.dataset for source in captured.sources}) == 2


def test_caches_are_seen_through(tables: SparkSession, lines: Lines) -> None:
    frame = tables.table("orders").where("o_id > 2").cache()
    try:
        frame.count()
        assert lines(read_dataframe(frame.select("o_id")).plan)[-1].endswith(ORDERS)
    finally:
        frame.unpersist()


def test_a_common_table_expression_is_seen_through(tables: SparkSession) -> None:
    query = (
        "with q as (select * from orders where o_id > 2) select * from q a join q b using (o_id)"
    )
    captured = read_dataframe(tables.sql(query))
    assert len(captured.sources) == 1 and len(captured.leaves) == 2
    assert not [node for node in nodes(captured.plan) if isinstance(node, Opaque)]


def test_file_metadata_is_opaque(spark: SparkSession, folder: Path) -> None:
    frame = spark.read.parquet(str(folder / "orders")).select("o_id", "_metadata.row_index")
    opaque = [n for n in nodes(read_dataframe(frame).plan) if isinstance(n, Opaque)]
    assert [(node.why, type(node.children[0])) for node in opaque] == [
        ("it reads file metadata", Scan)
    ]


def test_equal_queries_have_equal_plans_in_every_session(
    tables: SparkSession, folder: Path
) -> None:
    def digest(session: SparkSession, bound: int) -> str:
        orders = str(folder / "orders")
        frame = session.read.parquet(orders).where(f"o_id > {bound}").groupBy("o_status").count()
        return codec.digest(read_dataframe(frame).plan)

    assert digest(tables, 2) == digest(tables, 2) == digest(tables.newSession(), 2)
    assert digest(tables, 2) != digest(tables, 3)


def test_every_attribute_is_offered_below(tpch: SparkSession) -> None:
    """The invariant of the IR, on plans with every kind of operator."""
    from lineage_core.plan.traverse import column_ids

    for query in (Q3, Q4):
        for node in nodes(read_dataframe(tpch.sql(query)).plan):
            offered = {field.id for child in children(node) for field in output(child)}
            match node:
                case Filter() | Join():
                    assert column_ids(node.condition) <= offered
                case Project() | Aggregate():
                    assert all(column_ids(column.expr) <= offered for column in node.columns)
                case _:
                    assert children(node) or output(node)
