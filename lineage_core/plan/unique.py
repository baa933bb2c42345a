"""Keys: sets of columns on which no two rows of a relation agree, as far as a plan tells."""

from __future__ import annotations

from lineage_core.plan.expr import Column, WindowCall
from lineage_core.plan.functions import POSITION
from lineage_core.plan.relation import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Limit,
    Offset,
    Plan,
    Project,
    Scan,
    Sort,
    Window,
    is_rid,
)
from lineage_core.plan.traverse import fold

Keys = tuple[frozenset[int], ...]


def keys(plan: Plan) -> Keys:
    """Return keys of `plan`, perhaps not all; the empty key says that there is at most one row."""
    return fold(plan, _keys)


def _keys(plan: Plan, inputs: tuple[Keys, ...]) -> Keys:
    match plan:
        case Scan():
            return tuple(frozenset((f.id,)) for f in plan.columns if is_rid(f.id))
        case Filter() | Sort() | Offset():
            return inputs[0]
        case Window():
            return (*inputs[0], *_numbered(plan))
        case Limit():
            return (frozenset(),) if plan.count <= 1 else inputs[0]
        case Project():
            kept = {c.expr.id: c.id for c in plan.columns if isinstance(c.expr, Column)}
            return tuple(
                frozenset(kept[id] for id in key) for key in inputs[0] if key <= kept.keys()
            )
        case Aggregate():
            offered = {column.expr: column.id for column in plan.columns}
            whole = all(key in offered for key in plan.keys)
            return (frozenset(offered[key] for key in plan.keys),) if whole else ()
        case Join(kind=JoinKind.FULL_OUTER):
            return ()  # an unmatched left row and an unmatched right one may agree on nulls
        case Join():
            left, right = inputs
            return tuple(a | b for a in left for b in right) if plan.kind.pairs else left
        case _:
            return ()


def _numbered(window: Window) -> Keys:
    """Return the key that rows numbered by partition have."""
    partition = {key.id for key in window.partition if isinstance(key, Column)}
    if len(partition) < len(window.partition):
        return ()
    made = ((column.id, column.expr) for column in window.columns)
    return tuple(
        frozenset((*partition, id))
        for id, call in made
        if isinstance(call, WindowCall) and call.name == POSITION
    )
