"""Blocks: operators that hand rows on or pair them up, so that one output tells all rows below.

What an operator offers is not all it knows. The columns that join conditions compare, and the rids
of scanned rows, tell which rows an output row was made of, as long as every operator on the way
hands rows on; an aggregate starts a block of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lineage_core.plan.expr import Column
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Field,
    Filter,
    Generate,
    Join,
    Limit,
    Offset,
    Plan,
    Project,
    Scan,
    Sort,
    Union,
    Window,
    output,
    rid_field,
)
from lineage_core.plan.traverse import column_ids


def block(top: Plan) -> Iterator[Plan]:
    """Yield `top` and the operators below whose rows it hands on or pairs up, down to others."""
    stack = [top]
    while stack:
        node = stack.pop()
        yield node
        match node:
            case Filter() | Project() | Expand() | Generate() | Window():
                stack.append(node.child)
            case Sort() | Limit() | Offset():
                stack.append(node.child)
            case Join() if node.kind.pairs:
                stack += [node.right, node.left]
            case Join():
                stack.append(node.left)
            case Union():
                stack.extend(reversed(node.inputs))
            case _:
                pass


def joins(top: Plan) -> Iterator[Join]:
    """Yield the joins of the block below `top`."""
    return (node for node in block(top) if isinstance(node, Join))


def rids(top: Plan, formats: Mapping[int, str] | None) -> dict[int, Field]:
    """Return, by id, the rid columns of the scans in the block below `top` that have rids.

    `formats` holds the format of each source, by number; all are Parquet if it is None.
    """
    scans = (node for node in block(top) if isinstance(node, Scan))
    numbered = (s for s in scans if formats is None or formats[s.source] == "parquet")
    return {field.id: field for field in map(rid_field, numbered)}


def unpaired(top: Plan) -> dict[int, Field]:
    """Return, by id, the columns compared by joins of the block that hand on one side's rows only.

    They tell the other side's rows, of which the block's own have neither columns nor rids.
    """
    found = (join for join in joins(top) if not join.kind.pairs)
    return {f.id: f for join in found for f in _compared(join)}


def hidden(node: Plan) -> dict[int, Field]:
    """Return, by id, the columns that tell the input rows of `node` even if it does not offer them.

    These are the columns that the join conditions of its block compare, an aggregate's grouping
    columns, a window's partition and order columns, what a projection or a generator computes from,
    and for a limit all columns its rows had.
    """
    match node:
        case Join():
            return {f.id: f for join in joins(node) for f in _compared(join)}
        case Aggregate():
            keys = {key.id for key in node.keys if isinstance(key, Column)}
            return {f.id: f for f in output(node.child) if f.id in keys}
        case Window():
            exprs = (*node.partition, *(key.expr for key in node.order))
            placed = {id for expr in exprs for id in column_ids(expr)}
            return {f.id: f for f in output(node.child) if f.id in placed}
        case Project() | Expand() | Generate():
            return {f.id: f for f in output(node.child)}
        case Limit() | Offset():
            return {f.id: f for below in block(node) for f in output(below)}
        case _:
            return {}


def _compared(join: Join) -> Iterator[Field]:
    compared = column_ids(join.condition)
    sides = (*output(join.left), *output(join.right))
    return (field for field in sides if field.id in compared)
