"""A Java plan beside its IR: which attribute is which column, and where operators are.

Catalyst's attribute ids are not unique in a plan, column ids are. An operator's IR offers what the
operator offers, column by column, so the attribute behind a column is told by its position. Places
are numbers in a pre-order walk: a sub-tree is a range of them, and inputs come after what reads
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from lineage_core.execute.jvm import items, preorder, simple_name
from lineage_core.plan.expr import Column, Frame
from lineage_core.plan.relation import Aggregate, Field, Plan, Window, output
from lineage_core.plan.traverse import nodes
from lineage_core.pushdown.rules.window import frames_by_values


@dataclass(frozen=True, slots=True)
class Tree:
    """A Java plan by place.

    Attributes:
        spark: the session of the plan.
        nodes: its operators.
        names: their class names.
        inputs: the places of each operator's inputs.
        ends: the place after the last one of each sub-tree.
        fields: the columns each operator offers.
        keys: of each aggregate, the position of each grouping expression that is a column.
        frames: of each window, the frames whose rows its rows are made of.
        random: the operators that give other rows each time, or in other partitions.
    """

    spark: SparkSession
    nodes: Sequence[Any]
    names: Sequence[str]
    inputs: Sequence[Sequence[int]]
    ends: Sequence[int]
    fields: Sequence[tuple[Field, ...]]
    keys: Mapping[int, Mapping[int, int]]
    frames: Mapping[int, frozenset[Frame]]
    random: Sequence[int]

    @classmethod
    def of(cls, spark: SparkSession, java: Any, plan: Plan) -> Tree:
        """Return a Java plan beside `plan`, which was read from it."""
        found = list(preorder(spark, java))
        inputs = _inputs([int(node.children().size()) for node in found])
        ends = [place + 1 for place in range(len(found))]
        fields: list[tuple[Field, ...]] = [()] * len(found)
        known = {node.at: output(node) for node in nodes(plan)}
        for place in reversed(range(len(found))):
            if inputs[place]:
                ends[place] = ends[inputs[place][-1]]
                # What is no operator of the IR hands its input on as it is.
                fields[place] = fields[inputs[place][0]]
            fields[place] = known.get(place, fields[place])
        keys = {node.at: _keys(node) for node in nodes(plan) if isinstance(node, Aggregate)}
        frames = {n.at: frames_by_values(n) for n in nodes(plan) if isinstance(n, Window)}
        names = [simple_name(node) for node in found]
        random = _random(found, names)
        return cls(spark, found, names, inputs, ends, fields, keys, frames, random)

    def attributes(self, place: int) -> dict[int, Any]:
        """Return the attributes an operator offers, by column."""
        offered = zip(self.fields[place], items(self.nodes[place].output()), strict=True)
        return {column.id: attribute for column, attribute in offered}

    def is_below(self, place: int, top: int) -> bool:
        """Whether an operator is `top` or part of the sub-tree below it."""
        return top <= place < self.ends[top]


def _keys(node: Aggregate) -> dict[int, int]:
    return {key.id: i for i, key in enumerate(node.keys) if isinstance(key, Column)}


def _random(found: Sequence[Any], names: Sequence[str]) -> list[int]:
    if found[0].deterministic():
        return [place for place, name in enumerate(names) if name == "Sample"]
    return [
        place
        for place, node in enumerate(found)
        if names[place] == "Sample" or not all(e.deterministic() for e in items(node.expressions()))
    ]


def _inputs(counts: Sequence[int]) -> list[list[int]]:
    """Return the places of each operator's inputs, from how many it has."""
    inputs: list[list[int]] = [[] for _ in counts]
    missing: list[int] = []  # each place as often as it still lacks an input
    for place, count in enumerate(counts):
        if missing:
            inputs[missing.pop()].append(place)
        missing.extend([place] * count)
    return inputs
