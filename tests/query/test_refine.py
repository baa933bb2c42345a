"""Sources cut each other down by what their columns are compared with."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from lineage_core.infer.links import Link
from lineage_core.plan.expr import Column, Compare, Comparison, Expr, conj
from lineage_core.query.refine import refine

Linked = Callable[[Link, pa.Table, pa.Table | None], pa.Table]


def equal(*columns: tuple[int, int], type: str = "long") -> Expr:
    pairs = ((Column(mine, type), Column(theirs, type)) for mine, theirs in columns)
    return conj(Compare(Comparison.EQ, *pair) for pair in pairs)


def never(link: Link, rows: pa.Table, partners: pa.Table | None) -> pa.Table:
    raise AssertionError("no engine is needed")


def test_a_column_compared_with_two_others_needs_both_in_one_partner() -> None:
    one = pa.table({"rid": [0, 1, 2], "k0": [7, 8, 9]})
    other = pa.table({"rid": [0, 1], "k0": [7, 8], "k1": [7, 9]})
    link = Link(0, 1, equal((10, 20), (10, 21)))
    left = refine({0: one, 1: other}, [link], [{10: 0}, {20: 0, 21: 1}], never)
    assert left[0].column("rid").to_pylist() == [0]
    assert left[0].column_names == one.column_names


def test_two_columns_compared_with_one_need_one_partner_for_both() -> None:
    one = pa.table({"rid": [0, 1], "k0": [7, 7], "k1": [7, 8]})
    other = pa.table({"rid": [0, 1], "k0": [7, 8]})
    link = Link(0, 1, equal((10, 20), (11, 20)))
    left = refine({0: one, 1: other}, [link], [{10: 0, 11: 1}, {20: 0}], never)
    assert left[0].column("rid").to_pylist() == [0]


def test_rows_that_lost_their_partner_cut_down_theirs() -> None:
    links = [Link(0, 1, equal((10, 20))), Link(1, 2, equal((21, 30)))]
    tables = {
        0: pa.table({"rid": [0, 1], "k0": [1, 2]}),
        1: pa.table({"rid": [0, 1], "k0": [1, 2], "k1": [5, 6]}),
        2: pa.table({"rid": [0], "k0": [6]}),
    }
    left = refine(tables, links, [{10: 0}, {20: 0, 21: 1}, {30: 0}], never)
    assert [left[step].column("rid").to_pylist() for step in range(3)] == [[1], [1], [0]]


def test_null_has_no_equal_and_one_partner_does_for_many() -> None:
    one = pa.table({"rid": [0, 1, 2, 3], "k0": pa.array([None, 7, 7, 8], pa.int64())})
    other = pa.table({"rid": [0, 1, 2], "k0": pa.array([None, 7, 7], pa.int64())})
    links = [Link(0, 1, equal((10, 20))), Link(1, 0, equal((20, 10)))]
    left = refine({0: one, 1: other}, links, [{10: 0}, {20: 0}], never)
    assert [left[step].column("rid").to_pylist() for step in (0, 1)] == [[1, 2], [1, 2]]


def test_the_rest_of_a_condition_is_asked_about_the_rows_that_are_left() -> None:
    asked: list[tuple[int, list[int], list[int]]] = []

    def drop_first(link: Link, rows: pa.Table, partners: pa.Table | None) -> pa.Table:
        assert partners is not None
        asked.append((link.step, *(t.column("rid").to_pylist() for t in (rows, partners))))
        return rows.slice(1) if link.step == 0 and rows.num_rows > 1 else rows

    less = Compare(Comparison.LT, Column(11, "long"), Column(21, "long"))
    links = [
        Link(0, 1, conj([equal((10, 20)), less])),
        Link(1, 0, equal((20, 10))),
        Link(2, 0, equal((30, 10))),
    ]
    tables = {
        0: pa.table({"rid": [0, 1, 2], "k0": [1, 2, 3], "k1": [0, 0, 0]}),
        1: pa.table({"rid": [5, 6, 7], "k0": [1, 2, 4], "k1": [1, 1, 1]}),
        2: pa.table({"rid": [8, 9], "k0": [1, 2]}),
    }
    left = refine(tables, links, [{10: 0, 11: 1}, {20: 0, 21: 1}, {30: 0}], drop_first)
    assert [left[step].column("rid").to_pylist() for step in range(3)] == [[1], [6], [9]]
    assert asked == [(0, [0, 1], [5, 6]), (0, [1], [6])]  # each time after the cheap ones


def test_floats_are_left_to_the_engine() -> None:
    def all_of_them(link: Link, rows: pa.Table, partners: pa.Table | None) -> pa.Table:
        return rows

    one = pa.table({"rid": [0], "k0": [-0.0]})
    other = pa.table({"rid": [0], "k0": [0.0]})
    link = Link(0, 1, equal((10, 20), type="double"))
    left = refine({0: one, 1: other}, [link], [{10: 0}, {20: 0}], all_of_them)
    assert left[0].num_rows == 1


def test_what_excludes_is_asked_once_and_needs_no_rows_of_the_other_step() -> None:
    calls = []

    def drop_last(link: Link, rows: pa.Table, partners: pa.Table | None) -> pa.Table:
        assert partners is None and link.excludes
        calls.append(link)
        return rows.slice(0, rows.num_rows - 1)

    links = [Link(0, 2, equal((10, 30)), excludes=True), Link(1, 0, equal((20, 10)))]
    tables = {0: pa.table({"rid": [0, 1], "k0": [1, 2]}), 1: pa.table({"rid": [3], "k0": [2]})}
    left = refine(tables, links, [{10: 0}, {20: 0}, {30: 0}], drop_last)
    assert [left[step].column("rid").to_pylist() for step in (0, 1)] == [[0], []]
    assert len(calls) == 1
