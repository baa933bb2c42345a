"""Columns that are never null, as far as a plan tells."""

from __future__ import annotations

from lineage_core.plan.expr import Column
from lineage_core.plan.relation import (
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Offset,
    Plan,
    Project,
    Scan,
    Sort,
    Union,
    Window,
    is_rid,
)
from lineage_core.plan.traverse import fold

_Ids = frozenset[int]


def present(plan: Plan) -> _Ids:
    """Return columns of `plan` that hold no null, perhaps not all; rids are where they all start.

    An outer join tells a row of nulls it made up from a row it was given by them.
    """
    return fold(plan, _present)


def _present(plan: Plan, inputs: tuple[_Ids, ...]) -> _Ids:
    match plan:
        case Scan():
            return frozenset(f.id for f in plan.columns if is_rid(f.id))
        case Filter() | Sort() | Limit() | Offset() | Window():
            return inputs[0]
        case Project():
            return frozenset(
                c.id for c in plan.columns if isinstance(c.expr, Column) and c.expr.id in inputs[0]
            )
        case Generate():
            return frozenset(f.id for f in plan.kept) & inputs[0]
        case Expand():
            return frozenset(
                field.id
                for place, field in enumerate(plan.columns)
                if all(_holds(projection[place], inputs[0]) for projection in plan.projections)
            )
        case Union():
            return frozenset(
                field.id
                for place, field in enumerate(plan.columns)
                if all(t[place] in ids for t, ids in zip(plan.taken, inputs, strict=True))
            )
        case Join():
            return _joined(plan, *inputs)
        case _:
            return frozenset()


def _holds(expr: object, ids: _Ids) -> bool:
    return isinstance(expr, Column) and expr.id in ids


def _joined(join: Join, left: _Ids, right: _Ids) -> _Ids:
    exists = frozenset(() if join.exists is None else (join.exists.id,))
    lefts = frozenset() if join.kind.keeps_right else left
    nulls = join.kind in (JoinKind.LEFT_OUTER, JoinKind.FULL_OUTER)
    rights = right if join.kind.pairs and not nulls else frozenset()
    return lefts | rights | exists
