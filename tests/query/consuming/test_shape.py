"""Which queries have the simple shape, and what is read off them."""

from __future__ import annotations

from contextlib import suppress

import pytest

from lineage_core.errors import PredicateError
from lineage_core.index.record import Direction
from lineage_core.query.consuming.call import Call, Parameter
from lineage_core.query.consuming.shape import Shape, shape
from lineage_core.query.consuming.text import parse

FROM = "from backward('out', 'lines') as L"


def read(sql: str, *columns: str) -> Shape:
    found = shape(parse(sql), frozenset(columns) or None)
    assert found is not None
    return found


def groups(sql: str, *columns: str) -> list[str]:
    return [tree.sql("duckdb") for tree in read(sql, *columns).groups]


def aggregates(sql: str) -> list[tuple[str, str | None]]:
    found = read(sql).aggregates
    return [
        (str(each.kind), each.argument.sql("duckdb") if each.argument is not None else None)
        for each in found
    ]


def condition(text: str) -> tuple[str, str | None, list[str]]:
    (found,) = read(f"select count(*) {FROM} where {text}").conditions
    expression = None if found.expression is None else found.expression.sql("duckdb")
    return str(found.kind), expression, [value.sql("duckdb") for value in found.values]


def test_a_template_has_a_shape() -> None:
    found = read(
        "select Mode, count(*) as n from forward($d, 'out', where => $w, rids => [1, $r]) f"
        " where f.day = $day and PRICE > 3 group by f.mode having sum(price) > $least"
        " order by max(day) limit $n"
    )
    assert found.call == Call(
        Direction.FORWARD,
        Parameter("d"),
        "out",
        (("rids", (1, Parameter("r"))), ("where", Parameter("w"))),
    )
    assert [str(each.kind) for each in found.conditions] == ["equals", "constant"]
    assert [tree.sql("duckdb") for tree in found.groups] == ["mode"]
    kinds = [str(each.kind) for each in found.aggregates]
    assert kinds == ["count_rows", "sum", "max"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = $p", ("equals", "a", ["$p"])),
        ('$p = L."A"', ("equals", "a", ["$p"])),
        ("(a = ?)", ("equals", "a", ["$1"])),
        ("A + 1 = $p::date", ("equals", "a + 1", ["CAST($p AS DATE)"])),
        ("a = 'X'", ("constant", "a", ["'X'"])),
        ("a = -1", ("constant", "a", ["-1"])),
        ("a in ($p, $q)", ("one_of", "a", ["$p", "$q"])),
        ("a in ($p, 3)", ("one_of", "a", ["$p", "3"])),
        ("a in (1, 2)", ("constant", "a", ["1", "2"])),
        ("a = b", ("constant", None, [])),
        ("a = null", ("constant", None, [])),
        ("a < 3 or b = 2", ("constant", None, [])),
        ("1 = 1", ("constant", None, [])),
        ("a in (b, 1)", ("constant", None, [])),
        ("a < $p", ("other", None, [])),
        ("a <> $p", ("other", None, [])),
        ("a not in ($p, $q)", ("other", None, [])),
        ("a = $p or b = $q", ("other", None, [])),
        ("not a = $p", ("other", None, [])),
        ("a = b + $p", ("other", None, [])),
        ("a + $p = 1", ("other", None, [])),
        ("$p = $q", ("other", None, [])),
        ("a in (b, $p)", ("other", None, [])),
        ("a between $p and 3", ("other", None, [])),
        ("a is not distinct from $p", ("other", None, [])),
    ],
)
def test_conditions(text: str, expected: tuple[str, str | None, list[str]]) -> None:
    assert condition(text) == expected


def test_conjuncts_are_flat() -> None:
    found = read(f"select count(*) {FROM} where a = 1 and (b = 2 and (c = 3 or d = 4)) and e = $p")
    texts = [each.tree.sql("duckdb") for each in found.conditions]
    assert texts == ["a = 1", "b = 2", "c = 3 OR d = 4", "e = $p"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("count(*)", ("count_rows", None)),
        ("count()", ("count_rows", None)),
        ("count(1)", ("count_rows", None)),
        ("COUNT(L.A)", ("count", "a")),
        ("sum((l.a + (1)) * (b))", ("sum", "(a + 1) * b")),
        ("avg(((a)))", ("avg", "a")),
        ("mean(a)", ("other", None)),
        ("min(a)", ("min", "a")),
        ("max(a::date)", ("max", "CAST(a AS DATE)")),
        ("count(distinct a)", ("other", None)),
        ("sum(distinct a)", ("other", None)),
        ("sum(a) filter (where b)", ("other", None)),
        ("count(*) filter (where b)", ("other", None)),
        ("max(a, 3)", ("other", None)),
        ("first(a order by b)", ("other", None)),
        ("median(a)", ("other", None)),
        ("sem(a)", ("other", None)),
        ("string_agg(a, ',')", ("other", None)),
        ("arg_max(a, b)", ("other", None)),
        ("approx_count_distinct(a)", ("other", None)),
        ("histogram(a)", ("other", None)),
        ("bool_or(a)", ("other", None)),
        ("count_if(a)", ("other", None)),
        ("quantile_cont(a, 0.5)", ("other", None)),
    ],
)
def test_aggregates(call: str, expected: tuple[str, str | None]) -> None:
    assert aggregates(f"select {call} {FROM}") == [expected]
    assert aggregates(f"select k, 1 + {call} as x {FROM} group by k") == [expected]
    assert aggregates(f"select k {FROM} group by k having {call} is null") == [expected]
    assert aggregates(f"select k {FROM} group by k order by {call}") == [expected]


def test_every_aggregate_is_seen() -> None:
    from lineage_core.query.consuming.functions import AGGREGATES

    for name in sorted(AGGREGATES - {"count_star"}):
        seen = []
        for arguments in ("a", "a, b"):
            with suppress(PredicateError):  # not all take one argument, or two
                seen.append(aggregates(f"select k, {name}({arguments}) {FROM} group by k"))
        assert seen and all(len(found) == 1 for found in seen), name


def test_equal_aggregates_are_one() -> None:
    sql = f"select sum(l.A), SUM((a)), sum(a) + 1 {FROM} having sum(a) > $p order by sum(a)"
    assert aggregates(sql) == [("sum", "a")]


@pytest.mark.parametrize(
    ("select", "group", "columns", "expected"),
    [
        ("L.A, b", "l.a, B", "", ["a", "b"]),
        ("a + 1, count(*)", "1", "", ["a + 1"]),
        ("a, b + 1, count(*)", "all", "", ["a", "b + 1"]),
        ("a as a, count(*)", "a", "", ["a"]),
        ("year(d) as y, count(*)", "y", "d", ["YEAR(d)"]),
        ("year(d) as d, count(*)", "d", "d", ["d"]),
        ("b + 1 as x, x * 2 as y", "x, y", "b", ["b + 1", "(b + 1) * 2"]),
        ("s.f", "s.f", "", ["s.f"]),
        ("a, a", "a, (a)", "", ["a"]),
    ],
)
def test_groups(select: str, group: str, columns: str, expected: list[str]) -> None:
    assert groups(f"select {select} {FROM} group by {group}", *columns.split()) == expected


def test_what_a_name_means_may_not_be_known() -> None:
    sql = f"select year(d) as y, count(*) {FROM} group by y"
    assert shape(parse(sql)) is None
    assert shape(parse(sql), frozenset({"d"})) is not None
    filtered = f"select a + 1 as b, count(*) {FROM} where b = $p group by all"
    assert shape(parse(filtered)) is None
    (found,) = read(filtered, "a").conditions
    assert found.expression is not None and found.expression.sql() == "a + 1"
    (found,) = read(filtered, "a", "b").conditions
    assert found.expression is not None and found.expression.sql() == "b"


@pytest.mark.parametrize(
    "sql",
    [
        f"select a {FROM}",
        f"select * {FROM}",
        f"select *, count(*) {FROM} group by all",
        f"select distinct a {FROM} group by a",
        f"select count(*) {FROM}, backward('x', 'y')",
        f"select count(*) {FROM} join backward('x') using (k)",
        "select count(*) from (from backward('out', 'lines'))",
        "with a as (from backward('out')) select count(*) from a",
        f"with a as (select 1) select count(*) {FROM}",
        f"select count(*) {FROM} union select count(*) {FROM}",
        f"(select count(*) {FROM})",
        f"select count(*) {FROM} where a in (select a {FROM})",
        f"select (select 1), count(*) {FROM}",
        f"select sum(a) over () {FROM}",
        f"select a, count(*) {FROM} group by a qualify row_number() over () = 1",
        f"select a, count(*) {FROM} group by rollup (a)",
        f"select a, count(*) {FROM} group by cube (a)",
        f"select a, count(*) {FROM} group by grouping sets ((a), ())",
        f"select a, count(*) {FROM} group by 7",
        "select count(*) from backward('out') as t(a, b)",
        "select count(*) from (values (1)) v(x)",
        "select count(*)",
    ],
)
def test_other_shapes(sql: str) -> None:
    assert shape(parse(sql)) is None


def test_shapes_of_equal_queries_are_equal() -> None:
    one = read(f"select Mode, sum(L.price) {FROM} where l.day = $p group by L.mode")
    other = read(
        "select sum((price)), mode from backward('out', 'lines') where $p = (day) group by \"MODE\""
    )
    assert one == other and hash(one) == hash(other)
    assert one != read(f"select mode, sum(price) {FROM} where day = $q group by mode")
