"""The optimised copy: rules that serve speed are out, the session's configuration stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_core.capture import read_dataframe
from lineage_core.capture.optimise import SINCE_4_2, SPEED_ONLY, UNTIL_4_1
from lineage_core.execute.jvm import items
from lineage_core.plan.relation import Opaque
from lineage_core.plan.traverse import nodes

_EXCLUDED = "spark.sql.optimizer.excludedRules"


@contextmanager
def configured(spark: SparkSession, **values: str) -> Iterator[None]:
    """Set options (`_` for `.`) and put back what was there."""
    options = {name.replace("_", "."): value for name, value in values.items()}
    conf = spark._jsparkSession.sessionState().conf()
    before = {n: str(conf.getConfString(n)) for n in options if conf.contains(n)}
    try:
        for name, value in options.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name in options:
            spark.conf.unset(name)
        for name, value in before.items():
            spark.conf.set(name, value)


def test_every_excluded_rule_is_one_of_this_spark(spark: SparkSession) -> None:
    optimizer = spark._jsparkSession.sessionState().optimizer()
    rules = {
        str(rule.ruleName())
        for batch in items(optimizer.batches())
        for rule in items(batch.rules())
    }
    newer = tuple(map(int, spark.version.split(".")[:2])) >= (4, 2)
    assert set(SPEED_ONLY) - rules == (UNTIL_4_1 if newer else SINCE_4_2)
    assert not set(SPEED_ONLY) & set(items(optimizer.nonExcludableRules()))


def test_the_configuration_is_as_before(tables: SparkSession) -> None:
    assert tables.conf.get(_EXCLUDED, None) is None
    read_dataframe(tables.table("orders"))
    assert not tables._jsparkSession.sessionState().conf().contains(_EXCLUDED)
    mine = "org.apache.spark.sql.catalyst.optimizer.ColumnPruning"
    with configured(tables, spark_sql_optimizer_excludedRules=mine):
        read_dataframe(tables.table("orders"))
        assert tables.conf.get(_EXCLUDED) == mine


def test_the_configuration_is_as_before_when_the_optimizer_fails(
    tables: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = tables.table("orders")._jdf.queryExecution().analyzed()

    class Broken:
        def clone(self) -> object:
            assert tables._jsparkSession.sessionState().conf().contains(_EXCLUDED)
            raise RuntimeError(plan)

    from lineage_core.capture.optimise import optimise

    with pytest.raises(RuntimeError):
        optimise(tables, Broken())
    assert not tables._jsparkSession.sessionState().conf().contains(_EXCLUDED)


def test_runtime_filters_do_not_show(spark: SparkSession, tmp_path: Path) -> None:
    """A partitioned star: Spark's own plan prunes partitions at run time, the captured one not."""
    fact, dimension = str(tmp_path / "fact"), str(tmp_path / "dimension")
    spark.range(400).selectExpr("id", "id % 4 AS k", "id % 7 AS v").write.partitionBy("k").parquet(
        fact
    )
    spark.range(4).selectExpr("id AS k", "id * 2 AS w").write.parquet(dimension)
    options = {
        "spark_sql_autoBroadcastJoinThreshold": "-1",
        "spark_sql_optimizer_dynamicPartitionPruning_reuseBroadcastOnly": "false",
        "spark_sql_optimizer_runtime_bloomFilter_applicationSideScanSizeThreshold": "1",
        "spark_sql_optimizer_runtime_bloomFilter_creationSideThreshold": "1g",
    }
    with configured(spark, **options):
        f, d = spark.read.parquet(fact), spark.read.parquet(dimension)
        joined = f.join(d, "k").where("w > 2").groupBy("v").count()
        own = joined._jdf.queryExecution().optimizedPlan().toString()
        assert "dynamicpruning" in own or "might_contain" in own
        plan = read_dataframe(joined).plan
    assert not [node for node in nodes(plan) if isinstance(node, Opaque)]
