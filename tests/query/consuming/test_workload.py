"""What a declared workload makes ready, and that queries answered from it are what they were."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import lineage_core as lc
from lineage_core.query.consuming import prepared

LINES = "from backward('out', 'lines', where => $w)"

MODES = (
    "select mode, count(*), count(price), sum(k), avg(k), min(k), max(mode)"
    f" {LINES} group by mode"
)
AIR = f"select k, price {LINES} where mode = 'AIR' order by k"
ONE_MODE = f"select count(*) as n, sum(k) {LINES} where mode = $mode"
ROWS = f"select * exclude (price) {LINES} where k = $k and mode = $mode"
HAVING = (
    f"select k % 2 as odd, mode, sum(k + 1) + count(*) as s {LINES} where length(mode) > $least"
    " group by odd, mode having count(*) > 1 order by s desc, mode limit 5"
)
OUT = (
    "select n, count(*) from forward('lines', 'out', hops => 1, where => $w) group by n order by n"
)
QUERIES = [MODES, AIR, ONE_MODE, ROWS, HAVING, OUT]

ASKED: list[dict[str, Any]] = [
    {"w": "k = 3"},
    {"w": "k > 1"},
    {"w": "k is null"},
    {"w": "k >= 0"},
]

MORE: dict[str, list[dict[str, Any]]] = {
    ONE_MODE: [{"mode": "AIR"}, {"mode": "none"}, {"mode": 'it\'s "x"'}, {"mode": None}],
    ROWS: [{"k": 3, "mode": "AIR"}, {"k": 1, "mode": "RAIL"}],
    HAVING: [{"least": 0}, {"least": 3}],
}


def answers(shipping: Any, query: str) -> list[list[tuple[Any, ...]]]:
    found = []
    for asked in ASKED:
        for more in MORE.get(query, [{}]):
            result = shipping.store.query(query, {**asked, **more})
            assert result.precision == "exact"
            rows = [tuple(row.values()) for row in result.to_arrow().to_pylist()]
            found.append(rows if "order by" in query else sorted(rows, key=repr))
            found.append([tuple(result.to_arrow().schema.names)])
            found.append([tuple(map(str, result.to_arrow().schema.types))])
    return found


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What answered queries: `sums`, `part` or nothing."""
    seen: list[str] = []
    table, rids = prepared.Prepared.table, prepared.Prepared.rids

    def by_sums(self: prepared.Prepared) -> Any:
        found = table(self)
        seen.extend(["sums"] if found is not None else [])
        return found

    def by_part(self: prepared.Prepared) -> Any:
        found = rids(self)
        seen.extend(["part"] if found is not None else [])
        return found

    monkeypatch.setattr(prepared.Prepared, "table", by_sums)
    monkeypatch.setattr(prepared.Prepared, "rids", by_part)
    return seen


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (MODES, {"sums"}),
        (AIR, {"part"}),
        (ONE_MODE, {"sums"}),
        (ROWS, {"part"}),
        (HAVING, {"sums"}),
        (OUT, set()),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_answers_are_what_they_were(
    shipping: Any, used: list[str], query: str, expected: set[str], alone: bool
) -> None:
    before = answers(shipping, query)
    assert not used
    shipping.store.index("out", workload=[query] if alone else QUERIES)
    assert answers(shipping, query) == before
    assert set(used) == expected


def test_what_no_query_needs_is_not_there(shipping: Any) -> None:
    (record,) = shipping.store.index("out", workload=[AIR])
    (entry,) = record.entries
    assert entry.dataset == shipping.lines.snapshot.dataset
    (part,) = entry.parts
    assert (part.direction, part.where, part.by) == ("backward", ("mode = 'AIR'",), ())
    assert not entry.sums and record.workload == (AIR,)
    files = sorted(path.name for path in Path(shipping.store.url[7:]).glob("runs/*/index/*"))
    names = [re.sub(r"[0-9a-f]{8}", "x", name) for name in files]
    assert names == ["0-1-backward-x-0.rlx", "0.json"]
    assert not any("AIR" in name for name in files)


def test_one_that_is_there_is_built_again_for_another_workload(shipping: Any) -> None:
    assert shipping.store.index("out", workload=[MODES])
    assert not shipping.store.index("out", workload=[MODES])
    (record,) = shipping.store.index("out", workload=[AIR])
    (plain,) = shipping.store.index("out")
    assert len(plain.entries) == 2 and not plain.workload
    names = {path.name for path in Path(shipping.store.url[7:]).glob("runs/*/index/*")}
    assert names == {"0.json", *(Path(p).name for entry in plain.entries for p in entry.paths)}
    assert not names & {Path(p).name for entry in record.entries for p in entry.paths}


def test_other_questions_are_answered_as_before(shipping: Any, used: list[str]) -> None:
    expected = shipping.store.backward("out", where="k = 3")["parts"].rids()
    lines = shipping.store.backward("out", where="k = 3")["lines"].rids()
    forward = shipping.store.forward("lines", where="k = 2", hops=1)["out"].rids()
    shipping.store.index("out", workload=[AIR])
    assert shipping.store.backward("out", where="k = 3")["parts"].rids() == expected
    assert shipping.store.backward("out", where="k = 3")["lines"].rids() == lines
    assert shipping.store.forward("lines", where="k = 2", hops=1)["out"].rids() == forward
    rail = f"select count(*) {LINES} where mode = 'RAIL'"
    assert shipping.query(rail, {"w": "k = 2"}) == [(2,)]
    assert not used


def test_groups_that_share_rows_are_not_added_up(shipping: Any, used: list[str]) -> None:
    sql = "select count(*) from backward('out', 'parts', where => $w)"
    shipping.store.index("out", workload=[sql])
    assert shipping.query(sql, {"w": "k > 3"}) == [(2,)]
    assert used == ["sums"], "a part is in the lineage of one row"
    share = "select count(*) from forward('parts', 'out', hops => 1, where => $w)"
    shipping.store.index("out", workload=[share])
    used.clear()
    assert shipping.query(share, {"w": "k = 1"}) == [(1,)]
    assert used == [], "two parts went into one row"
    assert shipping.query(share, {"w": "rid = 'r0'"}) == [(1,)]
    assert used == ["sums"]


@pytest.mark.parametrize("suffix", ["rlx", "parquet"])
def test_damage_is_seen(shipping: Any, suffix: str) -> None:
    shipping.store.index("out", workload=QUERIES)
    for path in Path(shipping.store.url[7:]).glob(f"runs/*/index/*.{suffix}"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    with pytest.raises(lc.CorruptError):
        shipping.store.query(ROWS if suffix == "rlx" else MODES, {"w": "k = 3"} | (
            {"k": 3, "mode": "AIR"} if suffix == "rlx" else {}
        ))


@pytest.mark.parametrize("suffix", ["rlx", "parquet"])
def test_a_file_that_is_gone_is_seen(shipping: Any, suffix: str) -> None:
    shipping.store.index("out", workload=[MODES, AIR])
    for path in Path(shipping.store.url[7:]).glob(f"runs/*/index/*.{suffix}"):
        path.unlink()
    with pytest.raises(lc.LineageError, match="gone"):
        shipping.store.query(AIR if suffix == "rlx" else MODES, {"w": "k = 3"})


def test_views_in_each_others_places_are_seen(shipping: Any) -> None:
    other = AIR.replace("AIR", "RAIL")
    shipping.store.index("out", workload=[AIR, other])
    one, two = sorted(Path(shipping.store.url[7:]).glob("runs/*/index/*.rlx"))
    first = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(first)
    with pytest.raises(lc.CorruptError, match="another relation"):
        shipping.store.query(AIR, {"w": "k = 3"})


def test_a_workload_is_of_queries(shipping: Any) -> None:
    with pytest.raises(lc.PredicateError):
        shipping.store.index("out", workload=["select * from 'lines.parquet'"])
    with pytest.raises(lc.NotFoundError, match="nothing"):
        shipping.store.index("out", workload=[f"select sum(nothing) {LINES} group by mode"])


def test_a_build_that_breaks_off_leaves_the_old_one(
    shipping: Any, used: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shipping.store.index("out", workload=[AIR])
    expected = answers(shipping, AIR)
    with monkeypatch.context() as broken:
        broken.setattr("lineage_core.query.indexing.record.dumps", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            shipping.store.index("out", workload=[AIR.replace("AIR", "RAIL"), MODES])
    used.clear()
    assert answers(shipping, AIR) == expected and set(used) == {"part"}
    assert not shipping.store.index("out", workload=[AIR]), "it is there"


def test_what_is_not_exact_is_said_to_be_so(
    shipping: Any, used: list[str], committing: Any
) -> None:
    commit, record, program = committing
    blurred = program(shipping.out, shipping.lines, why=("an opaque operator blurs it",))
    commit(shipping.store, record(blurred, [shipping.out, shipping.lines]), minute=2)
    plain = shipping.store.query(ONE_MODE, {"w": "k = 3", "mode": "AIR"})
    shipping.store.index("out", workload=[ONE_MODE])
    summed = shipping.store.query(ONE_MODE, {"w": "k = 3", "mode": "AIR"})
    assert used == ["sums"]
    assert summed.precision == plain.precision == "superset"
    assert summed.reasons == plain.reasons and "opaque" in summed.reason
