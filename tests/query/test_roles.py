"""Columns in use: those of all occurrences, in the dataset's order, and never silently none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lineage_core as lc
from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import TRUE, Column, Compare, Comparison, same
from lineage_core.plan.relation import Field, Filter, Join, JoinKind, Named, Plan, Project, Scan
from lineage_core.plan.uses import Role
from lineage_core.query.roles import UsedColumn, used_columns
from lineage_core.snapshot import ColumnType, Snapshot

TABLE = Snapshot("file:///t", "parquet", tuple(ColumnType(c, "long") for c in "zak"), ())


def scan(at: int, first: int, *names: str) -> Scan:
    return Scan(at, 0, "t", tuple(Field(first + i, n, "long") for i, n in enumerate(names)))


def positive(id: int, child: Plan) -> Filter:
    return Filter(1, Compare(Comparison.GT, Column(id, "long"), Column(id, "long")), child)


def test_roles_of_occurrences_are_united_and_in_order() -> None:
    matches = same(Column(10, "long"), Column(21, "long"))
    both = Join(2, JoinKind.INNER, matches, scan(3, 10, "k", "z"), scan(4, 20, "a", "k"))
    plan = Project(0, (Named(10, "k", Column(10, "long"), "long"),), positive(20, both))
    value_and_join = UsedColumn("k", (Role.VALUE, Role.JOIN))
    only_join = UsedColumn("k", (Role.JOIN,))
    filtered = UsedColumn("a", (Role.FILTER,))
    assert used_columns(TABLE, [(plan, 3)]) == (value_and_join,)
    assert used_columns(TABLE, [(plan, 4)]) == (filtered, only_join)
    assert used_columns(TABLE, [(plan, 3), (plan, 4)]) == (filtered, value_and_join)


def test_a_table_of_which_only_rows_counted_has_no_columns_in_use() -> None:
    counted = Join(0, JoinKind.LEFT_SEMI, TRUE, scan(1, 1, "k"), scan(2, 5))
    assert used_columns(TABLE, [(counted, 2)]) == ()


@pytest.mark.parametrize("occurrence", [(None, 1), (scan(3, 1, "k"), 7)])
def test_without_a_plan_every_column_is_of_unknown_use(
    occurrence: tuple[Plan | None, int],
) -> None:
    unknown = tuple(UsedColumn(name, (Role.UNKNOWN,)) for name in "zak")
    assert used_columns(TABLE, [occurrence]) == unknown
    known = used_columns(TABLE, [occurrence, (scan(3, 1, "k"), 3)])
    assert known[2] == UsedColumn("k", (Role.VALUE, Role.UNKNOWN))


def test_only_what_was_read_has_columns_in_use(
    q4: Any, store: lc.LineageStore, commit_run: Callable[..., str], record_of: Any
) -> None:
    commit_run(store, record_of(q4.program, q4.tables))
    target, source = q4.tables[0].snapshot, q4.tables[-1].snapshot
    (asked, *_) = store.backward(target.dataset).sources
    assert {role for column in asked.columns for role in column.roles} == {Role.UNKNOWN}
    (output,) = store.forward(source.dataset).outputs
    with pytest.raises(UnsupportedError, match="was written"):
        _ = output.columns
