"""Whether computing a plan again gives the same rows, and whether that can be done at all.

Both look at the plan as it is: prune it first (`plan.prune`), so that only columns that somebody
asks for count. An order *decides* when no two rows tie in it, or rows that tie are equal in every
column: a key of the rows (`plan.unique`) says the first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from lineage_core.plan.expr import (
    AggregateCall,
    Column,
    Expr,
    FrameUnit,
    Literal,
    Unknown,
    WindowCall,
    data_type,
)
from lineage_core.plan.functions import AGGREGATES, GENERATORS, WINDOWS
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
    Sort,
    Values,
    Window,
    output,
    place,
)
from lineage_core.plan.traverse import evaluable, nodes, operands, walk
from lineage_core.plan.types import is_comparable
from lineage_core.plan.unique import keys

_ORDERLESS = frozenset({"count", "min", "max", "bit_and", "bit_or", "bit_xor"})
"""Aggregate functions of which the order of rows makes no difference, whatever the type."""

_TIES = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
"""Window functions that give rows that tie in the window's order the same value."""

_BY_FLOATS = 11
"""Decimals of so many digits are averaged by Spark's optimizer as floats."""


def unrepeatable(plan: Plan, decided: Collection[int] = ()) -> str:
    """Return why computing `plan` twice may give different rows; empty if it cannot.

    `decided` are the places of limits at whose boundary no rows tie, and of windows in whose order
    none do.
    """
    return _first(plan, lambda node: "" if _is_decided(node, decided) else _varies(node))


def uncomputable(plan: Plan) -> str:
    """Return why nobody but Spark, with the pipeline's code, can compute `plan`; empty if the IR
    says all.

    An engine may still lack a function that the IR knows.
    """
    return _first(plan, _untold)


def _first(plan: Plan, why: Callable[[Plan], str]) -> str:
    return next((reason for node in nodes(plan) if (reason := why(node))), "")


def _is_decided(node: Plan, places: Collection[int]) -> bool:
    return isinstance(node, Limit | Offset | Window) and node.at in places


def _varies(node: Plan) -> str:
    exprs = _expressions(node)
    if any(isinstance(e, Unknown) and not e.deterministic for expr in exprs for e in walk(expr)):
        return f"operator {node.at} is not deterministic"
    match node:
        case Aggregate():
            calls = (e for c in node.columns for e in walk(c.expr) if isinstance(e, AggregateCall))
            if any(_depends_on_order(call) for call in calls):
                return f"operator {node.at} aggregates in no fixed order"
        case Window() if any(_depends_on_ties(node, column.expr) for column in node.columns):
            return f"operator {node.at} looks at rows in no fixed order"
        case Limit() | Offset() if not _sorted(node):
            return f"operator {node.at} takes any rows"
        case Opaque(name="Sample" | "LocalLimit"):
            return f"operator {node.at} takes any rows"
    return ""


def _depends_on_order(call: AggregateCall | WindowCall) -> bool:
    """Whether an aggregate may change with the order of its rows, as sums of floats do."""
    if call.name in _ORDERLESS:
        return False
    type = data_type(call.args[0]) if call.args else ""
    match call.name:
        case "sum":
            return type in ("float", "double")
        case "avg":
            return not _averages_exactly(type)
        case _:
            return True


def _averages_exactly(type: str) -> bool:
    # Spark adds whole numbers, and decimals of few digits, as doubles, which is exact up to 2 ** 53
    # only: epoch seconds of some million rows are beyond.
    if type.startswith("decimal("):
        return int(type[len("decimal(") :].partition(",")[0]) > _BY_FLOATS
    return type in ("byte", "short")


def _depends_on_ties(node: Window, call: Expr) -> bool:
    if not isinstance(call, WindowCall) or call.name in _TIES:
        return False
    decided = _decides((*node.partition, *(key.expr for key in node.order)), node.child)
    if call.name in WINDOWS:
        return not decided
    frame = call.frame
    by_rows = frame.unit is FrameUnit.ROWS and (frame.lower, frame.upper) != (None, None)
    if by_rows and not decided:
        return True
    # The order of a window is that in which its rows are added up, too.
    return _depends_on_order(call) and not decided


def _sorted(node: Limit | Offset) -> bool:
    """Whether it is decided which rows `node` takes."""
    if frozenset() in keys(node.child):
        return True
    below: Plan = node.child
    while isinstance(below, Project | Filter | Limit | Offset):
        below = below.child
    if not isinstance(below, Sort) or not below.everywhere:
        return False
    return _decides(tuple(key.expr for key in below.keys), below.child)


def _decides(order: tuple[Expr, ...], child: Plan) -> bool:
    """Whether rows of `child` that agree on `order` are one row, or equal rows."""
    ids = {expr.id for expr in order if isinstance(expr, Column)}
    if any(key <= ids for key in keys(child)):
        return True
    return all(field.id in ids and is_comparable(field.type) for field in output(child))


def _untold(node: Plan) -> str:
    match node:
        case Opaque():
            return f"{place(node)} has no IR form: {node.why}"
        case Values():
            return f"the rows of {place(node)} are not recorded"
        case Generate() if getattr(node.generator, "name", "") not in GENERATORS:
            return f"{place(node)} makes rows by a function without IR form"
    for expr in _evaluated(node):
        if not _is_told(expr):
            return f"{place(node)} computes {_culprit(expr)}"
    return ""


def _evaluated(node: Plan) -> Iterator[Expr]:
    """Yield the expressions of `node` that have to be computed, aggregates and windows by parts."""
    match node:
        case Aggregate():
            yield from node.keys
        case Window():
            yield from node.partition
            yield from (key.expr for key in node.order)
        case Sort():
            yield from (key.expr for key in node.keys)
        case Generate():
            yield from (e for e in operands(node.generator) if not isinstance(e, Column))
            return
        case Filter() | Join():
            yield node.condition
            return
    for expr in _handed_on(node):
        if not isinstance(expr, Column) and not _is_null(expr):
            yield expr


def _handed_on(node: Plan) -> list[Expr]:
    match node:
        case Project() | Aggregate() | Window():
            return [column.expr for column in node.columns]
        case Expand():
            return [expr for values in node.projections for expr in values]
        case _:
            return []


def _is_null(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is None


def _is_told(expr: Expr) -> bool:
    """Whether the IR tells how to compute `expr`."""
    stack = [expr]
    while stack:
        match stack.pop():
            case AggregateCall() as call:
                if call.name not in AGGREGATES:
                    return False
                stack.extend(operands(call))
            case WindowCall() as call:
                if call.name not in AGGREGATES | WINDOWS:
                    return False
                stack.extend(operands(call))
            case other if any(isinstance(e, AggregateCall) for e in walk(other)):
                stack.extend(operands(other))
            case other if not evaluable(other):
                return False
    return True


def _culprit(expr: Expr) -> str:
    for e in walk(expr):
        match e:
            case Unknown():
                return f"{e.name}, which has no IR form"
            case AggregateCall() | WindowCall() if e.name not in AGGREGATES | WINDOWS:
                return f"{e.name}, which has no IR form"
            case Column(type=type) if not is_comparable(type):
                return f"with values of type {type}"
    return "what cannot be computed again"


def _expressions(plan: Plan) -> list[Expr]:
    """Return all expressions of an operator."""
    match plan:
        case Filter() | Join():
            return [plan.condition]
        case Generate():
            return [plan.generator]
        case Sort():
            return [key.expr for key in plan.keys]
        case Aggregate():
            return [*plan.keys, *_handed_on(plan)]
        case Window():
            return [*plan.partition, *(key.expr for key in plan.order), *_handed_on(plan)]
        case _:
            return _handed_on(plan)
