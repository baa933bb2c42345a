"""TPC-H, computed again: each whole plan as SQL gives Spark's rows on both engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from sqlglot import exp

from lineage_core.capture.catalyst import read_dataframe
from lineage_core.plan.relation import Scan
from lineage_core.plan.repeat import uncomputable, unrepeatable
from lineage_core.query.engines.choice import Engines
from lineage_core.query.plans import column_name, compile_plan
from lineage_core.query.protocol import Engine, value
from lineage_core.snapshot import ColumnType, Snapshot, take

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


@pytest.fixture(scope="module")
def snapshots(spark: SparkSession, tpch_001: Path) -> Iterator[dict[str, Snapshot]]:
    found = {}
    for table in TABLES:
        path = tpch_001 / f"{table}.parquet"
        view = spark.read.parquet(str(path))
        view.createOrReplaceTempView(table)
        fields = view.schema.jsonValue()["fields"]
        types = [ColumnType(field["name"], field["type"]) for field in fields]
        found[table] = take(path.as_uri(), "parquet", types, [(path.as_uri(), ())])
    yield found
    for table in TABLES:
        spark.catalog.dropTempView(table)


def _scan(scan: Scan, snapshot: Snapshot, engine: Engine) -> exp.Select:
    names = [column.name for column in snapshot.columns]
    ordinals = {field.id: names.index(field.name) for field in scan.columns}
    relation = engine.scan(snapshot, tuple(ordinals.values()), rids=False)
    columns = [
        exp.alias_(exp.column(value(ordinal)), column_name(id)) for id, ordinal in ordinals.items()
    ]
    return exp.select(*columns).from_(relation.subquery("s"))


def _bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return Counter(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


@pytest.mark.parametrize("number", range(1, 23))
def test_a_plan_gives_sparks_rows(
    spark: SparkSession,
    snapshots: dict[str, Snapshot],
    tpch_query: Callable[[int], str],
    number: int,
) -> None:
    df = spark.sql(tpch_query(number))
    plan = read_dataframe(df).plan
    assert uncomputable(plan) == ""
    expected = _bag(df.toArrow())
    assert expected
    engines = Engines()
    for name in ("duckdb", "spark"):

        def rows(engine: Engine) -> pa.Table:
            def leaf(scan: Scan) -> exp.Select:
                return _scan(scan, snapshots[Path(scan.name).stem], engine)

            return engine.run(compile_plan(plan, leaf, engine.dialect), {})

        assert _bag(engines.ask(name, rows)) == expected, name
    assert unrepeatable(plan) == "" or "LIMIT" in tpch_query(number).upper()
