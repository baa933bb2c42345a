"""Whether an intermediate is saved in the user's job (inject) or computed again after it (defer).

Defer leaves the user's job alone and is the default. Inject is chosen where computing again would
be wrong, and where it costs far more than saving: what is saved is small, what is below is big.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from lineage_core.errors import UnsupportedError
from lineage_core.execute.jvm import items, simple_name
from lineage_core.plan.expr import AggregateCall, Expr, Unknown, data_type
from lineage_core.plan.relation import Aggregate, Filter, Join, Limit, Opaque, Plan, Project
from lineage_core.plan.traverse import nodes, walk
from lineage_core.store.manifest import Materialize

_SMALL = 32 << 20
"""Bytes (by Spark's estimate) of an intermediate that may be written and read again in passing."""

_ORDERLESS = frozenset({"count", "max", "min"})
"""Aggregate functions of which the order of rows makes no difference, whatever the type."""

_SHARE = 20
"""How many times bigger than an intermediate its sources must be, for saving to be cheaper."""


def choose(wish: Materialize, plan: Plan, node: Any, *, can_inject: bool) -> Materialize:
    """Return `INJECT` or `DEFER` for an intermediate.

    Args:
        wish: what the user asked for.
        plan: the IR of the sub-plan whose output is saved.
        node: the Java plan of the same.
        can_inject: whether the user's write can be given another plan at all.

    Raises:
        UnsupportedError: the sub-plan gives other rows each time, and cannot be saved as it runs.
    """
    why = unrepeatable(plan)
    if why and (not can_inject or wish is Materialize.DEFER):
        raise UnsupportedError(f"{why}: its rows cannot be computed again to save them")
    if not can_inject or wish is Materialize.DEFER:
        return Materialize.DEFER
    if why or wish is Materialize.INJECT or _is_cheap(node):
        return Materialize.INJECT
    return Materialize.DEFER


def unrepeatable(plan: Plan) -> str:
    """Return why computing `plan` twice may give different rows; empty if it cannot."""
    for node in nodes(plan):
        if any(_is_random(expr) for expr in _expressions(node)):
            return f"operator {node.at} is not deterministic"
        if isinstance(node, Aggregate) and any(_depends_on_order(c.expr) for c in node.columns):
            return f"operator {node.at} aggregates in no fixed order"
        if isinstance(node, Limit):  # even sorted: which of the rows that tie it takes is not fixed
            return f"operator {node.at} takes any rows"
        if isinstance(node, Opaque) and node.name in ("Sample", "LocalLimit"):
            return f"operator {node.at} takes any rows"
    return ""


def caches(spark: SparkSession) -> bool:
    """Whether anything is cached in the session's process: a rebuilt plan would not use it."""
    return not spark._jsparkSession.sharedState().cacheManager().isEmpty()


def _is_cheap(node: Any) -> bool:
    size = int(str(node.stats().sizeInBytes()))
    below = sum(
        int(str(leaf.stats().sizeInBytes()))
        for leaf in items(node.collectLeaves())
        if simple_name(leaf) == "LogicalRelation"
    )
    return size <= _SMALL and size * _SHARE <= below


def _depends_on_order(expr: Expr) -> bool:
    """Whether an aggregate may change with the order of its rows, as sums of floats do."""
    calls = (e for e in walk(expr) if isinstance(e, AggregateCall))
    return any(
        call.name not in _ORDERLESS
        and (call.name not in ("sum", "avg") or any(map(_is_float, call.args)))
        for call in calls
    )


def _is_float(expr: Expr) -> bool:
    return data_type(expr) in ("float", "double")


def _is_random(expr: Expr) -> bool:
    return any(isinstance(e, Unknown) and not e.deterministic for e in walk(expr))


def _expressions(plan: Plan) -> list[Expr]:
    match plan:
        case Filter() | Join():
            return [plan.condition]
        case Project():
            return [column.expr for column in plan.columns]
        case Aggregate():
            return [*plan.keys, *(column.expr for column in plan.columns)]
        case _:
            return []
