"""`row-lineage query` on a captured shop."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Run = Callable[..., Any]

DANISH = (
    "select order_id, sum(price) as total from backward('revenue', 'lines', where => $w)"
    " where price > $least group by 1 order by 1"
)
GIVEN = ("--param", "w=country = 'DK'", "--param", "least=5")


def test_a_query_as_json(shop: Any, row_lineage: Run) -> None:
    ended = row_lineage("query", DANISH, *GIVEN, "--format=json")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == {
        "precision": "exact",
        "reasons": [],
        "rows": [{"order_id": 1, "total": "30"}],
    } or json.loads(ended.out)["rows"] == [{"order_id": 1, "total": 30}]


def test_a_query_for_people_says_how_exact_it_is(shop: Any, row_lineage: Run) -> None:
    ended = row_lineage("query", DANISH, *GIVEN)
    assert ended.code == 0 and "Precision: exact" in ended.out and "30" in ended.out


def test_a_query_as_csv_and_parquet(shop: Any, row_lineage: Run, tmp_path: Path) -> None:
    sql = "select country from backward('danish', 'orders') order by 1"
    ended = row_lineage("query", sql, "--format=csv")
    assert list(csv.DictReader(io.StringIO(ended.out))) == [{"country": "DK"}] * 2
    path = tmp_path / "rows.parquet"
    assert row_lineage("query", sql, "--format=parquet", "--output", str(path)).code == 0
    assert pq.read_table(path).to_pylist() == [{"country": "DK"}] * 2


def test_parameters_are_json_or_text(shop: Any, row_lineage: Run) -> None:
    sql = "select typeof($a) as a, typeof($b) as b, typeof($c) as c, $d as d"
    given = ("a=1", 'b="1"', "c=x=y", "d=null")
    options = [part for each in given for part in ("--param", each)]
    ended = row_lineage("query", sql, *options, "--format=json")
    (row,) = json.loads(ended.out)["rows"]
    assert "INT" in row["a"] and row["b"] == row["c"] != row["a"] and row["d"] is None
    rids = row_lineage("query", "select rid from backward('danish', 'revenue', rids=>?, hops=>1)",
                       "--param", "1=[0]", "--format=json")  # fmt: skip
    assert rids.code == 0 and len(json.loads(rids.out)["rows"]) == 1


def test_what_a_query_may_not_do(shop: Any, row_lineage: Run) -> None:
    for sql in ("select * from '/etc/passwd'", "drop table t", "select getenv('HOME')"):
        ended = row_lineage("query", sql)
        assert ended.code == 2 and "Hint" in ended.err and not ended.out
    assert row_lineage("query", "select $a", "--param", "b=1").code == 2
