"""One rule per operator: a predicate on its output -> for each input, candidates from most to least
selective.

A rule only proposes. What it proposes is used after `verify` has proven it
(`lineage_core.pushdown.push`).
"""

from lineage_core.pushdown.rules.aggregate import push_aggregate
from lineage_core.pushdown.rules.expand import push_expand
from lineage_core.pushdown.rules.filter import push_filter
from lineage_core.pushdown.rules.generate import push_generate
from lineage_core.pushdown.rules.join import push_join
from lineage_core.pushdown.rules.order import push_order
from lineage_core.pushdown.rules.project import push_project
from lineage_core.pushdown.rules.union import push_union
from lineage_core.pushdown.rules.window import push_window

__all__ = [
    "push_aggregate",
    "push_expand",
    "push_filter",
    "push_generate",
    "push_join",
    "push_order",
    "push_project",
    "push_union",
    "push_window",
]
