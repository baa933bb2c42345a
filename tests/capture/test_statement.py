"""A query that is only to be planned: nothing that its text says is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_core.capture.statement import plan
from lineage_core.errors import PredicateError


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO only_planned SELECT 1",
        "EXECUTE IMMEDIATE 'INSERT INTO only_planned SELECT 1'",
        "EXECUTE IMMEDIATE 'SELECT 1 AS n'",
        "BEGIN INSERT INTO only_planned SELECT 1; END",
        "BEGIN INSERT INTO only_planned SELECT 1; SELECT 1 AS n; END",
        "FROM (SELECT 1 AS n) INSERT INTO only_planned SELECT n INSERT INTO only_planned SELECT n",
        "CREATE OR REPLACE TEMPORARY VIEW only_planned_view AS SELECT 1 AS n",
        "TRUNCATE TABLE only_planned",
    ],
)
def test_a_statement_is_refused_and_not_run(spark: SparkSession, tmp_path: Path, text: str) -> None:
    spark.sql(f"CREATE TABLE only_planned (n INT) USING parquet LOCATION '{tmp_path / 'n'}'")
    try:
        spark.sql("INSERT INTO only_planned SELECT 7")
        with pytest.raises(PredicateError, match="command"):
            plan(spark, text)
        spark.catalog.refreshTable("only_planned")
        assert [row.n for row in spark.table("only_planned").collect()] == [7]
        assert not spark.catalog.tableExists("only_planned_view")
    finally:
        spark.sql("DROP TABLE only_planned")


@pytest.mark.parametrize(
    "text", ["VALUES (7)", "(SELECT 7) UNION (SELECT 7)", "WITH c AS (SELECT 7 AS n) TABLE c;"]
)
def test_queries_are_planned(spark: SparkSession, text: str) -> None:
    assert [row[0] for row in plan(spark, text).collect()] == [7]
