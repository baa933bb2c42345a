"""Widening: projections inside a block of joins hand on the columns its join conditions compare.

The optimiser prunes a join key as soon as no operator above needs it. Lineage needs it longer: if
the output of the topmost join holds the keys of all joins below, saving that one output is enough
to tell the rows of every one of them (PredTrace 5, column projection). The rows and their lineage
stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator
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


def widen(node: Plan, wanted: frozenset[int]) -> Plan:
    """Return `node` offering those of the `wanted` columns that its projections had dropped.

    Only operators that hand rows on or pair them up are entered. An aggregate offers its grouping
    columns.
    """
    match node:
        case Aggregate():
            offered = {column.id for column in node.columns}
            keys = [k for k in node.keys if isinstance(k, Column) and k.id in wanted - offered]
            added = tuple(Named(key.id, "", key, key.type) for key in keys)
            return replace(node, columns=(*node.columns, *added))
        case Filter() | Sort() | Limit():
            return replace(node, child=widen(node.child, wanted))
        case Join():
            left = widen(node.left, wanted)
            right = widen(node.right, wanted) if node.kind is JoinKind.INNER else node.right
            return replace(node, left=left, right=right)
        case Project():
            child = widen(node.child, wanted)
            offered = {column.id for column in node.columns}
            dropped = [f for f in output(child) if f.id in wanted and f.id not in offered]
            kept = tuple(Named(f.id, f.name, Column(f.id, f.type), f.type) for f in dropped)
            return replace(node, columns=(*node.columns, *kept), child=child)
        case _:
            return node


def hidden(node: Plan) -> dict[int, Field]:
    """Return the columns, by id, that tell the input rows of `node` even if it does not offer them.

    These are the columns that the join conditions of its block compare, an aggregate's grouping
    columns, what a projection computes from, and for a limit all columns its rows had.
    """
    match node:
        case Join():
            return {f.id: f for join in joins(node) for f in _compared(join)}
        case Aggregate():
            keys = {key.id for key in node.keys if isinstance(key, Column)}
            return {f.id: f for f in output(node.child) if f.id in keys}
        case Project():
            return {f.id: f for f in output(node.child)}
        case Limit():
            return {f.id: f for below in block(node) for f in output(below)}
        case _:
            return {}


def joins(top: Plan) -> Iterator[Join]:
    """Yield the joins of the block below `top`."""
    return (node for node in block(top) if isinstance(node, Join))


def block(top: Plan) -> Iterator[Plan]:
    """Yield `top` and the operators below whose rows it hands on or pairs up, down to others."""
    stack = [top]
    while stack:
        node = stack.pop()
        yield node
        match node:
            case Filter() | Project() | Sort() | Limit():
                stack.append(node.child)
            case Join(kind=JoinKind.INNER):
                stack += [node.right, node.left]
            case Join():
                stack.append(node.left)
            case _:
                pass


def _compared(join: Join) -> Iterator[Field]:
    compared = column_ids(join.condition)
    sides = (*output(join.left), *output(join.right))
    return (field for field in sides if field.id in compared)
