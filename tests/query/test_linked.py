"""Linked views: which rows of another output share source rows; and answers as sets of rows."""

from __future__ import annotations

from typing import Any

import pytest

import lineage_core as lc
from lineage_core.plan.expr import TRUE, Anchor, Column, same
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import Field

LINES = [(i % 5, i % 3, i) for i in range(22)]
FILES = [LINES[:9], LINES[9:]]


def grouped(target: Any, source: Any, column: str) -> LineageProgram:
    """Return the program of an output row per value of a column of its source."""
    key = (Field(1, column, "long"),)
    link = same(Column(1, "long"), Anchor(1, "long"))
    steps = (
        Step(StepKind.TARGET, -1, TRUE, key, 0, "out"),
        Step(StepKind.SOURCE, 0, link, key, 1, source.snapshot.dataset, 0),
    )
    return LineageProgram(steps)


class Views:
    """`lines` by `k` makes `ks`, by `m` makes `ms`; `ms` by `m` makes `top`; `alone` is alone."""

    def __init__(self, lake: Any, store: lc.LineageStore, commit: Any, record: Any) -> None:
        self.store = store
        lines = lake.write("lines", {"k": "long", "m": "long", "id": "long"}, FILES)
        other = lake.write("other", {"k": "long"}, [[(1,)]])
        made = [
            (lake.write("ks", {"k": "long"}, [[(k,) for k in range(5)]]), lines, "k"),
            (lake.write("ms", {"m": "long"}, [[(m,) for m in range(3)]]), lines, "m"),
            (lake.write("alone", {"k": "long"}, [[(1,)]]), other, "k"),
        ]
        made.append((lake.write("top", {"m": "long"}, [[(0,), (2,)]]), made[1][0], "m"))
        for minute, (target, source, column) in enumerate(made):
            commit(store, record(grouped(target, source, column), [target, source]), minute=minute)


@pytest.fixture(params=["programs", "indexes"])
def views(
    request: pytest.FixtureRequest,
    lake: Any,
    store: lc.LineageStore,
    commit_run: Any,
    record_of: Any,
) -> Views:
    made = Views(lake, store, commit_run, record_of)
    if request.param == "indexes":
        for name in ("ks", "ms", "top"):
            store.index(name)
    return made


def shared(ks: set[int]) -> set[int]:
    return {m for k, m, _ in LINES if k in ks}


@pytest.mark.parametrize("least", range(6))
def test_rows_that_share_sources_are_found(views: Views, least: int) -> None:
    (found,) = views.store.linked("ks", "ms", where=f"k >= {least}").outputs
    expected = shared(set(range(least, 5)))
    assert {row["m"] for row in found.to_arrow().to_pylist()} == expected
    assert found.precision == "exact" and found.count() == len(expected)


def test_pairs_are_of_both_views(views: Views) -> None:
    found = views.store.linked("ks", "ms", where="k in (1, 4)").pairs("ms")
    assert found.column_names == ["out_rid", "in_rid"]
    pairs = set(zip(*(column.to_pylist() for column in found.columns), strict=True))
    assert pairs == {(m, k) for k, m, _ in LINES if k in (1, 4)}


def test_views_may_be_several_runs_away(views: Views) -> None:
    (found,) = views.store.linked("ks", "top", where="k = 2").outputs
    expected = shared({2}) & {0, 2}
    assert {row["m"] for row in found.to_arrow().to_pylist()} == expected
    (back,) = views.store.linked("top", "ks", where="m = 2").outputs
    assert {row["k"] for row in back.to_arrow().to_pylist()} == {k for k, m, _ in LINES if m == 2}


def test_views_without_a_common_source_are_told(views: Views) -> None:
    with pytest.raises(lc.NotFoundError, match="no common source"):
        views.store.linked("ks", "alone")
    with pytest.raises(lc.NotFoundError):
        views.store.linked("ks", "lines")


def test_answers_are_sets(views: Views) -> None:
    one, other = (
        views.store.backward("ks", where=where)["lines"].row_set()
        for where in ("k in (1, 2)", "k in (2, 3)")
    )
    ids = {
        "both": {i for k, _, i in LINES if k == 2},
        "either": {i for k, _, i in LINES if k in (1, 2, 3)},
        "first": {i for k, _, i in LINES if k == 1},
    }
    sets = {"both": one & other, "either": one | other, "first": one - other}
    for name, rows in sets.items():
        assert len(rows) == len(ids[name])
        table = rows.to_arrow(["id"], with_rid=True)
        assert set(table["id"].to_pylist()) == ids[name]
        assert table["rid"].to_pylist() == rows.rids().to_pylist() == list(rows)
    assert sets["first"] | sets["both"] == one != other
    assert (one - one).ranges().num_rows == 0 and "0 rows" in repr(one - one)
    whole = views.store.backward("ks")["lines"]
    assert whole.ranges().count == whole.count() == len(LINES)
    assert whole.row_set().ranges().num_rows == len(FILES), "one range a file"


def test_sets_of_other_snapshots_do_not_fit(views: Views) -> None:
    lines = views.store.backward("ks")["lines"].row_set()
    ms = views.store.backward("top", hops=1)["ms"].row_set()
    assert lines != ms and lines != 3
    with pytest.raises(lc.UnsupportedError, match="two snapshots"):
        _ = lines & ms
