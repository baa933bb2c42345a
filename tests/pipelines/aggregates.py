"""Aggregate functions over the rows of a group or of a window's frame."""

from __future__ import annotations

from collections.abc import Sequence

from lineage_core.plan.expr import AggregateCall, WindowCall
from tests.pipelines.values import Value, Values, canonical, evaluate, greatest, holds, least


def aggregate(call: AggregateCall | WindowCall, rows: Sequence[Values]) -> Value:
    """Return the value of `call` over `rows`, of which only those that its filter holds for count.

    Nulls are ignored; without a value, the count is 0 and everything else null.
    """
    kept = [row for row in rows if call.filter is None or holds(call.filter, row)]
    values = [value for row in kept if (value := evaluate(call.args[0], row)) is not None]
    if call.distinct:
        values = list({canonical(value): value for value in values}.values())
    match call.name:
        case "count":
            return len(values)
        case "sum":
            return sum(values) if values else None
        case "avg":
            return sum(values) / len(values) if values else None
        case "min":
            return least(*values)
        case "max":
            return greatest(*values)
        case _:
            raise NotImplementedError(call.name)
