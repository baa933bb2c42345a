"""Keys: sets of columns on which no two rows of a relation agree, as far as a plan tells."""

from __future__ import annotations

from lineage_core.plan.expr import Column
from lineage_core.plan.relation import Aggregate, Filter, Join, JoinKind, Limit, Plan, Project, Sort


def keys(plan: Plan) -> tuple[frozenset[int], ...]:
    """Return keys of `plan`, perhaps not all; the empty key says that there is at most one row."""
    match plan:
        case Filter() | Sort():
            return keys(plan.child)
        case Limit():
            return (frozenset(),) if plan.count <= 1 else keys(plan.child)
        case Project():
            kept = {c.expr.id: c.id for c in plan.columns if isinstance(c.expr, Column)}
            return tuple(
                frozenset(kept[id] for id in key) for key in keys(plan.child) if key <= kept.keys()
            )
        case Aggregate():
            offered = {column.expr: column.id for column in plan.columns}
            whole = all(key in offered for key in plan.keys)
            return (frozenset(offered[key] for key in plan.keys),) if whole else ()
        case Join(kind=JoinKind.INNER):
            return tuple(a | b for a in keys(plan.left) for b in keys(plan.right))
        case Join():
            return keys(plan.left)
        case _:
            return ()
