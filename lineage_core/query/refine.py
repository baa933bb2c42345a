"""Iterative refinement: sources cut each other down by semi-joins until none shrinks (algorithm 3).

The rows to begin with satisfy the predicates pushed down without intermediates. Each round keeps of
a source the rows that have, for every link, a partner among the rows left of the other source. The
fixpoint holds every lineage row, perhaps others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from lineage_core.infer.links import Link
from lineage_core.query.protocol import value


def refine(
    tables: Mapping[int, pa.Table],
    links: Sequence[Link],
    ordinals: Sequence[Mapping[int, int]],
) -> dict[int, pa.Table]:
    """Return of each source's rows, by step, those that remain.

    Args:
        tables: the rows of each source step: `rid`, and the columns that links compare, as `k<i>`.
        links: which rows need partners.
        ordinals: for each step, the position of its columns by id.
    """
    left = dict(tables)
    waiting = list(links)
    while waiting:
        link = waiting.pop()
        before = left[link.step]
        mine = [value(ordinals[link.step][id]) for id, _ in link.columns]
        theirs = [value(ordinals[link.other][id]) for _, id in link.columns]
        partners = left[link.other].select(theirs).group_by(theirs).aggregate([])
        after = before.join(partners, keys=mine, right_keys=theirs, join_type="left semi")
        if after.num_rows < before.num_rows:
            left[link.step] = after
            waiting += [other for other in links if other.other == link.step]
    return left
