"""Queries made up at random are answered the same with any index as without one."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lineage_core as lc
from tests.query.conftest import ARROW

COLUMNS = {
    "k": "long",
    "mode": "string",
    "price": "decimal(10,2)",
    "d": "double",
    "f": "float",
    "day": "date",
    "at": "timestamp",
    "flag": "boolean",
    "Odd Name": "short",
    "key": "integer",
}

MODES = ["AIR", None, "rail", 'it\'s "x"', "\u00e6 \U0001f648", "", "3"]
DOUBLES = [0.5, math.nan, -0.0, 0.0, math.inf, None, -math.inf, 2.25]


def row(i: int) -> tuple[Any, ...]:
    return (
        i % 6 if i % 7 else None,
        MODES[i % 7],
        Decimal(i % 11) / 4 if i % 5 else None,
        DOUBLES[(i * 5 + i // 8) % 8],
        DOUBLES[(i // 2) % 8],
        date(2026, 1, 1 + i % 3) if i % 9 else None,
        datetime(2026, 3, 29, 0, 30, tzinfo=UTC) + timedelta(minutes=30 * (i % 4)),
        [True, False, None][i % 3],
        i % 4 - 1,
        i % 3,
    )


class Generated:
    """`lines`, partitioned, made `out` by `k`; the store has an index or not."""

    def __init__(self, lake: Any, store: lc.LineageStore, commit: Any, record: Any, by: Any):
        rows = [row(i) for i in range(45)]
        rows += [rows[3], rows[3]]
        self.lines = lake.write(
            "lines",
            COLUMNS,
            [rows[:15], [], rows[15:30], rows[30:]],
            partitions=[("a", "1"), ("b", None), (None, "2"), ("a", "2")],
            partition_columns={"p": "string", "q": "integer"},
        )
        self.out = lake.write("out", {"k": "long", "n": "long"}, [[(k, k * 2) for k in range(6)]])
        self.store = store
        self.run = commit(store, record(by(self.out, self.lines), [self.out, self.lines]))

    def forget(self) -> None:
        shutil.rmtree(Path(self.store.url[7:]) / "runs" / self.run / "index", ignore_errors=True)

    def answer(self, sql: str, given: dict[str, Any]) -> Any:
        try:
            found = self.store.query(sql, given)
        except lc.LineageError as error:
            return type(error)
        table = found.to_arrow()
        rows = [
            tuple(map(plain, r.values()))
            for r in table.rename_columns([str(i) for i in range(table.num_columns)]).to_pylist()
        ]
        ordered = rows if "order by" in sql else sorted(rows, key=repr)
        return table.schema.names, list(map(str, table.schema.types)), ordered, found.precision


def plain(value: Any) -> Any:
    """Return what is equal for equal values, of which -0.0 and 0.0 are two of."""
    if isinstance(value, float):
        return "0.0" if value == 0 else repr(value)
    return value


@pytest.fixture(scope="module")
def generated(
    tmp_path_factory: pytest.TempPathFactory, lake_at: Any, committing: Any
) -> Iterator[Generated]:
    root = tmp_path_factory.mktemp("generated")
    commit, record, by = committing
    store = lc.open_store(str(root / "store"))
    yield Generated(lake_at(root / "lake"), store, commit, record, by)
    store.catalog.close()


GROUPS = [
    "k", "mode", "K % 2", "length(mode)", "price", "d", "f", "day", "at", "flag", "p", "q",
    '"Odd Name"', '"odd name" + 1', "key", "date_trunc('month', day)", "coalesce(mode, 'none')",
    "price * 2", "k = 3", "case when d > 1 then 'big' else mode end", "(k - (1 - 2))", "d + f",
    "upper(mode) || 'x'", "k::hugeint", "hash(k)", "at + interval 1 hour", "extract(hour from at)",
    "[k, key]", "{'a': k}", "-k", "3 - key", "rid", "L.rid % 2", "to_days(key)",
    "cast(at as time)", "k::varchar", "L.key", "not flag", "day - date '2026-01-01'",
]  # fmt: skip
CONSTANT = [
    "mode = 'AIR'", "k > 1", "mode is null", "k in (1, 2)", "mode = 'it''s \"x\"'", "flag",
    "(k = 1 or mode = 'rail')", "not flag", "d > 0", "p = 'a'", "q is not null", "price < 2.0",
    "not (k in (1, 3))", "mode <> 'AIR'", "3 = k", "day between '2026-01-01' and '2026-01-02'",
]  # fmt: skip
PARAMETRIC = [
    ("{g} = ${p}", 1), ("{g} in (${p}, ${q})", 2), ("{g} > ${p}", 1), ("not ({g} = ${p})", 1),
    ("({g} = ${p} or {g} is null)", 1), ("${p} = {g}", 1), ("{g} is not distinct from ${p}", 1),
    ("{g} between ${p} and ${q}", 2), ("({g} = ${p} or k = 1)", 1), ("{g} not in (${p})", 1),
    ("coalesce({g} = ${p}, true)", 1),
]  # fmt: skip
COMPARED: dict[str, list[Any]] = {
    "k": [0, 1, 3, None, 99], "mode": ["AIR", None, 'it\'s "x"', "\u00e6 \U0001f648", "nix"],
    "price": [Decimal("0.5"), 0.75, None], "d": [math.nan, 0.0, -0.0, 0.5, math.inf, None],
    "f": [0.5, math.nan], "day": [date(2026, 1, 2), None], "flag": [True, False, None],
    "K % 2": [0, 1], "length(mode)": [3, 0, None], "p": ["a", None], "q": [1, 2],
    '"Odd Name"': [0, -1], "coalesce(mode, 'none')": ["none", "AIR"], "price * 2": [1, 0],
    "at": [datetime(2026, 3, 29, 1, tzinfo=UTC)], "L.key": [0, 1], "k + 0": [1, 2],
    "k = 3": [True, False],
}  # fmt: skip
AGGREGATES = [
    "count(*)", "count(mode)", "sum(k)", "avg(k)", "min(mode)", "max(mode)", "sum(price)",
    "avg(price)", "min(d)", "max(d)", "sum(f)", "avg(d)", "min(day)", "max(at)", "sum(k) / 3",
    "count(*) + sum(k + 1)", "avg(f)", "sum(key) // 2", "max(f) - min(f)", "min(flag)",
    "count(1)", "COUNT(*) * 1.5", "coalesce(sum(price), 0)", "sum(flag::int)", "sum(price * 2)",
    "repeat('x', count(*))", "sum(k) || 'x'", "typeof(sum(k))", "sum(case when flag then 1 end)",
    "round(avg(k), 2)", "min(k::hugeint)", "count(distinct k)", "avg(day)", "sum(k) % 4",
    "typeof(count(*))", "max(key) filter (where k > 1)", "min(L.k)", "sum(l.k)", "bool_and(flag)",
    "sum(\"odd NAME\")", "case when count(*) > 3 then min(k) else max(k) end", "sum(k * 0.1)",
    "-sum(k)", "sum(k) in (1, 7)", "avg(price) > 1", "min([k, key])", "count(d)",
]  # fmt: skip
ALIASES = ["x", "k", "mode", "N", '"Odd Name"', "d0", "a0", "rid", "sums"]


Asked = tuple[str, list[dict[str, Any]]]
"""A query, and values of its parameters."""


@st.composite
def queries(draw: Any) -> Asked:
    """Draw a query, and values of its parameters."""
    groups = draw(st.lists(st.sampled_from(GROUPS), max_size=2, unique=True))
    where = draw(st.lists(st.sampled_from(CONSTANT), max_size=2, unique=True))
    choices: dict[str, list[Any]] = {"w": ["k = 3", "k > 1", "k >= 0", "k is null"]}
    for number in range(draw(st.integers(0, 2))):
        by = draw(st.sampled_from(sorted(COMPARED)))
        form, count = draw(st.sampled_from(PARAMETRIC))
        places = [f"v{number}{i}" for i in range(count)]
        where.append(form.format(g=by, p=places[0], q=places[-1]))
        choices |= {name: COMPARED[by] for name in places}
    where = draw(st.permutations(where))
    aggregates = draw(st.lists(st.sampled_from(AGGREGATES), max_size=3, unique=True))
    plain_rows = not groups and not aggregates
    if plain_rows:
        aggregates = draw(
            st.lists(
                st.sampled_from(["*", "k", "mode", "p", "rid"]), min_size=1, max_size=2, unique=True
            )
        )
    selected = draw(st.permutations(groups + aggregates))
    aliases = [draw(st.sampled_from([None, None, *ALIASES])) for _ in selected]
    used: set[str] = set()
    columns = []
    names: list[str | None] = []
    for column, alias in zip(selected, aliases, strict=True):
        if alias is None or column == "*" or alias.lower() in used:
            columns.append(column)
            names.append(None)
        else:
            used.add(alias.lower())
            columns.append(f"{column} as {alias}")
            names.append(alias)
    sql = f"select {', '.join(columns)} from backward('out', 'lines', where => $w) L"
    sql += f" where {' and '.join(where)}" if where else ""
    if groups:
        sql += " group by " + draw(
            st.sampled_from(
                [
                    ", ".join(groups),
                    "all",
                    ", ".join(f"({g})" for g in groups),
                    ", ".join(str(selected.index(g) + 1) for g in groups),
                    ", ".join(f"({selected.index(g) + 1})" for g in groups),
                ]
            )
        )
        if draw(st.booleans()):
            sql += " having " + draw(
                st.sampled_from(
                    [
                        "count(*) > 1",
                        "sum(k) > $h",
                        "min(mode) < 'b'",
                        "count(*) > $h",
                        *(f"{n} is not null" for n in names if n),
                    ]
                )
            )
            choices["h"] = [0, 2, 5]
    if draw(st.booleans()) and "*" not in columns:
        first = draw(
            st.sampled_from(
                [
                    *(n for n in names if n),
                    *(f"({n})" for n in names if n),
                    "(1)",
                    "1",
                    "count(*) desc nulls last",
                ]
                if not plain_rows
                else ["1", "k"]
            )
        )
        numbers = [str(i + 1) for i in range(len(columns))]
        sql += f" order by {', '.join([first, *numbers])}"
        if draw(st.booleans()):
            sql += draw(st.sampled_from([" limit 2", " limit $l", " limit 3 offset 1"]))
            choices["l"] = [1, 4]
    choices = {name: values for name, values in choices.items() if f"${name}" in sql}
    given = st.fixed_dictionaries({n: st.sampled_from(v) for n, v in choices.items()})
    return sql, draw(st.lists(given, min_size=1, max_size=4))


MANY = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@MANY
@given(st.lists(queries(), min_size=1, max_size=2))
def test_any_index_gives_the_same_answers(generated: Generated, asked: list[Asked]) -> None:
    same(generated, asked)


def same(generated: Generated, asked: list[Asked]) -> None:
    """Hold answers against those without an index: of each query alone, and of all together."""
    generated.forget()
    before = [[generated.answer(sql, values) for values in several] for sql, several in asked]
    kept = [
        (sql, several, found)
        for (sql, several), found in zip(asked, before, strict=True)
        if not any(isinstance(each, type) for each in found)
    ]
    texts = [sql for sql, _, _ in kept]
    for workload in [[sql] for sql in texts] + ([texts] if len(texts) > 1 else []):
        generated.forget()
        generated.store.index("out", run=generated.run, workload=workload)
        for sql, several, found in kept:
            for values, expected in zip(several, found, strict=True):
                assert generated.answer(sql, values) == expected, (sql, values, workload)


FROM = "from backward('out', 'lines', where => $w) L"


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        (f"select -k as k, count(*) {FROM} group by k order by k limit 1", {}),
        (f"select -k as k, count(*) {FROM} group by L.k order by (K) desc limit 1", {}),
        (f"select k, count(*) {FROM} where k = $k group by (1)", {"k": 3}),
        (f"select 1 as one {FROM} group by ()", {}),
        (f"select repeat('x', count(*)), typeof(count(*)), typeof(sum(k)) {FROM}", {}),
        (f"select sum(k) // 2, k::hugeint, typeof(k::hugeint) {FROM} group by k::hugeint", {}),
        (f"select rid % 2, count(*) {FROM} group by 1", {}),
        (f"select avg(day), max(at), min([k, key]) {FROM} group by mode", {}),
        (f"select count(*) {FROM} group by to_days(key)", {}),
        (f"select count(*) {FROM} where day - date '2026-01-01' = $n", {"n": 1}),
        (f"select sum(mode::int) {FROM} where length(mode) = 1", {}),
        (f"select d, count(*) {FROM} where signbit(d) <> $s group by d", {"s": True}),
        (f"select k {FROM} where d = $d and signbit(d) <> $s", {"d": 0.0, "s": True}),
        (f"select k {FROM} where f = $d and 1 / f < $s", {"d": 0.0, "s": 0}),
        (f"select count(*) {FROM} where mode collate nocase = $m", {"m": "air"}),
        (f"select count(*), sum(k) {FROM} where k = 9", {}),
        (f"select k, count(*) {FROM} where k = 9 group by k", {}),
    ],
)
@pytest.mark.parametrize("where", ["k >= 0", "k = 3"])
def test_answers_stay_the_same(
    generated: Generated, sql: str, values: dict[str, Any], where: str
) -> None:
    assert not isinstance(generated.answer(sql, values | {"w": where}), type)
    same(generated, [(sql, [values | {"w": where}])])


LONGS = '{"type":"array","elementType":"long","containsNull":true}'


def test_columns_of_no_plain_type_are_no_obstacle(
    lake: Any, store: lc.LineageStore, committing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ARROW, LONGS, pa.list_(pa.int64()))
    commit, record, by = committing
    lines = lake.write("lines", {"k": "long", "l": LONGS}, [[(i % 3, [i, 7]) for i in range(9)]])
    out = lake.write("out", {"k": "long"}, [[(0,), (1,), (2,)]])
    commit(store, record(by(out, lines), [out, lines]))
    called = "from backward('out', 'lines', where => 'k > 0')"
    queries = [f"select count(*) {called}", f"select max(l) {called}"]
    before = [store.query(sql).to_arrow() for sql in queries]
    store.index("out", workload=queries)
    assert [store.query(sql).to_arrow() for sql in queries] == before
