"""What a window's frames are, as far as it is not in the order of the rows."""

from __future__ import annotations

from lineage_core.plan.expr import Literal

RANKS = frozenset({"row_number", "rank", "dense_rank"})
"""Functions that look at the rows up to the current one and its peers, whatever their frame."""

SHARES = frozenset({"percent_rank", "cume_dist", "ntile"})
"""Functions that look at the whole partition, whatever their frame."""


def sign(distance: Literal) -> int:
    """Return on which side of the current row a frame's bound is: -1, 0 or 1."""
    if distance.value == 0:
        return 0
    return -1 if str(distance.value).startswith("-") else 1
