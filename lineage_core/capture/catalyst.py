"""An optimised Catalyst plan to the IR: known operators are mapped, all others become `Opaque`.

Catalyst's JSON lists the plan in pre-order; an operator's place in that list is its `at`, and it
offers what Catalyst's operator there offers. What is no operator there (plans of subqueries, the
joins with them and what they are joined for) is numbered after it. Column ids are numbered by first
appearance, so that equal queries give equal plans in every session. No source is ever lost: an
operator without IR form keeps all its inputs, those of its subqueries too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lineage_core.capture.domains import marked
from lineage_core.capture.node import Node, Reading, Tree
from lineage_core.capture.operators import read_node
from lineage_core.capture.optimise import optimise
from lineage_core.capture.sources import Source
from lineage_core.execute.jvm import preorder, text
from lineage_core.plan.relation import Plan


@dataclass(frozen=True, slots=True)
class CapturedPlan:
    """A plan as read from Spark.

    Attributes:
        plan: the IR.
        sources: what the plan's source numbers stand for.
        leaves: source number and Java node of each scan, in the order of the plan.
        expr_ids: the Catalyst attribute id behind each IR column id.
        java: the optimised Catalyst plan; place `at` of it is `preorder(java)[at]`.
    """

    plan: Plan
    sources: tuple[Source, ...]
    leaves: tuple[tuple[int, Any], ...]
    expr_ids: dict[int, int]
    java: Any


def read_dataframe(df: DataFrame) -> CapturedPlan:
    """Return the plan of `df`, without running anything."""
    spark = df.sparkSession
    analyzed = df._jdf.queryExecution().commandExecuted()
    return read_plan(spark, optimise(spark, analyzed))


def read_plan(spark: SparkSession, optimised: Any) -> CapturedPlan:
    """Return the IR of the Java `LogicalPlan` that `optimise` gave."""
    reading = Reading(spark, lambda java: _Reader(java, reading).plan())
    plan = marked(_Reader(optimised, reading).plan(), reading.expr_ids)
    return CapturedPlan(
        plan, tuple(reading.sources), tuple(reading.leaves), reading.expr_ids, optimised
    )


class _Reader:
    """Reads one Catalyst plan: the user's, or that of a subquery expression."""

    def __init__(self, java: Any, reading: Reading) -> None:
        self.java = java
        self.reading = reading
        self.trees: list[Tree] = json.loads(text(reading.spark, java, "toJSON"))
        self.first = reading.places(len(self.trees))

    @cached_property
    def nodes(self) -> Any:
        """The Java nodes, in the order of `trees`."""
        return preorder(self.reading.spark, self.java)

    def plan(self) -> Plan:
        done: dict[int, Plan] = {}
        inputs = _inputs(self.trees)
        above = {place: self.trees[p] for p, below in enumerate(inputs) for place in below}
        for place in _postorder(inputs):
            node = Node(
                self.reading,
                self.first + place,
                self.trees[place],
                above.get(place, {}),
                tuple(done.pop(i) for i in inputs[place]),
                partial(self._find, place),
            )
            done[place] = read_node(node)
        return done[0]

    def _find(self, place: int) -> Any:
        return self.nodes.get(place)


def _inputs(trees: list[Tree]) -> list[list[int]]:
    """Return the places of each operator's inputs, from the pre-order list."""
    inputs: list[list[int]] = [[] for _ in trees]
    open_: list[int] = []
    for place in range(len(trees)):
        while open_ and len(inputs[open_[-1]]) == trees[open_[-1]]["num-children"]:
            open_.pop()
        if open_:
            inputs[open_[-1]].append(place)
        open_.append(place)
    return inputs


def _postorder(inputs: list[list[int]]) -> list[int]:
    order = []
    stack = [0]
    while stack:
        place = stack.pop()
        order.append(place)
        stack.extend(inputs[place])
    return order[::-1]
