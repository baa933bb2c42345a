"""Widening: projections inside a block of joins hand on the columns its join conditions compare.

The optimiser prunes a join key as soon as no operator above needs it. Lineage needs it longer: if
the output of the topmost join holds the keys of all joins below, saving that one output is enough
to tell the rows of every one of them (PredTrace 5, column projection). The rows and their lineage
stay the same.
"""

from __future__ import annotations

from dataclasses import replace

from lineage_core.plan.expr import Column
from lineage_core.plan.relation import Field, Filter, Join, JoinKind, Named, Plan, Project, output
from lineage_core.plan.traverse import column_ids


def widen(block: Plan, wanted: frozenset[int]) -> Plan:
    """Return `block` offering those of the `wanted` columns that its projections had dropped.

    Only operators that hand rows on one to one or pair them up are entered: project, filter and
    join.
    """
    match block:
        case Filter():
            return replace(block, child=widen(block.child, wanted))
        case Join():
            left = widen(block.left, wanted)
            right = widen(block.right, wanted) if block.kind is JoinKind.INNER else block.right
            return replace(block, left=left, right=right)
        case Project():
            child = widen(block.child, wanted)
            offered = {column.id for column in block.columns}
            dropped = [f for f in output(child) if f.id in wanted and f.id not in offered]
            kept = tuple(Named(f.id, f.name, Column(f.id, f.type), f.type) for f in dropped)
            return replace(block, columns=(*block.columns, *kept), child=child)
        case _:
            return block


def join_columns(block: Plan) -> dict[int, Field]:
    """Return the columns compared by the join conditions of `block`, by id."""
    found: dict[int, Field] = {}
    stack = [block]
    while stack:
        node = stack.pop()
        match node:
            case Filter() | Project():
                stack.append(node.child)
            case Join():
                compared = column_ids(node.condition)
                sides = (*output(node.left), *output(node.right))
                found.update((f.id, f) for f in sides if f.id in compared)
                stack.append(node.left)
                if node.kind is JoinKind.INNER:
                    stack.append(node.right)
            case _:
                pass
    return found
