"""Random window functions with the frames that Spark gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage_core.plan.expr import (
    DataType,
    Frame,
    FrameUnit,
    Literal,
    WindowCall,
    data_type,
)
from lineage_core.plan.relation import Plan, SortKey

if TYPE_CHECKING:
    from tests.pipelines.generator import Generator

_UP_TO_HERE = Frame(FrameUnit.ROWS, None, Literal(0, "integer"))


def random_call(
    make: Generator, child: Plan, order: tuple[SortKey, ...], total: bool
) -> WindowCall:
    """Return a function over the rows of `child` in `order`.

    Args:
        total: whether functions may depend on the order of peers.
    """
    choices = ["aggregate"] * 4
    if order:
        choices += ["rank", "dense_rank", "rank", "percent_rank", "cume_dist"]
    if total:
        choices += ["row_number"] * 3 + ["lag", "lead", "lag", "ntile"]
    name = make.random.choice(choices)
    match name:
        case "aggregate":
            return _aggregate(make, child, order, total)
        case "lag" | "lead":
            return _beside(make, child, name)
        case "ntile":
            return WindowCall(name, (Literal(2, "integer"),), "integer", _UP_TO_HERE)
        case "percent_rank":
            return WindowCall(name, (), "double", _UP_TO_HERE)
        case "cume_dist":
            frame = Frame(FrameUnit.RANGE, None, Literal(0, "integer"))
            return WindowCall(name, (), "double", frame)
        case _:
            return WindowCall(name, (), "integer", _UP_TO_HERE)


def _beside(make: Generator, child: Plan, name: str) -> WindowCall:
    arg = make.pick(child)
    assert arg is not None
    distance = make.random.choice([1, 1, 2])
    at = Literal(-distance if name == "lag" else distance, "integer")
    default = Literal(None, arg.type) if make.chance(0.7) else make.literal(arg.type)
    args = (arg, Literal(distance, "integer"), default)
    return WindowCall(name, args, arg.type, Frame(FrameUnit.ROWS, at, at))


def _aggregate(
    make: Generator, child: Plan, order: tuple[SortKey, ...], total: bool
) -> WindowCall:
    call = make.call(child)
    frame = _frame(make, order, total)
    return WindowCall(call.name, call.args, call.type, frame, filter=call.filter)


def _frame(make: Generator, order: tuple[SortKey, ...], total: bool) -> Frame:
    whole = Frame(FrameUnit.ROWS, None, None)
    if not order or make.chance(0.25):
        return whole
    if total and make.chance(0.5):
        return Frame(FrameUnit.ROWS, *_bounds(make, "integer"))
    numeric = len(order) == 1 and data_type(order[0].expr) in ("long", "double")
    if numeric and make.chance(0.7):
        return Frame(FrameUnit.RANGE, *_bounds(make, data_type(order[0].expr)))
    zero = Literal(0, "integer")
    return make.random.choice(
        [
            Frame(FrameUnit.RANGE, None, zero),
            Frame(FrameUnit.RANGE, zero, None),
            Frame(FrameUnit.RANGE, zero, zero),
        ]
    )


def _bounds(make: Generator, unit: DataType) -> tuple[Literal | None, Literal | None]:
    """Return a lower and an upper bound; neither may be beyond the other."""
    bounds = sorted(make.random.choice([-2, -1, -1, 0, 0, 1, 2]) for _ in range(2))
    exact: type[int] | type[float] = float if unit == "double" else int
    low, high = (Literal(exact(bound), unit) for bound in bounds)
    return None if make.chance(0.25) else low, None if make.chance(0.25) else high
