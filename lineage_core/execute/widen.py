"""Surgery on Java plans: making an operator offer attributes that projections below it dropped.

Nothing of an existing tree changes; each function returns a new tree over shared sub-trees.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pyspark.sql import SparkSession

from lineage_core.errors import UnsupportedError
from lineage_core.execute.jvm import LOGICAL, items, java_class, seq, simple_name

_HANDS_ON = frozenset(
    {
        "Filter",
        "Sort",
        "GlobalLimit",
        "LocalLimit",
        "Repartition",
        "RepartitionByExpression",
        "RebalancePartitions",
        "SubqueryAlias",
    }
)
"""Operators that offer exactly what their input offers."""


def attributes(plan: Any) -> dict[int, Any]:
    """Return the attributes a Java plan offers, by the number of their `exprId`."""
    return {int(a.exprId().id()): a for a in items(plan.output())}


def widen(spark: SparkSession, node: Any, wanted: Collection[int]) -> Any:
    """Return the Java plan `node` offering the attributes of ids `wanted` as well.

    Raises:
        UnsupportedError: an attribute is not to be had from below `node` without changing its rows.
    """
    missing = set(wanted) - attributes(node).keys()
    if not missing:
        return node
    name = simple_name(node)
    if name == "Project":
        return _widen_project(spark, node, missing)
    if name == "Aggregate":
        return _widen_aggregate(spark, node, missing)
    if name == "Join":
        return _widen_join(spark, node, missing)
    if name in _HANDS_ON:
        return with_children(spark, node, [widen(spark, node.child(), missing)])
    raise UnsupportedError(f"{name} cannot offer {len(missing)} columns that the lineage needs")


def with_children(spark: SparkSession, node: Any, children: list[Any]) -> Any:
    """Return a Java plan node over other children."""
    return node.withNewChildren(seq(spark, children))


def project(spark: SparkSession, expressions: list[Any], child: Any) -> Any:
    """Return a Java `Project`."""
    return java_class(spark, f"{LOGICAL}.Project")(seq(spark, expressions), child)


def _widen_project(spark: SparkSession, node: Any, missing: set[int]) -> Any:
    child = widen(spark, node.child(), missing)
    offered = attributes(child)
    added = [offered[id] for id in sorted(missing)]
    return project(spark, items(node.projectList()) + added, child)


def _widen_aggregate(spark: SparkSession, node: Any, missing: set[int]) -> Any:
    keys = {
        int(key.exprId().id()): key
        for key in items(node.groupingExpressions())
        if simple_name(key) == "AttributeReference"
    }
    if not missing <= keys.keys():
        raise UnsupportedError("Aggregate cannot offer columns it does not group by")
    columns = items(node.aggregateExpressions()) + [keys[id] for id in sorted(missing)]
    return java_class(spark, f"{LOGICAL}.Aggregate")(
        node.groupingExpressions(), seq(spark, columns), node.child(), node.hint()
    )


def _widen_join(spark: SparkSession, node: Any, missing: set[int]) -> Any:
    kind = str(node.joinType().toString())
    if kind == "LeftSemi":
        return with_children(spark, node, [widen(spark, node.left(), missing), node.right()])
    if kind not in ("Inner", "Cross"):
        raise UnsupportedError(f"{kind} join cannot offer columns that were dropped below it")
    left = {id for id in missing if _can_offer(node.left(), id)}
    return with_children(
        spark,
        node,
        [widen(spark, node.left(), left), widen(spark, node.right(), missing - left)],
    )


def _can_offer(node: Any, id: int) -> bool:
    """Whether the attribute is offered somewhere in the sub-tree: ids are unique in a plan."""
    stack = [node]
    while stack:
        current = stack.pop()
        if id in attributes(current):
            return True
        stack.extend(items(current.children()))
    return False
