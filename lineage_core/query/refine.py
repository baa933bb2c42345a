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
        partners = _keys(left[link.other], theirs)
        partners = partners.group_by(partners.column_names).aggregate([])
        rows = pa.table(
            [*before.columns, *_keys(before, mine).columns],
            names=[*before.column_names, *partners.column_names],
        )
        after = rows.join(partners, keys=partners.column_names, join_type="left semi")
        after = after.select(before.column_names)
        if after.num_rows < before.num_rows:
            left[link.step] = after
            waiting += [other for other in links if other.other == link.step]
    return left


def _keys(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return columns under names of their own: one may be compared with several others."""
    return pa.table(
        [table.column(name) for name in columns], names=[f"key{i}" for i in range(len(columns))]
    )
