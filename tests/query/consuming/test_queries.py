"""Queries over lineage, against Python over the rows that were written."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import lineage_core as lc
from lineage_core.query import SourceAnswer


def lines(shipping: Any, *keys: int) -> list[tuple[int, dict[str, Any]]]:
    return [(rid, row) for rid, row in sorted(shipping.lines.rows.items()) if row["k"] in keys]


def test_rows_are_grouped(shipping: Any) -> None:
    found = shipping.query(
        "select mode, count(*) as n from backward('out', 'lines', where => 'k < 3')"
        " group by mode order by mode nulls first"
    )
    expected = Counter(row["mode"] for _, row in lines(shipping, 0, 1, 2))
    assert dict(found) == expected and found[0][0] is None
    assert sum(expected.values()) > len(expected), "there are equal rows"


def test_rids_are_no_part_of_the_star(shipping: Any) -> None:
    star = "select * from backward('out', 'lines', where => 'k = 3')"
    expected = lines(shipping, 3)
    assert Counter(shipping.query(star)) == Counter(tuple(row.values()) for _, row in expected)
    both = shipping.query(
        "select rid, * from backward('out', 'lines', where => 'k = 3') order by 1"
    )
    assert both == [(rid, *row.values()) for rid, row in expected]
    assert len({rid >> 40 for rid, _ in expected}) == 2, "of several files"
    of_one = shipping.query(
        "select a.* from backward('out', 'lines', where => 'k = 3') a where rid>=0"
    )
    assert Counter(of_one) == Counter(shipping.query(star))


def test_a_column_called_rid_wins(shipping: Any) -> None:
    found = shipping.query(
        "select rid from backward('out', 'parts', where => 'k = 0') order by rid"
    )
    assert found == [("r0",), ("r6",)]
    whole = shipping.query(
        "select * from backward('out', 'parts', where => 'k = 0') where rid <> ''"
    )
    assert sorted(whole) == [(0, "r0"), (0, "r6")]


def test_relations_are_joined_and_named(shipping: Any) -> None:
    found = shipping.query(
        "with chosen as (from backward('out', 'lines', where => 'k in (1, 2)')),"
        " modes as (select k, mode from chosen where mode is not null)"
        " select p.rid, m.mode, count(*) over (partition by p.k) from modes m"
        " join backward('out', 'parts') p using (k) order by all"
    )
    parts = shipping.parts.rows.values()
    joined = [
        (part["k"], part["rid"], row["mode"])
        for _, row in lines(shipping, 1, 2)
        for part in parts
        if part["k"] == row["k"] and row["mode"] is not None
    ]
    sizes = Counter(k for k, _, _ in joined)
    assert found == sorted((rid, mode, sizes[k]) for k, rid, mode in joined)


def test_a_star_over_a_join_is_of_the_columns(shipping: Any) -> None:
    found = shipping.store.query(
        "select *, a.rid as first from backward('out', 'lines', where => 'k=1') a"
        " join forward('lines', 'out', where => 'k=1', hops => 1) b on a.k = b.k and b.rid >= 0"
    ).to_arrow()
    assert len(found.column_names) == 3 + 2 + 1 and found.column_names[-1] == "first"
    assert found.num_rows == len(lines(shipping, 1))


def test_forward_and_all_the_way(shipping: Any) -> None:
    outermost = "select count(*), min(k), max(k) from backward('top', 'lines')"
    assert shipping.query(outermost) == [(len(lines(shipping, 4, 5)), 4, 5)]
    near = "select n from backward('top', hops => 1) order by n"
    assert shipping.query(near) == [(8,), (10,)]
    onward = "select k from forward('lines', 'top', where => $w)"
    assert shipping.query(onward, {"w": "k > 1 and k < 5"}) == [(4,)]
    assert shipping.query("select n from forward('lines', 'out', where => 'k=2', hops => 1)") == [
        (4,)
    ]


def test_set_operations_and_subqueries(shipping: Any) -> None:
    found = shipping.query(
        "select k from backward('out', 'lines')"
        " where k in (select k from backward('top', 'out', hops => 1))"
        " union select (select max(k) from backward('out', 'lines', where => 'k < 2'))"
        " union all (select * from (values (9)) v(x)) order by 1 limit 10"
    )
    assert found == [(1,), (4,), (5,), (9,)]


def test_all_rows_and_none(shipping: Any) -> None:
    keyed = [row for row in shipping.parts.rows.values()]
    assert shipping.query("select count(*) from backward('out', 'parts')") == [(len(keyed),)]
    assert shipping.query("select count(*), sum(k) from backward('out', 'lines', rids => [])") == [
        (0, None)
    ]


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        ("where => $w, rids => null", {"w": "k = 3"}),
        ("rids => [3]", ()),
        ("rids => [$r]", {"r": 3}),
        ("rids => $1", [[3]]),
        ("rids => ?", [[3]]),
        ("where => ?", ["k = 3"]),
        ("where => 'k = 3', as_of => '2026-01-01'", ()),
        ("where => 'k = 3', as_of => $t", {"t": datetime(2026, 1, 1, tzinfo=UTC)}),
        ("where := 'k = 3', strategy => 'saved', hops => $h", {"h": 1}),
    ],
)
def test_arguments(shipping: Any, sql: str, parameters: Any) -> None:
    sql = sql.replace(", rids => null", "")
    found = shipping.query(
        f"select rid from backward('out', 'lines', {sql}) order by 1", parameters
    )
    assert [rid for (rid,) in found] == [rid for rid, _ in lines(shipping, 3)]


def test_parameters_of_conditions(shipping: Any) -> None:
    sql = "from backward($d, 'lines') select count(*) where mode = $m and k in ($a,$b) limit $n"
    given = {"d": "out", "m": 'it\'s "x"', "a": 2, "b": 4, "n": 1}
    expected = [row for _, row in lines(shipping, 2, 4) if row["mode"] == given["m"]]
    assert expected and shipping.query(sql, given) == [(len(expected),)]
    marks = "from backward(?, 'lines') select count(*) where mode = ? and k in (?,?) limit ?"
    assert shipping.query(marks, list(given.values())) == [(len(expected),)]
    hostile = "x' or 1=1 --"
    assert shipping.query(sql, {**given, "m": hostile}) == [(0,)]


@pytest.mark.parametrize(
    ("sql", "parameters", "what"),
    [
        ("select $a", {}, r"no value for its parameter \$a"),
        ("select $a", {"a": 1, "b": 2}, r"no parameter \$b"),
        ("select ?, ?", [1], r"\$2"),
        ("select ?", [1, 2], r"\$2"),
        ("select ?", "x", "a list or a dict"),
        ("select k from backward('out', 'lines', wher => '1')", (), "has no argument 'wher'"),
        ("select k from backward('out', 'lines', where => k)", (), "other than a constant"),
        (
            "select k from backward('out', 'lines', where => 'k' || '=1')",
            (),
            "other than a constant",
        ),
        ("select k from backward('out', 'lines', hops => 'x')", (), "type of value for hops"),
        ("select k from backward('out', 'lines', hops => 1, hops => 2)", (), "twice"),
        ("select k from backward('out', 'lines', 'x')", (), "takes a dataset"),
        ("select k from backward(where => 'x', 'out')", (), "takes a dataset"),
        ("select k from backward('out', 'lines', as_of => 'soon')", (), "ISO 8601"),
        ("select k from backward($d)", {"d": 7}, "names of datasets"),
        ("select k from backward('out')", (), "leads to 2 datasets"),
        ("select kk from backward('out', 'lines')", (), "no column 'kk'"),
        ("select l.modes from backward('out', 'lines') l", (), "no column 'modes'"),
        ("select mode::int from backward('out', 'lines')", (), "ConversionException"),
        ("select k, count(*) from backward('out', 'lines')", (), "GROUP BY"),
        ("select sum(mode) from backward('out', 'lines')", (), "BinderException"),
        ("with a as (select 1), A as (select 2) select * from a", (), "alike"),
        ("select 1 +", (), "does not parse at line 1"),
        ("select 'x", (), "cannot be read"),
    ],
)
def test_what_does_not_fit(shipping: Any, sql: str, parameters: Any, what: str) -> None:
    with pytest.raises(lc.PredicateError, match=what) as caught:
        shipping.store.query(sql, parameters)
    assert "RAIL" not in str(caught.value) and "AIR" not in str(caught.value)


def test_a_column_that_is_not_there_has_near_names(shipping: Any) -> None:
    with pytest.raises(lc.PredicateError, match="did you mean mode"):
        shipping.store.query("select moed from backward('out', 'lines')")


def test_a_changed_file_is_not_read(shipping: Any) -> None:
    path = Path(shipping.lines.snapshot.files[0].path.removeprefix("file://"))
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(lc.ChangedError, match=path.name):
        shipping.store.query("select count(*) from backward('out', 'lines')")
    assert shipping.query("select count(*) from backward('out', 'parts')")


def test_odd_file_names_are_read(
    lake_at: Any,
    tmp_path: Path,
    store: lc.LineageStore,
    commit_run: Any,
    record_of: Any,
    program: Any,
) -> None:
    lake = lake_at(tmp_path / "we[i]rd *?'\"% é")
    source = lake.write("source", {"k": "long"}, [[(1,), (2,)], [(2,)]])
    out = lake.write("out", {"k": "long"}, [[(2,)]])
    commit_run(store, record_of(program(out, source), [out, source]))
    assert store.query("select k from backward('out')").to_arrow().to_pylist() == [{"k": 2}] * 2


def test_a_superset_says_so(
    lake: Any, store: lc.LineageStore, commit_run: Any, record_of: Any, program: Any
) -> None:
    source = lake.write("source", {"k": "long"}, [[(1,), (2,)]])
    out = lake.write("out", {"k": "long"}, [[(2,)]])
    commit_run(store, record_of(program(out, source, why=("<a filter>",)), [out, source]))
    sql = "select count(*) as n from backward('out') where k > $k"
    found = store.query(sql, {"k": 0})
    assert found.precision == "superset" and found.to_arrow().to_pylist() == [{"n": 1}]
    assert "<a filter>" in found.reasons[0] and "upper bounds" in found.reasons[-1]
    assert "superset" in repr(found) and "&lt;a filter&gt;" in found._repr_html_()
    assert store.query("select 1 as one").precision == "exact"


def test_states_are_united(
    lake: Any, store: lc.LineageStore, commit_run: Any, record_of: Any, program: Any
) -> None:
    from dataclasses import replace

    out = lake.write("out", {"k": "long"}, [[(1,), (2,)], [(3,)]])
    source = lake.write("source", {"k": "long", "v": "string"}, [[(1, "a"), (1, "a")], [(3, "b")]])
    older = replace(source.snapshot, files=source.snapshot.files[:1])
    top = lake.write("top", {"k": "long"}, [[(1,), (3,)]])
    other = lake.write("other", {"k": "long"}, [[(1,)]])
    old = replace(
        source, snapshot=older, rows={r: v for r, v in source.rows.items() if r < 1 << 40}
    )
    commit_run(store, record_of(program(other, old), [other, old]))
    commit_run(store, record_of(program(out, source), [out, source]), minute=1)
    commit_run(store, record_of(program(top, out, other), [top, out, other]), minute=2)
    states = store.backward("top").states("source")
    assert len(states) == 2, "the two runs read it in different states"
    rows = store.query("select v, k from backward('top', 'source') order by v").to_arrow()
    assert [tuple(row.values()) for row in rows.to_pylist()] == [("a", 1), ("a", 1), ("b", 3)]
    with pytest.raises(lc.PredicateError, match="2 states"):
        store.query("select rid from backward('top', 'source')")


def test_names_that_differ_in_case_cannot_be_told_apart(
    lake: Any, store: lc.LineageStore, commit_run: Any, record_of: Any, program: Any
) -> None:
    source = lake.write("source", {"k": "long", "V": "long", "v": "long"}, [[(1, 2, 3)]])
    out = lake.write("out", {"k": "long"}, [[(1,)]])
    commit_run(store, record_of(program(out, source), [out, source]))
    with pytest.raises(lc.PredicateError, match="case only"):
        store.query("select v from backward('out')")


def test_nothing_is_quoted_from_rows_or_parameters(shipping: Any) -> None:
    for sql, given in (
        ("select cast(mode as date) from backward('out', 'lines')", ()),
        ("select k + $p from backward('out', 'lines')", ["secret"]),
        ("select * from backward('out', 'lines') where k = 'secret'", ()),
    ):
        sql = sql.replace("$p", "$1")
        with pytest.raises(lc.PredicateError) as caught:
            shipping.store.query(sql, given)
        assert not {"RAIL", "AIR", "secret"} & set(str(caught.value).replace("'", " ").split())


@pytest.mark.parametrize(
    ("select", "read"),
    [
        ("select count(*) from {}", []),
        ("select sum(l.PRICE) from {} l where l.k > 1", ["k", "price"]),
        ("select 1 from {} join (values (1)) v(k) using (k)", ["k"]),
        ("select * from {}", ["k", "mode", "price"]),
        ("select l from {} l", ["k", "mode", "price"]),
        ("select c from {} as t(a, b, c)", ["k", "mode", "price"]),
        ("select k from {} natural join (values (1)) v(k)", ["k", "mode", "price"]),
    ],
)
def test_only_columns_in_use_are_read(
    shipping: Any, monkeypatch: pytest.MonkeyPatch, select: str, read: list[str]
) -> None:
    asked: list[list[int]] = []
    relation = SourceAnswer.relation

    def noted(answer: Any, columns: list[int], **more: Any) -> Any:
        asked.append(columns)
        return relation(answer, columns, **more)

    monkeypatch.setattr(SourceAnswer, "relation", noted)
    shipping.query(select.format("backward('out', 'lines')"))
    names = [column.name for column in shipping.lines.snapshot.columns]
    assert [[names[i] for i in each] for each in asked] == [read]
