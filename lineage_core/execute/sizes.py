"""What intermediates are thought to take: by Spark's statistics, or as seen in an earlier run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from lineage_core.infer import Size, Sizes
from lineage_core.plan.relation import Field, Plan, output

_WIDTHS = {"boolean": 1, "byte": 1, "short": 2, "integer": 4, "float": 4, "date": 4, "string": 20}
_WIDTH = 8  # of other types
_ROW = 8  # what Spark adds for each row
_MOST = 1 << 62  # Spark's numbers know no bound, records have 64 bits


def sizes(java: Callable[[], Sequence[Any]], observed: Callable[[], Mapping[int, int]]) -> Sizes:
    """Return the sizes of intermediates of a plan.

    Spark has statistics of what an operator offers; of columns it takes their share. They multiply
    over joins, so what was seen before counts for more.

    Args:
        java: gives the Java operators, by place; asked once, and only if need be.
        observed: gives the bytes intermediates took in an earlier run of the same plan, by place.
    """
    java, observed = cache(java), cache(observed)

    def size(node: Plan, columns: tuple[Field, ...]) -> Size | None:
        if node.at in observed():
            return Size(observed()[node.at], "observed")
        if node.at >= len(java()):
            return None
        whole = int(str(java()[node.at].stats().sizeInBytes()))
        share = whole * _width(columns) // _width(output(node))
        return Size(min(share, _MOST), "statistics")

    return size


def _width(columns: tuple[Field, ...]) -> int:
    return _ROW + sum(_WIDTHS.get(column.type, _WIDTH) for column in columns)
