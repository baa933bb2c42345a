"""Widening: operators hand on columns that they had dropped.

The optimiser prunes a column as soon as no operator above needs it. Lineage needs it longer: if the
output of the topmost join of a block holds the keys of all joins below, or the rids of the rows it
was made of, that one output is enough to tell the rows of every one of them (PredTrace 5, column
projection). The rows stay the same.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from lineage_core.plan.expr import Column
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Field,
    Generate,
    Named,
    Opaque,
    Plan,
    Project,
    Scan,
    Union,
    Values,
    output,
    rid_field,
    with_children,
)
from lineage_core.plan.traverse import fold


def widen(plan: Plan, wanted: Set[int]) -> Plan:
    """Return `plan` offering those of the `wanted` columns that it can.

    A scan can offer the rids of its rows, an aggregate its grouping columns, an opaque operator
    only what it does already.
    """
    return fold(plan, lambda node, inputs: _widened(node, inputs, wanted))


def _widened(node: Plan, inputs: tuple[Plan, ...], wanted: Set[int]) -> Plan:
    match node:
        case Opaque() | Values():
            return node
        case Scan():
            rid = rid_field(node)
            asked = rid.id in wanted and rid not in node.columns
            return replace(node, columns=(*node.columns, rid)) if asked else node
        case Aggregate():
            offered = {column.id for column in node.columns}
            keys = [k for k in node.keys if isinstance(k, Column) and k.id in wanted - offered]
            added = (Named(key.id, "", key, key.type) for key in keys)
            return replace(node, columns=(*node.columns, *added), child=inputs[0])
        case Union():
            return _widened_union(node, inputs, wanted)
        case Project() | Expand() | Generate():
            return _with_dropped(node, inputs[0], wanted)
        case _:
            return with_children(node, inputs)


def _with_dropped(node: Project | Expand | Generate, child: Plan, wanted: Set[int]) -> Plan:
    offered = {field.id for field in output(node)}
    dropped = tuple(f for f in output(child) if f.id in wanted and f.id not in offered)
    match node:
        case Project():
            kept = (Named(f.id, f.name, Column(f.id, f.type), f.type) for f in dropped)
            return replace(node, columns=(*node.columns, *kept), child=child)
        case Expand():
            values = tuple(Column(f.id, f.type) for f in dropped)
            lists = tuple((*before, *values) for before in node.projections)
            columns = (*node.columns, *dropped)
            return replace(node, projections=lists, columns=columns, child=child)
        case Generate():
            return replace(node, kept=(*node.kept, *dropped), child=child)


def _widened_union(node: Union, inputs: tuple[Plan, ...], wanted: Set[int]) -> Plan:
    """Offer a column of one input with nulls for the rows of the others."""
    offered = {field.id for field in node.columns}
    dropped: dict[int, Field] = {}
    for child in inputs:
        for field in output(child):
            if field.id in wanted and field.id not in offered:
                dropped.setdefault(field.id, field)
    taken = []
    for before, child in zip(node.taken, inputs, strict=True):
        has = {field.id for field in output(child)}
        taken.append((*before, *(id if id in has else None for id in dropped)))
    columns = (*node.columns, *dropped.values())
    return replace(node, columns=columns, taken=tuple(taken), inputs=inputs)
