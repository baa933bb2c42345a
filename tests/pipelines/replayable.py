"""Which plans give an output row again when their sources are cut down to the row's lineage.

Not all do, even with perfect lineage: where aggregates are nested, rows of the lineage of one group
may be a part of another group, which then has another value, and this value may pass a filter that
the true one does not. So a plan is only asked to replay where that is certain not to happen.
"""

from __future__ import annotations

from enum import IntEnum

from lineage_core.plan.expr import TRUE, AggregateCall, FrameUnit, Unknown, WindowCall
from lineage_core.plan.relation import (
    Aggregate,
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
)
from lineage_core.plan.relation import Values as ValuesPlan
from lineage_core.plan.traverse import fold, nodes, walk

_ROW_WISE = (Expand, Filter, Generate, Project, Scan, Sort, Union, ValuesPlan)


class Replay(IntEnum):
    """What an operator gives over the lineage of some output rows.

    `NOTHING` sure; `ROWS`: all rows of its own that they were made from, and perhaps rows it never
    had; `SOME`: all those rows, and no row that it never had.
    """

    NOTHING = 0
    ROWS = 1
    SOME = 2


def replayable(plan: Plan) -> bool:
    """Return whether an output row is sure to be made again from its lineage alone."""
    return fold(plan, _replay) > Replay.NOTHING


def counts_every_row(plan: Plan) -> bool:
    """Return whether `plan` is groups with all their keys and their sizes, over pairs of rows.

    Then a group with any row of its lineage missing is another one.
    """
    return (
        isinstance(plan, Aggregate)
        and set(plan.keys) <= {c.expr for c in plan.columns}
        and any(_is_count(c.expr) for c in plan.columns)
        and all(_pairs_rows(node) for node in nodes(plan.child))
    )


def _is_count(expr: object) -> bool:
    match expr:
        case AggregateCall("count", (arg,), _, False, None):
            return not any(True for e in walk(arg) if type(e).__name__ != "Literal")
    return False


def _pairs_rows(node: Plan) -> bool:
    if isinstance(node, Join):
        return node.kind is JoinKind.INNER
    sampled = isinstance(node, Filter) and isinstance(node.condition, Unknown)
    return isinstance(node, _ROW_WISE) and not sampled


def _replay(plan: Plan, inputs: tuple[Replay, ...]) -> Replay:
    match plan:
        case Offset():
            return Replay.NOTHING
        case Join():
            return _join(plan, *inputs)
        case Aggregate() if not any(
            isinstance(e, AggregateCall) for c in plan.columns for e in walk(c.expr)
        ):
            return inputs[0]  # without a value that depends on the rest of the group
        case Aggregate() | Limit():
            return Replay.ROWS if inputs[0] is Replay.SOME else Replay.NOTHING
        case Window():
            steady = all(_steady(c.expr) for c in plan.columns)
            return Replay.ROWS if steady and inputs[0] is Replay.SOME else Replay.NOTHING
        case _:
            return min(inputs, default=Replay.SOME)


def _join(plan: Join, left: Replay, right: Replay) -> Replay:
    least = min(left, right)
    if plan.kind in (JoinKind.INNER, JoinKind.LEFT_SEMI) or least is Replay.NOTHING:
        return least
    if plan.kind.keeps_left and right is not Replay.SOME and not _is_scalar(plan):
        return Replay.NOTHING
    if plan.kind.keeps_right and left is not Replay.SOME:
        return Replay.NOTHING
    return Replay.ROWS


def _is_scalar(plan: Join) -> bool:
    """Return whether every left row is paired with the one row that the right side always is."""
    return plan.condition == TRUE and isinstance(plan.right, Aggregate) and not plan.right.keys


def _steady(expr: object) -> bool:
    """Return whether a window function's frame is the same with the rows outside of it gone."""
    match expr:
        case WindowCall(name="lag" | "lead" | "ntile", frame=frame):
            return frame.lower is not None and frame.lower.value in (-1, 1)
        case WindowCall(frame=frame) if frame.unit is FrameUnit.ROWS:
            low = 0 if frame.lower is None else frame.lower.value
            high = 0 if frame.upper is None else frame.upper.value
            assert isinstance(low, int) and isinstance(high, int)
            return low <= 1 and high >= -1
    return True
