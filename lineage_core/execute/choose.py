"""Whether an intermediate is saved in the user's job (inject) or computed again after it (defer).

Injecting costs a job that writes and reads a little; deferring computes everything below again. So
inject is the default, and defer is for writes that cannot be given another plan.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from lineage_core.errors import UnsupportedError
from lineage_core.plan.relation import Plan
from lineage_core.plan.repeat import unrepeatable
from lineage_core.store.manifest import Materialize


def choose(wish: Materialize, plan: Plan, *, can_inject: bool) -> Materialize:
    """Return `INJECT` or `DEFER` for an intermediate.

    Args:
        wish: what the user asked for.
        plan: the IR of the sub-plan whose output is saved.
        can_inject: whether the user's write can be given another plan at all.

    Raises:
        UnsupportedError: the sub-plan gives other rows each time, and cannot be saved as it runs.
    """
    if can_inject and wish is not Materialize.DEFER:
        return Materialize.INJECT
    if why := unrepeatable(plan):
        raise UnsupportedError(f"{why}: its rows cannot be computed again to save them")
    return Materialize.DEFER


def caches(spark: SparkSession) -> bool:
    """Whether anything is cached in the session's process: a rebuilt plan would not use it."""
    return not spark._jsparkSession.sharedState().cacheManager().isEmpty()
