"""Pruning: the same rows with only the columns that somebody asks for.

Computing a sub-plan again costs, and may fail, for columns nobody needs. Rows stay the same, in
number too; what does not offer rows of its own, as a window function nobody asks for, goes.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from lineage_core.plan.expr import Expr
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    Limit,
    Offset,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    Union,
    Values,
    Window,
    children,
    output,
    with_children,
)
from lineage_core.plan.traverse import column_ids, nodes


def prune(plan: Plan, wanted: Set[int]) -> Plan:
    """Return `plan` offering the `wanted` columns, and no column that it need not compute."""
    asked: dict[int, set[int]] = {id(plan): set(wanted)}
    order = list(nodes(plan))
    for node in order:  # what reads a node comes before it
        for child, ids in zip(children(node), _needed(node, asked[id(node)]), strict=True):
            asked.setdefault(id(child), set()).update(ids)
    done: dict[int, Plan] = {}
    for node in reversed(order):
        if id(node) not in done:
            inputs = tuple(done[id(child)] for child in children(node))
            done[id(node)] = _pruned(node, asked[id(node)], inputs)
    return done[id(plan)]


def _needed(node: Plan, wanted: set[int]) -> list[set[int]]:
    """Return the columns of each input that `node` needs to offer `wanted`."""
    match node:
        case Join():
            ids = wanted | column_ids(node.condition)
            return [ids & {f.id for f in output(side)} for side in (node.left, node.right)]
        case Union():
            kept = [i for i, field in enumerate(node.columns) if field.id in wanted]
            taken = ([ids[i] for i in kept] for ids in node.taken)
            return [{id for id in ids if id is not None} for ids in taken]
        case Opaque():
            return [{f.id for f in output(child)} for child in node.children]
        case Scan() | Values():
            return []
        case _:
            offered = {f.id for f in output(node.child)}
            return [offered & (wanted | _columns_of(_expressions(node, wanted)))]


def _expressions(node: Plan, wanted: set[int]) -> list[Expr]:
    match node:
        case Filter():
            return [node.condition]
        case Project():
            return [c.expr for c in node.columns if c.id in wanted]
        case Aggregate():
            return [*node.keys, *(c.expr for c in node.columns if c.id in wanted)]
        case Expand():
            kept = [i for i, field in enumerate(node.columns) if field.id in wanted]
            return [values[i] for values in node.projections for i in kept]
        case Generate():
            return [node.generator]
        case Window():
            computed = [c.expr for c in node.columns if c.id in wanted]
            order = [key.expr for key in node.order]
            return [*computed, *node.partition, *order] if computed else []
        case Sort():
            return [key.expr for key in node.keys]
        case _:
            return []


def _pruned(node: Plan, wanted: set[int], inputs: tuple[Plan, ...]) -> Plan:
    match node:
        case Scan() | Values():
            return replace(node, columns=tuple(f for f in node.columns if f.id in wanted))
        case Project() | Aggregate():
            columns = tuple(c for c in node.columns if c.id in wanted)
            return replace(node, columns=columns, child=inputs[0])
        case Window():
            columns = tuple(c for c in node.columns if c.id in wanted)
            return replace(node, columns=columns, child=inputs[0]) if columns else inputs[0]
        case Union():
            kept = [i for i, field in enumerate(node.columns) if field.id in wanted]
            return replace(
                node,
                columns=tuple(node.columns[i] for i in kept),
                taken=tuple(tuple(ids[i] for i in kept) for ids in node.taken),
                inputs=inputs,
            )
        case Expand():
            kept = [i for i, field in enumerate(node.columns) if field.id in wanted]
            return replace(
                node,
                projections=tuple(tuple(v[i] for i in kept) for v in node.projections),
                columns=tuple(node.columns[i] for i in kept),
                child=inputs[0],
            )
        case Generate():
            kept_fields = tuple(f for f in node.kept if f.id in wanted)
            return replace(node, kept=kept_fields, child=inputs[0])
        case Filter() | Join() | Sort() | Limit() | Offset() | Opaque():
            return with_children(node, inputs)


def _columns_of(exprs: list[Expr]) -> set[int]:
    return {id for expr in exprs for id in column_ids(expr)}
