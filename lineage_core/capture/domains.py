"""Domains: the values that rows ask a correlated subquery about.

Spark computes such a subquery for all of them at once: it joins the subquery's rows with the
distinct values of the outer rows' columns, a copy of the outer plan, and then each outer row with
what was found for its own values. The copy only hands values over. It is told by its attributes,
which are those of the outer rows themselves: Spark gives the sides of any other join their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from lineage_core.plan.expr import Column, Compare, Comparison, conjuncts
from lineage_core.plan.relation import Aggregate, Join, Plan, Project, with_children
from lineage_core.plan.traverse import fold, nodes


def marked(plan: Plan, attributes: Mapping[int, int]) -> Plan:
    """Return `plan` with the aggregates marked that are domains of correlated subqueries.

    Args:
        plan: the plan as read.
        attributes: the Catalyst attribute id behind each column id.
    """
    compared = [pair for pair in _compared(plan) if pair[0] != pair[1]]
    if not compared:
        return plan
    renamed = dict(_renamed(plan))

    def attribute(id: int) -> int | None:
        while id in renamed:
            id = renamed[id]
        return attributes.get(id)

    asked = {
        id
        for left, right in compared
        if attribute(left) is not None and attribute(left) == attribute(right)
        for id in (left, right)
    }

    def mark(node: Plan, inputs: tuple[Plan, ...]) -> Plan:
        node = with_children(node, inputs)
        if isinstance(node, Aggregate) and _is_domain(node, asked):
            return replace(node, domain=True)
        return node

    return fold(plan, mark) if asked else plan


def _compared(plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield the pairs of columns that joins compare, nulls equal."""
    for join in nodes(plan):
        for part in conjuncts(join.condition) if isinstance(join, Join) else ():
            match part:
                case Compare(Comparison.SAME, Column(left), Column(right)):
                    yield left, right


def _renamed(plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield the columns that are others under another id, with those."""
    for node in nodes(plan):
        for column in node.columns if isinstance(node, Project | Aggregate) else ():
            if isinstance(column.expr, Column) and column.expr.id != column.id:
                yield column.id, column.expr.id


def _is_domain(node: Aggregate, asked: set[int]) -> bool:
    """Whether an aggregate gives the distinct values of columns that are asked about."""
    made = {column.expr for column in node.columns}
    ids = {column.id for column in node.columns}
    return bool(made) and made == set(node.keys) and ids <= asked
