"""Golden plans of every relational operator; nothing is opaque, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import reduce

import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lineage_core import codec
from lineage_core.capture import CapturedPlan, read_dataframe
from lineage_core.execute.jvm import preorder
from lineage_core.plan.expr import Expr, IsIn, Literal, Unknown
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    Union,
    children,
    output,
)
from lineage_core.plan.relation import Window as WindowNode
from lineage_core.plan.traverse import column_ids, nodes, walk

Lines = Callable[[Plan], list[str]]
Frame = Callable[[SparkSession], DataFrame]

_FIRST = "[#0 o_id, #1 o_cust, #2 o_price, #3 o_status]"

_CASES = [
    (
        "select o_id, c_name from orders left join customers on o_cust = c_id",
        [
            "0 Project [#0 o_id = #0, #5 c_name = #5]",
            "  1 Join left_outer (#1 = #4)",
            "    2 Project [#0 o_id = #0, #1 o_cust = #1]",
            "      3 Scan 0 orders [..]",
            "    4 Filter not null?(#4)",
            "      5 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id, c_name from orders right join customers on o_cust = c_id and o_price > 3",
        [
            "0 Project [#0 o_id = #0, #5 c_name = #5]",
            "  1 Join right_outer (#1 = #4)",
            "    2 Project [#0 o_id = #0, #1 o_cust = #1]",
            "      3 Filter not null?(#2) And (#2 > 3.0) And not null?(#1)",
            "        4 Scan 0 orders [..]",
            "    5 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id, c_name from orders full join customers on o_cust < c_id",
        [
            "0 Project [#0 o_id = #0, #5 c_name = #5]",
            "  1 Join full_outer (#1 < #4)",
            "    2 Project [#0 o_id = #0, #1 o_cust = #1]",
            "      3 Scan 0 orders [..]",
            "    4 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id from orders left anti join customers on o_cust = c_id",
        [
            "0 Project [#0 o_id = #0]",
            "  1 Join left_anti (#1 = #4)",
            "    2 Project [#0 o_id = #0, #1 o_cust = #1]",
            "      3 Scan 0 orders [..]",
            "    4 Project [#4 c_id = #4]",
            "      5 Filter not null?(#4)",
            "        6 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id from orders where o_cust not in (select c_id from customers)",
        [
            "0 Project [#0 o_id = #0]",
            "  1 Join left_anti (#1 = #4) Or null?((#1 = #4))",
            "    2 Project [#0 o_id = #0, #1 o_cust = #1]",
            "      3 Scan 0 orders [..]",
            "    4 Project [#4 c_id = #4]",
            "      5 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id, o_cust in (select c_id from customers) as e from orders",
        [
            "0 Project [#0 o_id = #0, #7 e = #6]",
            "  1 Join existence (#1 = #4) #6",
            "    2 Project [#0 o_id = #0, #1 o_cust = #1]",
            "      3 Scan 0 orders [..]",
            "    4 Project [#4 c_id = #4]",
            "      5 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id, (select c_name from customers where c_id = o_cust) as n from orders",
        [
            "0 Project [#0 o_id = #0, #6 n = #5]",
            "  1 Join left_outer (#4 = #1)",
            "    2 Project [#0 o_id = #0, #1 o_cust = #1]",
            "      3 Scan 0 orders [..]",
            "    4 Project [#5 c_name = #5, #4 c_id = #4]",
            "      5 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id as x from orders union all select c_id from customers",
        [
            "0 Union [#7 x] of [#4] [#5]",
            "  1 Project [#4 x = #0]",
            "    2 Scan 0 orders [..]",
            "  3 Project [#5 c_id = #5]",
            "    4 Scan 1 customers [#5 c_id, #6 c_name]",
        ],
    ),
    (
        "select o_id from orders union select c_id from customers",
        [
            "0 Aggregate [#6] [#6 #6]",
            "  1 Union [#6 o_id] of [#0] [#4]",
            "    2 Project [#0 o_id = #0]",
            "      3 Scan 0 orders [..]",
            "    4 Project [#4 c_id = #4]",
            "      5 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "with q as (select o_id, o_cust from orders) select o_cust from q union all "
        "select o_id from q",
        [
            "0 Union [#8 o_cust] of [#1] [#4]",
            "  1 Project [#1 o_cust = #1]",
            "    2 Scan 0 orders [..]",
            "  3 Project [#4 o_id = #4]",
            "    4 Scan 0 orders [#4 o_id, #5 o_cust, #6 o_price, #7 o_status]",
        ],
    ),
    (
        "select o_id from orders intersect select c_id from customers",
        [
            "0 Aggregate [#0] [#0 #0]",
            "  1 Join left_semi (#0 <=> #4)",
            "    2 Project [#0 o_id = #0]",
            "      3 Scan 0 orders [..]",
            "    4 Project [#4 c_id = #4]",
            "      5 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id from orders except select c_id from customers",
        [
            "0 Aggregate [#0] [#0 #0]",
            "  1 Join left_anti (#0 <=> #4)",
            "    2 Project [#0 o_id = #0]",
            "      3 Scan 0 orders [..]",
            "    4 Project [#4 c_id = #4]",
            "      5 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id from orders except all select c_id from customers",
        [
            "0 Project [#9 o_id = #9]",
            "  1 Generate replicate_rows(#10, #9) [#9 o_id] [#11 o_id]",
            "    2 Filter not null?(#10) And (#10 > 0)",
            "      3 Aggregate [#9] [#9 #9, #10 sum[#8]]",
            "        4 Union [#8 vcol, #9 o_id] of [#4, #0] [#7, #5]",
            "          5 Project [#4 vcol = 1, #0 o_id = #0]",
            "            6 Scan 0 orders [..]",
            "          7 Project [#7 vcol = -1, #5 c_id = #5]",
            "            8 Scan 1 customers [#5 c_id, #6 c_name]",
        ],
    ),
    (
        "select o_cust, o_status, count(*) as n from orders group by rollup(o_cust, o_status)",
        [
            "0 Aggregate [#4, #5, #6] [#4 #4, #5 #5, #7 count[1]]",
            "  1 Expand [#4 o_cust, #5 o_status, #6 spark_grouping_id] of [#1, #3, 0] "
            "[#1, None, 1] [None, None, 3]",
            "    2 Project [#1 o_cust = #1, #3 o_status = #3]",
            "      3 Scan 0 orders [..]",
        ],
    ),
    (
        "select * from (select o_id, o_cust, o_id as z from orders) unpivot (v for k in "
        "(o_cust, z))",
        [
            "0 Filter not null?(#6)",
            "  1 Expand [#0 o_id, #5 k, #6 v] of [#0, 'o_cust', #1] [#0, 'z', #4]",
            "    2 Project [#0 o_id = #0, #1 o_cust = #1, #4 z = #0]",
            "      3 Scan 0 orders [..]",
        ],
    ),
    (
        "select o_id, x from orders lateral view explode(array(o_id, o_cust)) as x",
        [
            "0 Generate explode(array(#0, #1)) [#0 o_id] [#4 x]",
            "  1 Project [#0 o_id = #0, #1 o_cust = #1]",
            "    2 Scan 0 orders [..]",
        ],
    ),
    (
        "select o_id, p, x from orders lateral view outer posexplode(array(o_cust)) as p, x",
        [
            "0 Generate outer posexplode(array(#1)) [#0 o_id] [#4 p, #5 x]",
            "  1 Project [#0 o_id = #0, #1 o_cust = #1]",
            "    2 Scan 0 orders [..]",
        ],
    ),
    (
        "select stack(2, o_id, o_cust) as x from orders",
        [
            "0 Generate stack(2, #0, #1) [] [#4 x]",
            "  1 Project [#0 o_id = #0, #1 o_cust = #1]",
            "    2 Scan 0 orders [..]",
        ],
    ),
    (
        "select inline(array(struct(o_id, o_status))) from orders",
        [
            "0 Generate inline(array(named_struct('o_id', #0, 'o_status', #3))) [] [#4 "
            "o_id, #5 o_status]",
            "  1 Project [#0 o_id = #0, #3 o_status = #3]",
            "    2 Scan 0 orders [..]",
        ],
    ),
    (
        "select o_id, x from orders lateral view json_tuple(o_status, 'a') as x",
        [
            "0 Generate json_tuple(#3, 'a') [#0 o_id] [#4 x]",
            "  1 Project [#0 o_id = #0, #3 o_status = #3]",
            "    2 Scan 0 orders [..]",
        ],
    ),
    (
        "select o_id, sum(o_price) over (partition by o_cust order by o_id rows between 2 "
        "preceding and current row) as s, rank() over (partition by o_cust order by o_id) "
        "as r, lag(o_id, 2) over (partition by o_cust order by o_id) as l, count(*) over "
        "(partition by o_cust) as n from orders",
        [
            "0 Project [#0 o_id = #0, #4 s = #4, #5 r = #5, #6 l = #6, #7 n = #7]",
            "  1 Window [#1] [] [#7 count(1) over rows *..*]",
            "    2 Project [#0 o_id = #0, #1 o_cust = #1, #4 s = #4, #5 r = #5, #6 l = #6]",
            "      3 Window [#1] [#0 asc True] [#4 sum(#2) over rows -2..0, #5 rank() "
            "over rows *..0, #6 lag(#0, 2, None) over rows -2..-2]",
            "        4 Project [#0 o_id = #0, #2 o_price = #2, #1 o_cust = #1]",
            "          5 Scan 0 orders [..]",
        ],
    ),
    (
        "select first_value(o_id) ignore nulls over (order by o_price desc range between "
        "1.5 preceding and unbounded following) as f, ntile(3) over (order by o_id) as t, "
        "lead(o_id) ignore nulls over (order by o_id) as l, max(o_id) over (partition by "
        "o_status) as m from orders",
        [
            "0 Project [#4 f = #4, #5 t = #5, #6 l = #6, #7 m = #7]",
            "  1 Window [#3] [] [#7 max(#0) over rows *..*]",
            "    2 Window [] [#0 asc True] [#5 ntile(3) over rows *..0, #6 lead(#0, 1, "
            "None) over rows 1..* skip nulls]",
            "      3 Project [#0 o_id = #0, #3 o_status = #3, #4 f = #4]",
            "        4 Window [] [#2 desc False] [#4 first(#0) over range -1.5..* skip nulls]",
            "          5 Project [#0 o_id = #0, #2 o_price = #2, #3 o_status = #3]",
            "            6 Scan 0 orders [..]",
        ],
    ),
    (
        "select * from orders order by o_id limit 3 offset 2",
        [
            "0 Limit 3",
            "  2 Offset 2",
            "    3 Sort [#0 asc True] True",
            "      4 Scan 0 orders [..]",
        ],
    ),
    (
        "select * from orders tablesample (50 percent)",
        [
            "0 Filter sample()",
            "  1 Scan 0 orders [..]",
        ],
    ),
    (
        "select o_id from orders where o_price > (select avg(c_id) from customers)",
        [
            "0 Project [#0 o_id = #0]",
            "  1 Project [#0 o_id = #0, #1 o_cust = #1, #2 o_price = #2, #3 o_status = #3]",
            "    7 Filter not null?(#2) And (#2 > #6)",
            "      6 Join left_outer True",
            "        2 Scan 0 orders [..]",
            "        3 Aggregate [] [#6 avg[#4]]",
            "          4 Project [#4 c_id = #4]",
            "            5 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id, (select max(c_id) from customers) as m from orders",
        [
            "0 Project [#0 o_id = #0, #8 m = #6]",
            "  5 Join left_outer True",
            "    1 Scan 0 orders [..]",
            "    2 Aggregate [] [#6 max[#4]]",
            "      3 Project [#4 c_id = #4]",
            "        4 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_cust, sum(o_price) / (select max(c_id) from customers) as s from orders "
        "group by o_cust",
        [
            "0 Project [#1 o_cust = #1, #8 s = divide(#9, cast(#6))]",
            "  7 Join left_outer True",
            "    6 Aggregate [#1] [#1 #1, #9 sum[#2]]",
            "      1 Project [#1 o_cust = #1, #2 o_price = #2]",
            "        2 Scan 0 orders [..]",
            "    3 Aggregate [] [#6 max[#4]]",
            "      4 Project [#4 c_id = #4]",
            "        5 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id from orders where exists (select * from customers)",
        [
            "0 Project [#0 o_id = #0]",
            "  1 Project [#0 o_id = #0, #1 o_cust = #1, #2 o_price = #2, #3 o_status = #3]",
            "    8 Filter (#7 <=> True)",
            "      7 Join existence True #7",
            "        2 Scan 0 orders [..]",
            "        6 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id from orders left join customers on o_id = c_id and o_cust > (select "
        "max(c_id) from customers)",
        [
            "0 Project [#0 o_id = #0]",
            "  1 Project [#0 o_id = #0, #1 o_cust = #1, #4 c_id = #4]",
            "    11 Join left_outer (#1 > #8) And (#0 = #4)",
            "      10 Join left_outer True",
            "        2 Project [#0 o_id = #0, #1 o_cust = #1]",
            "          3 Scan 0 orders [..]",
            "        7 Aggregate [] [#8 max[#6]]",
            "          8 Project [#6 c_id = #6]",
            "            9 Scan 1 customers [#6 c_id, #7 c_name]",
            "      4 Project [#4 c_id = #4]",
            "        5 Filter not null?(#4)",
            "          6 Scan 1 customers [#4 c_id, #5 c_name]",
        ],
    ),
    (
        "select o_id from orders where o_id > (select max(c_id) from customers where c_id "
        "< (select avg(o_cust) from orders))",
        [
            "0 Project [#0 o_id = #0]",
            "  1 Project [#0 o_id = #0, #1 o_cust = #1, #2 o_price = #2, #3 o_status = #3]",
            "    13 Filter not null?(#0) And (#0 > #12)",
            "      12 Join left_outer True",
            "        2 Scan 0 orders [..]",
            "        3 Aggregate [] [#12 max[#4]]",
            "          4 Project [#4 c_id = #4]",
            "            5 Project [#4 c_id = #4, #5 c_name = #5]",
            "              11 Filter not null?(#4) And (cast(#4) < #10)",
            "                10 Join left_outer True",
            "                  6 Scan 1 customers [#4 c_id, #5 c_name]",
            "                  7 Aggregate [] [#10 avg[#7]]",
            "                    8 Project [#7 o_cust = #7]",
            "                      9 Scan 0 orders [#6 o_id, #7 o_cust, #8 o_price, #9 o_status]",
        ],
    ),
    (
        "select * from (select o_cust, o_status, o_price from orders) pivot (sum(o_price) "
        "for o_status in ('a', 'b'))",
        [
            "0 Project [#1 o_cust = #1, #6 a = get(#5, 0), #7 b = get(#5, 1)]",
            "  1 Aggregate [#1] [#1 #1, #5 pivot_first[#3, #4]]",
            "    2 Aggregate [#1, #3] [#1 #1, #3 #3, #4 sum[#2]]",
            "      3 Project [#1 o_cust = #1, #3 o_status = #3, #2 o_price = #2]",
            "        4 Scan 0 orders [..]",
        ],
    ),
    (
        "select o_id from orders where o_id < year(current_date())",
        [
            "0 Project [#0 o_id = #0]",
            "  1 Filter not null?(#0) And (#0 < cast(year(current_date())))",
            "    2 Scan 0 orders [..]",
        ],
    ),
    (
        "select o_id, rand(1) as r from orders where uuid() > 'a'",
        [
            "0 Project [#0 o_id = #0, #4 r = rand(1)]",
            "  1 Filter (uuid() > 'a')",
            "    2 Scan 0 orders [..]",
        ],
    ),
]
"""Queries and their plans, where `[..]` stands for the columns of the first scan."""


@pytest.mark.parametrize(("query", "expected"), _CASES, ids=range(len(_CASES)))
def test_golden_plans(tables: SparkSession, lines: Lines, query: str, expected: list[str]) -> None:
    captured = read_dataframe(tables.sql(query))
    assert [line.replace(_FIRST, "[..]") for line in lines(captured.plan)] == expected
    check(captured)


def test_distinct_counts_of_several_columns(tables: SparkSession, lines: Lines) -> None:
    """Spark numbers the columns in an order of its own, which differs from session to session."""
    query = "select count(distinct o_cust) as a, count(distinct o_status) as b from orders"
    captured = read_dataframe(tables.sql(query))
    found = [line.replace(_FIRST, "[..]") for line in lines(captured.plan)]
    project = "      3 Project [#1 o_cust = #1, #3 o_status = #3]"
    assert found[1] == "  1 Aggregate [#4, #5, #6] [#4 #4, #5 #5, #6 #6]"
    assert (found[0], found[2]) in (
        (
            "0 Aggregate [] [#7 count[#4] if (#6 = 1), #8 count[#5] if (#6 = 2)]",
            "    2 Expand [#4 orders.o_cust, #5 orders.o_status, #6 gid] "
            "of [#1, None, 1] [None, #3, 2]",
        ),
        (
            "0 Aggregate [] [#7 count[#5] if (#6 = 2), #8 count[#4] if (#6 = 1)]",
            "    2 Expand [#4 orders.o_status, #5 orders.o_cust, #6 gid] "
            "of [#3, None, 1] [None, #1, 2]",
        ),
    )
    assert found[3:] == [project, "        4 Scan 0 orders [..]"]
    check(captured)


def check(captured: CapturedPlan) -> None:
    """Hold a plan against what the IR promises, and against Catalyst's plan."""
    found = list(nodes(captured.plan))
    assert not [node for node in found if isinstance(node, Opaque)]
    assert {n.source for n in found if isinstance(n, Scan)} == set(range(len(captured.sources)))
    assert len({node.at for node in found}) == len(found)
    made = [id for node in found for id in _made(node)]
    assert len(set(made)) == len(made)
    java = preorder(SparkSession.active(), captured.java)
    for node in found:
        offered = {field.id for child in children(node) for field in output(child)}
        assert {id for expr in _expressions(node) for id in column_ids(expr)} <= offered
        if node.at < len(java):
            attributes = java[node.at].output()
            ids = [attributes.apply(i).exprId().id() for i in range(attributes.size())]
            assert [captured.expr_ids[field.id] for field in output(node)] == ids


def _made(node: Plan) -> set[int]:
    """Return the columns that no input of an operator offers."""
    return {f.id for f in output(node)} - {f.id for c in children(node) for f in output(c)}


def _expressions(node: Plan) -> list[Expr]:
    match node:
        case Filter() | Join():
            return [node.condition]
        case Project():
            return [column.expr for column in node.columns]
        case Aggregate():
            return [*node.keys, *(column.expr for column in node.columns)]
        case Expand():
            return [expr for values in node.projections for expr in values]
        case Generate():
            return [node.generator]
        case Sort():
            return [key.expr for key in node.keys]
        case WindowNode():
            order = [key.expr for key in node.order]
            return [*node.partition, *order, *(column.expr for column in node.columns)]
        case _:
            return []


@pytest.mark.parametrize(
    ("frame", "query"),
    [
        (
            lambda s: s.table("orders").join(s.table("customers"), F.expr("o_cust = c_id"), "full"),
            "select * from orders full join customers on o_cust = c_id",
        ),
        (
            lambda s: s.table("orders").crossJoin(s.table("customers").select("c_name")),
            "select * from orders cross join (select c_name from customers)",
        ),
        (
            lambda s: (
                s.table("orders")
                .select(F.col("o_id").alias("x"))
                .unionByName(s.table("customers").select(F.col("c_id").alias("x")))
            ),
            "select o_id as x from orders union all select c_id as x from customers",
        ),
        (
            lambda s: (
                s.table("orders").select("o_id").exceptAll(s.table("customers").select("c_id"))
            ),
            "select o_id from orders except all select c_id from customers",
        ),
        (
            lambda s: s.table("orders").rollup("o_cust").agg(F.countDistinct("o_id").alias("n")),
            "select o_cust, count(distinct o_id) as n from orders group by rollup(o_cust)",
        ),
        (
            lambda s: s.table("orders").select(
                "o_id", F.explode_outer(F.array("o_cust")).alias("x")
            ),
            "select o_id, explode_outer(array(o_cust)) as x from orders",
        ),
        (
            lambda s: s.table("orders").select(
                F.lag("o_id", 2).over(Window.partitionBy("o_cust").orderBy("o_id")).alias("l")
            ),
            "select lag(o_id, 2) over (partition by o_cust order by o_id) as l from orders",
        ),
        (
            lambda s: s.table("orders").orderBy("o_id").offset(1).limit(2),
            "select * from orders order by o_id limit 2 offset 1",
        ),
    ],
    ids=range(8),
)
def test_frames_are_read_as_their_sql(tables: SparkSession, frame: Frame, query: str) -> None:
    captured = read_dataframe(frame(tables))
    assert codec.digest(captured.plan) == codec.digest(read_dataframe(tables.sql(query)).plan)
    check(captured)


def test_only_frames_drop_duplicates_by_some_columns(tables: SparkSession, lines: Lines) -> None:
    found = read_dataframe(tables.table("orders").dropDuplicates(["o_cust"]))
    assert lines(found.plan)[0].startswith("0 Aggregate [#1] ")
    assert "first[#0]" in lines(found.plan)[0]
    check(found)


def test_samples_with_replacement(tables: SparkSession) -> None:
    plan = read_dataframe(tables.table("orders").sample(True, 0.5, 1)).plan
    assert isinstance(plan, Filter)
    assert plan.condition == Unknown("sample", (), "boolean", False)


def test_a_union_of_a_table_with_itself_tells_its_inputs_apart(tables: SparkSession) -> None:
    orders = tables.table("orders")
    captured = read_dataframe(orders.union(orders).where("o_id > 3").union(orders))
    union = captured.plan
    assert isinstance(union, Union)
    ids = [id for taken in union.taken for id in taken]
    assert len(set(ids)) == len(ids) and not set(ids) & {f.id for f in union.columns}
    check(captured)


def test_one_expression_that_asks_twice_joins_once(tables: SparkSession) -> None:
    frame = tables.sql(
        "select o_id from (select o_id, (select max(c_id) from customers) as m from orders)"
        " where m > 1 and m < o_id"
    )
    captured = read_dataframe(frame)
    check(captured)
    conditions = [n for n in nodes(captured.plan) if isinstance(n, Filter)]
    joins = [n for n in nodes(captured.plan) if isinstance(n, Join)]
    assert len(joins) <= len(conditions)


@pytest.mark.parametrize("function", ["current_timestamp()", "now()", "current_date()"])
def test_the_current_time_is_no_constant(tables: SparkSession, function: str) -> None:
    query = f"select o_id, {function} as t from orders where year({function}) > o_id + 1"
    captured = read_dataframe(tables.sql(query))
    moments = [
        expr
        for node in nodes(captured.plan)
        for root in _expressions(node)
        for expr in walk(root)
        if isinstance(expr, Unknown) and not expr.deterministic
    ]
    assert len(moments) == 2
    assert function.split("(")[0] in str(captured.java.toString())
    years = [
        expr.value
        for node in nodes(captured.plan)
        for root in _expressions(node)
        for expr in walk(root)
        if isinstance(expr, Literal) and expr.type != "string"
    ]
    assert years == [1], "no year of a time but the 1 of the query; a zone is text"


def test_the_current_time_in_a_subquery_and_in_rows_of_no_table(tables: SparkSession) -> None:
    query = (
        "select a.d, (select max(o_id) from orders where o_id < year(now())) as m"
        " from (select current_date() - 1 as d) a"
    )
    captured = read_dataframe(tables.sql(query))
    check(captured)
    names = {
        expr.name
        for node in nodes(captured.plan)
        for root in _expressions(node)
        for expr in walk(root)
        if isinstance(expr, Unknown) and not expr.deterministic
    }
    assert names == {"current_date", "now"}


def _columns(frame: DataFrame, step: int) -> DataFrame:
    return frame.withColumn(f"n{step % 5}", F.col("o_id") + step)


def _filters(frame: DataFrame, step: int) -> DataFrame:
    return frame.where(F.rand(step) < 0.5)  # which Spark does not merge


def _unions(frame: DataFrame, step: int) -> DataFrame:
    other = frame.sparkSession.table("orders").where(F.col("o_cust") == step)
    return frame.unionAll(other)


@pytest.mark.parametrize(
    ("grow", "kind", "number"), [(_columns, Scan, 1), (_filters, Filter, 300), (_unions, Scan, 301)]
)
def test_300_operators(
    tables: SparkSession,
    grow: Callable[[DataFrame, int], DataFrame],
    kind: type[Plan],
    number: int,
) -> None:
    frame = reduce(grow, range(300), tables.table("orders"))
    before = time.perf_counter()
    captured = read_dataframe(frame)
    assert time.perf_counter() - before < 60  # a few seconds, but for a busy machine
    assert sum(isinstance(node, kind) for node in nodes(captured.plan)) == number
    check(captured)


def test_2000_values(tables: SparkSession) -> None:
    values = ", ".join(map(str, range(2000)))
    plan = read_dataframe(tables.sql(f"select * from orders where o_id in ({values})")).plan
    assert isinstance(plan, Filter) and isinstance(plan.condition, IsIn)
    assert len(plan.condition.values) == 2000
