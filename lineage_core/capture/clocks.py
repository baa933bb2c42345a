"""The current time, kept out of the optimizer's reach.

The optimizer makes a constant of `current_timestamp()` and its like, with a rule that cannot be
excluded, and computes on with it; the user's own run of it makes another constant. So the functions
are replaced by attributes that no relation offers before it runs, and put back after: the plan then
says what it means, and still gives the time of its own run when it is executed.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from lineage_core.execute.jvm import EXPRESSIONS, items, java_class, scala_object, seq, simple_name

_FUNCTIONS = frozenset({"CurrentDate", "CurrentTime", "CurrentTimestamp", "LocalTimestamp", "Now"})


def hide(spark: SparkSession, plan: Any) -> tuple[Any, Any]:
    """Return a Java plan without functions of the current time, and what puts them back."""
    # A Scala map is a partial function, as a plan wants it to replace expressions.
    away = back = scala_object(spark, "scala.collection.immutable.Map").empty()
    pattern = java_class(spark, "org.apache.spark.sql.catalyst.trees.TreePattern").CURRENT_LIKE()
    for function in _functions(plan, pattern):
        attribute = _attribute(spark, function)
        away, back = away.updated(function, attribute), back.updated(attribute, function)
    return show(plan, away), back


def show(plan: Any, back: Any) -> Any:
    """Return `plan`, made of a plan without the functions, with them."""
    return plan if back.isEmpty() else plan.transformAllExpressionsWithSubqueries(back)


def _functions(plan: Any, pattern: Any) -> list[Any]:
    """Return the functions of the current time in a plan and its subqueries."""
    found: list[Any] = []
    plans: list[Any] = [plan]
    expressions: list[Any] = []
    while plans or expressions:
        is_plan = not expressions
        node = plans.pop() if is_plan else expressions.pop()
        if not node.containsPattern(pattern):
            continue
        if is_plan:
            plans.extend(items(node.children()) + items(node.subqueries()))
            expressions.extend(items(node.expressions()))
        else:
            expressions.extend(items(node.children()))
            if simple_name(node) in _FUNCTIONS and node not in found:
                found.append(node)
    return found


def _attribute(spark: SparkSession, function: Any) -> Any:
    named = scala_object(spark, f"{EXPRESSIONS}.NamedExpression")
    metadata = java_class(spark, "org.apache.spark.sql.types.Metadata").empty()
    return java_class(spark, f"{EXPRESSIONS}.AttributeReference")(
        "now", function.dataType(), False, metadata, named.newExprId(), seq(spark, [])
    )
