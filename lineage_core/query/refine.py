"""Iterative refinement: sources cut each other down by semi-joins until none shrinks (algorithm 3).

The rows to begin with satisfy the predicates pushed down without intermediates. Each round keeps of
a source the rows that have, for every link, a partner among the rows left of the other source. The
fixpoint holds every lineage row, perhaps others. Where links only equate columns, Arrow compares
them; the rest of a condition is asked of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lineage_core.infer.links import Link
from lineage_core.plan.expr import Anchor, Column, Compare, Comparison, conjuncts
from lineage_core.plan.traverse import column_ids
from lineage_core.query import sql
from lineage_core.query.chain import alias
from lineage_core.query.compile import Resolve, Sql, compile_expr
from lineage_core.query.evaluate import RID, Question
from lineage_core.query.protocol import Engine, value
from lineage_core.query.relations import Relations
from lineage_core.query.types import FLOATS


def refine(
    tables: Mapping[int, pa.Table],
    links: Sequence[Link],
    ordinals: Sequence[Mapping[int, int]],
    linked: Callable[[Link, pa.Table, pa.Table | None], pa.Table],
) -> dict[int, pa.Table]:
    """Return of each source's rows, by step, those that remain.

    Args:
        tables: the rows of each source step: `rid`, and the columns that links compare, as `k<i>`.
        links: which rows need partners.
        ordinals: for each step, the position of its columns by id.
        linked: returns of rows those that a link holds for, given the rows left of its other step.
    """
    left = dict(tables)
    waiting = list(links)
    while waiting:
        # An engine is asked only when nothing else helps any more, so about few rows.
        link = min(waiting, key=lambda link: not _only_equates(link))
        waiting = [other for other in waiting if other != link]
        before, partners = left[link.step], None if link.excludes else left[link.other]
        after = before if partners is None else _equal(link, before, partners, ordinals)
        if after.num_rows and not _only_equates(link):
            after = linked(link, after, partners)
        if after.num_rows < before.num_rows:
            left[link.step] = after
            again = (other for other in links if other.other == link.step and not other.excludes)
            waiting += [other for other in again if other not in waiting]
    return left


def link_question(
    link: Link, relations: Relations, rows: pa.Table, partners: pa.Table | None, engine: Engine
) -> Question:
    """Return the question for the rids of `rows` that a link holds for.

    Partners are the rows left of the other step; none are given where the link excludes, for then
    every row of that source counts.
    """
    ids = column_ids(link.condition)
    needed = {
        step: tuple(sorted({at for id, at in relations.ordinals[step].items() if id in ids}))
        for step in (link.step, link.other)
    }
    tables: dict[str, pa.Table] = {}

    def given(step: int, table: pa.Table, names: Sequence[str]) -> exp.Table:
        name = f"left_{uuid4().hex}"  # an engine may have other tables
        tables[name] = table.select(names)
        return sql.table(name, alias(step))

    mine = given(link.step, rows, [RID, *map(value, needed[link.step])])
    if partners is not None:
        theirs: exp.Expr = given(link.other, partners, list(map(value, needed[link.other])))
    else:
        scan = engine.scan(relations.snapshots[link.other], needed[link.other], rids=False)
        theirs = sql.named(scan, alias(link.other))
    parts = [
        compile_expr(part, _resolve(link, relations), engine.dialect)
        for part in conjuncts(link.condition)
    ]
    query = sql.select([exp.column(RID, table=alias(link.step))], mine)
    on = exp.and_(*parts, copy=False)  # flat: engines look in it for equalities to hash
    return Question(sql.join(query, theirs, on, "anti" if link.excludes else "semi"), tables)


def of_rids(rows: pa.Table, rids: pa.ChunkedArray) -> pa.Table:
    """Return the rows that have one of `rids`."""
    return rows.filter(pc.is_in(rows.column(RID), rids.combine_chunks().cast(pa.int64())))


def _resolve(link: Link, relations: Relations) -> Resolve:
    def resolve(column: Column | Anchor) -> Sql:
        step = link.step if column.id in relations.ordinals[link.step] else link.other
        return exp.column(value(relations.ordinals[step][column.id]), table=alias(step))

    return resolve


def _only_equates(link: Link) -> bool:
    return not link.excludes and len(_equated(link)) == len(conjuncts(link.condition))


def _equated(link: Link) -> list[tuple[int, int]]:
    """Return the columns, of the step and of the other, that the link has be equal.

    Of such types only whose values are equal just when their bytes are.
    """
    return [
        (mine.id, theirs.id)
        for part in conjuncts(link.condition)
        if isinstance(part, Compare) and part.op is Comparison.EQ
        for mine, theirs in [(part.left, part.right)]
        if isinstance(mine, Column) and isinstance(theirs, Column)
        if mine.type == theirs.type and mine.type not in FLOATS
    ]


def _equal(
    link: Link, rows: pa.Table, partners: pa.Table, columns: Sequence[Mapping[int, int]]
) -> pa.Table:
    """Return the rows that have a partner as far as the plain equalities of a link tell."""
    equated = _equated(link)
    if not equated:
        return rows
    found = _keys(partners, [columns[link.other][id] for _, id in equated])
    found = found.group_by(found.column_names).aggregate([])
    keys = _keys(rows, [columns[link.step][id] for id, _ in equated])
    names = [*rows.column_names, *found.column_names]
    keyed = pa.table([*rows.columns, *keys.columns], names=names)
    kept = keyed.join(found, keys=found.column_names, join_type="left semi")
    return kept.select(rows.column_names)


def _keys(table: pa.Table, columns: Sequence[int]) -> pa.Table:
    """Return columns under names of their own: one may be compared with several others."""
    keys = [table.column(value(column)) for column in columns]
    return pa.table(keys, names=[f"key{i}" for i in range(len(keys))])
