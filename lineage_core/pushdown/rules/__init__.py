"""One rule per operator: a predicate on its output -> for each input, candidates from most to least
selective.

A rule only proposes. What it proposes is used after `verify` has proven it
(`lineage_core.pushdown.push`).
"""

from lineage_core.pushdown.rules.aggregate import push_aggregate
from lineage_core.pushdown.rules.filter import push_filter
from lineage_core.pushdown.rules.join import push_join
from lineage_core.pushdown.rules.order import push_order
from lineage_core.pushdown.rules.project import push_project

__all__ = ["push_aggregate", "push_filter", "push_join", "push_order", "push_project"]
