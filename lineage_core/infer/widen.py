"""Widening: projections inside a block of joins hand on the columns its join conditions compare.

The optimiser prunes a join key as soon as no operator above needs it. Lineage needs it longer: if
the output of the topmost join holds the keys of all joins below, saving that one output is enough
to tell the rows of every one of them (PredTrace 5, column projection). The rows and their lineage
stay the same.
"""

from __future__ import annotations

from dataclasses import replace

from lineage_core.plan.expr import Column
from lineage_core.plan.relation import (
    Aggregate,
    Field,
    Filter,
    Join,
    JoinKind,
    Limit,
    Named,
    Plan,
    Project,
    Sort,
    output,
)
from lineage_core.plan.traverse import column_ids
from lineage_core.plan.types import is_comparable


def widen(block: Plan, wanted: frozenset[int]) -> Plan:
    """Return `block` offering those of the `wanted` columns that its projections had dropped.

    Only operators that hand rows on or pair them up are entered. An aggregate offers its grouping
    columns.
    """
    match block:
        case Aggregate():
            offered = {column.id for column in block.columns}
            keys = [k for k in block.keys if isinstance(k, Column) and k.id in wanted - offered]
            added = tuple(Named(key.id, "", key, key.type) for key in keys)
            return replace(block, columns=(*block.columns, *added))
        case Filter() | Sort() | Limit():
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


def hidden(node: Plan) -> dict[int, Field]:
    """Return the columns, by id, that tell the input rows of `node` even if it does not offer them.

    These are the columns its join conditions (and those of the block below) compare, an aggregate's
    grouping columns, what a projection computes from, and for a limit all columns its rows have.
    """
    match node:
        case Join():
            return _compared(node)
        case Aggregate():
            keys = {key.id for key in node.keys if isinstance(key, Column)}
            return {f.id: f for f in output(node.child) if f.id in keys}
        case Project():
            return {f.id: f for f in output(node.child)}
        case Limit():
            return _had(node)
        case _:
            return {}


def _had(block: Plan) -> dict[int, Field]:
    """Return all columns, if they can be compared, that the rows of `block` had anywhere below."""
    found: dict[int, Field] = {}
    stack = [block]
    while stack:
        node = stack.pop()
        found.update((f.id, f) for f in output(node) if is_comparable(f.type))
        match node:
            case Filter() | Project() | Sort() | Limit():
                stack.append(node.child)
            case Join():
                stack.append(node.left)
                if node.kind is JoinKind.INNER:
                    stack.append(node.right)
            case _:
                pass
    return found


def _compared(block: Plan) -> dict[int, Field]:
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
