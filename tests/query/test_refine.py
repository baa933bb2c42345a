"""Sources cut each other down by what their columns are compared with."""

from __future__ import annotations

import pyarrow as pa

from lineage_core.infer.links import Link
from lineage_core.query.refine import refine


def test_a_column_compared_with_two_others_needs_both_in_one_partner() -> None:
    one = pa.table({"rid": [0, 1, 2], "k0": [7, 8, 9]})
    other = pa.table({"rid": [0, 1], "k0": [7, 8], "k1": [7, 9]})
    link = Link(0, 1, ((10, 20), (10, 21)))
    left = refine({0: one, 1: other}, [link], [{10: 0}, {20: 0, 21: 1}])
    assert left[0].column("rid").to_pylist() == [0]
    assert left[0].column_names == one.column_names


def test_two_columns_compared_with_one_need_one_partner_for_both() -> None:
    one = pa.table({"rid": [0, 1], "k0": [7, 7], "k1": [7, 8]})
    other = pa.table({"rid": [0, 1], "k0": [7, 8]})
    link = Link(0, 1, ((10, 20), (11, 20)))
    left = refine({0: one, 1: other}, [link], [{10: 0, 11: 1}, {20: 0}])
    assert left[0].column("rid").to_pylist() == [0]


def test_rows_that_lost_their_partner_cut_down_theirs() -> None:
    links = [Link(0, 1, ((10, 20),)), Link(1, 2, ((21, 30),))]
    tables = {
        0: pa.table({"rid": [0, 1], "k0": [1, 2]}),
        1: pa.table({"rid": [0, 1], "k0": [1, 2], "k1": [5, 6]}),
        2: pa.table({"rid": [0], "k0": [6]}),
    }
    left = refine(tables, links, [{10: 0}, {20: 0, 21: 1}, {30: 0}])
    assert [left[step].column("rid").to_pylist() for step in range(3)] == [[1], [1], [0]]
