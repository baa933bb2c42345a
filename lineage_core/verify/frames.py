"""What a window's frames are, as far as it is not in the order of the rows."""

from __future__ import annotations

from lineage_core.plan.expr import DataType, Literal

RANKS = frozenset({"row_number", "rank", "dense_rank"})
"""Functions that look at the rows up to the current one and its peers, whatever their frame."""

SHARES = frozenset({"percent_rank", "cume_dist", "ntile"})
"""Functions that look at the whole partition, whatever their frame."""


def sign(distance: Literal) -> int:
    """Return on which side of the current row a frame's bound is: -1, 0 or 1."""
    if distance.value == 0:
        return 0
    return -1 if str(distance.value).startswith("-") else 1


def step(type: DataType, ascending: bool) -> str:
    """Return the function that gives the order value at a distance, along the sort order."""
    if type == "date":
        return "date_add" if ascending else "date_sub"
    return "add" if ascending else "subtract"


STEP_UP, STEP_DOWN = "step up", "step down"
"""The names of that function in canonical obligations, where types are gone: a sum, a difference.

Spark fails where it does not fit the type (ANSI), so there is no such row to ask about.
"""
