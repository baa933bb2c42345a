"""The optimised copy of an analyzed Catalyst plan, without rewrites that serve only speed.

The session's own optimizer runs, so that subqueries become joins and projections are pruned as in
the user's job, but on a clone, and with the rules of `SPEED_ONLY` excluded: they would add
operators that have nothing to do with lineage, or hide what is read. Nor is the current time folded
into constants, which the user's own run of the optimizer makes different ones. The user's plan and
configuration stay as they were (DESIGN 4.1). Cost: about that of the user's own run of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from pyspark.sql import SparkSession

from lineage_core.capture import clocks
from lineage_core.execute.jvm import active

SPEED_ONLY = (
    "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
    "org.apache.spark.sql.catalyst.optimizer.DecimalAggregates",
    "org.apache.spark.sql.catalyst.optimizer.InferWindowGroupLimit",
    "org.apache.spark.sql.catalyst.optimizer.InjectRuntimeFilter",
    "org.apache.spark.sql.catalyst.optimizer.LimitPushDown",
    "org.apache.spark.sql.catalyst.optimizer.LimitPushDownThroughWindow",
    "org.apache.spark.sql.catalyst.optimizer.MergeScalarSubqueries",
    "org.apache.spark.sql.catalyst.optimizer.MergeSubplans",
    "org.apache.spark.sql.catalyst.optimizer.OptimizeIn",
    "org.apache.spark.sql.catalyst.optimizer.PushDownJoinThroughUnion",
    "org.apache.spark.sql.execution.OptimizeMetadataOnlyQuery",
    "org.apache.spark.sql.execution.datasources.PruneFileSourcePartitions",
    "org.apache.spark.sql.execution.datasources.PushVariantIntoScan",
    "org.apache.spark.sql.execution.datasources.SchemaPruning",
    "org.apache.spark.sql.execution.dynamicpruning.PartitionPruning",
)
"""Rules left out: they add runtime filters, merge or hide reads, change types of columns, or
compute what `clocks` has hidden.

Spark ignores the names of rules that it does not have.
"""

SINCE_4_2 = frozenset(
    {
        "org.apache.spark.sql.catalyst.optimizer.MergeSubplans",
        "org.apache.spark.sql.catalyst.optimizer.PushDownJoinThroughUnion",
    }
)
UNTIL_4_1 = frozenset({"org.apache.spark.sql.catalyst.optimizer.MergeScalarSubqueries"})
"""Those of `SPEED_ONLY` that only some versions of Spark have."""

_EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"

_configuration = Lock()  # held while a session's excluded rules are not what its user set


def optimise(spark: SparkSession, analyzed: Any) -> Any:
    """Return the optimised copy of `analyzed`; both are Java `LogicalPlan`s."""
    state = spark._jsparkSession.sessionState()
    with active(spark), _configuration, _without_rules(state.conf()):
        timeless, back = clocks.hide(spark, analyzed.clone())
        return clocks.show(state.optimizer().execute(timeless), back)


@contextmanager
def _without_rules(conf: Any) -> Iterator[None]:
    before = conf.getConfString(_EXCLUDED_RULES) if conf.contains(_EXCLUDED_RULES) else None
    rules = (*SPEED_ONLY, before) if before else SPEED_ONLY
    conf.setConfString(_EXCLUDED_RULES, ",".join(rules))
    try:
        yield
    finally:
        if before is None:
            conf.unsetConf(_EXCLUDED_RULES)
        else:
            conf.setConfString(_EXCLUDED_RULES, before)
