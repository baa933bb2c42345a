"""Checking a dependency by one group-by (CD), whose state collects the rids of each group.

SELECT a, array_agg(rid), count(DISTINCT b) FROM t GROUP BY a HAVING count(DISTINCT b) > 1
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lineage_core.profile.notation import Dependency
from lineage_core.profile.table import Table
from lineage_core.profile.violations import Violations, violations
from lineage_core.query import sql
from lineage_core.query.compile import Sql, balanced
from lineage_core.query.protocol import FILE, ROW, Engine, value
from lineage_core.query.values import distinguished
from lineage_core.snapshot import RID_SHIFT

_ROWS = "x"
_RIDS, _DISTINCT = "rids", "distinct_values"


def check_by_groups(
    table: Table,
    dependency: Dependency,
    determinant: Sequence[int],
    dependent: Sequence[int],
) -> Violations:
    """Return what violates a dependency between columns, given by position."""
    groups = table.ask(lambda engine: _query(table, determinant, dependent, engine))
    lists = groups.column(_RIDS).combine_chunks()
    rids = lists.flatten().cast(pa.int64()).to_numpy()
    group = pc.list_parent_indices(lists).cast(pa.int64()).to_numpy()
    order = np.lexsort((rids, group))
    rids, group = rids[order], group[order]
    begins = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1]))[: len(group)])
    # Groups are numbered in the order of their first rows.
    by_first = np.argsort(rids[begins])
    number_of = np.empty_like(by_first)
    number_of[by_first] = np.arange(len(by_first))
    numbers = number_of[group]
    order = np.argsort(numbers, kind="stable")
    ordered = groups.take(by_first)
    values = [
        distinguished(ordered.column(value(column))).combine_chunks() for column in determinant
    ]
    distinct = ordered.column(_DISTINCT).to_numpy()
    return violations(dependency, table, determinant, values, numbers[order], rids[order], distinct)


def _query(
    table: Table, determinant: Sequence[int], dependent: Sequence[int], engine: Engine
) -> exp.Select:
    columns = tuple(sorted({*determinant, *dependent}))
    scan = sql.named(engine.scan(table.snapshot, columns, rids=True), _ROWS)
    wanted: list[Sql] = [sql.as_(_column(value(c)), value(c)) for c in determinant]
    wanted.append(sql.as_(exp.ArrayAgg(this=_rid()), _RIDS))
    wanted.append(sql.as_(_distinct(dependent), _DISTINCT))
    keys = [_column(value(column)) for column in determinant]
    several = exp.GT(this=_distinct(dependent), expression=exp.Literal.number(1))
    query = sql.select(wanted, scan).group_by(*keys, copy=False)
    return query.having(several, copy=False)


def _distinct(columns: Sequence[int]) -> Sql:
    """Return how many combinations of columns there are, without those where one is null."""
    if len(columns) == 1:
        counted: Sql = _column(value(columns[0]))
    else:
        together = exp.Tuple(expressions=[_column(value(column)) for column in columns])
        there: list[Sql] = [
            exp.Not(this=exp.Is(this=_column(value(column)), expression=exp.Null()))
            for column in columns
        ]
        counted = exp.Case().when(balanced(exp.And, there), together, copy=False)
    return exp.Count(this=exp.Distinct(expressions=[counted]))


def _rid() -> Sql:
    first = exp.Mul(this=_column(FILE), expression=exp.Literal.number(1 << RID_SHIFT))
    return exp.Add(this=first, expression=_column(ROW))


def _column(name: str) -> exp.Column:
    return exp.column(name, table=_ROWS, quoted=True)
