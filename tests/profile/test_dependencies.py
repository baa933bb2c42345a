"""Functional dependencies of small datasets, against Python dicts; both methods find the same."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lineage_core as lc
from lineage_core.profile import METHODS, Violations, graph

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[Any, ...]

COLUMNS = {
    "s": pa.string(),
    "d": pa.float64(),
    "i": pa.int32(),
    "m": pa.decimal128(10, 2),
    'odd, "name"': pa.date32(),
}
NAMES = list(COLUMNS)
VALUES = (
    st.sampled_from(["", "a", "b", None]),
    st.sampled_from([0.0, -0.0, 1.5, math.nan, -math.nan, None]),
    st.sampled_from([0, 1, None]),
    st.sampled_from([Decimal("0.00"), Decimal("-1.50"), None]),
    st.sampled_from([date(1900, 1, 1), date(2026, 1, 1), None]),
)
FILES = st.lists(st.lists(st.tuples(*VALUES), max_size=8), min_size=1, max_size=3)
SIDE = st.lists(st.integers(0, len(NAMES) - 1), min_size=1, max_size=3, unique=True)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lc.LineageStore]:
    opened = lc.open_store(str(tmp_path_factory.mktemp("store")))
    yield opened
    opened.catalog.close()


def write(folder: Path, files: Sequence[Sequence[Row]]) -> dict[int, Row]:
    """Write a dataset of the columns; return its rows by rid."""
    rows: dict[int, Row] = {}
    for number, content in enumerate(files):
        arrays = [
            pa.array([row[place] for row in content], kind)
            for place, kind in enumerate(COLUMNS.values())
        ]
        pq.write_table(pa.table(arrays, names=NAMES), folder / f"{number}.parquet")
        rows |= {number << 40 | place: row for place, row in enumerate(content)}
    return rows


def plain(value: Any) -> Any:
    """Return a value by which equal ones are equal in Python, too."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def side(row: Row, columns: Sequence[int]) -> tuple[Any, ...]:
    return tuple(plain(row[column]) for column in columns)


def violated(
    rows: dict[int, Row], left: Sequence[int], right: Sequence[int]
) -> list[tuple[tuple[Any, ...], list[int], int]]:
    """Return violating values with the rids of their rows, and how many dependent values."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for rid, row in rows.items():
        groups.setdefault(side(row, left), []).append(rid)
    found = []
    for value, rids in groups.items():
        dependent = {side(rows[rid], right) for rid in rids}
        distinct = len({each for each in dependent if None not in each})
        if distinct > 1:
            found.append((value, rids, distinct))
    return found


def written(columns: Sequence[int]) -> str:
    return ", ".join('"' + NAMES[column].replace('"', '""') + '"' for column in columns)


def told(found: Violations, width: int) -> list[tuple[tuple[Any, ...], list[int], int]]:
    """Return violations in the form of `violated`."""
    rids: dict[int, list[int]] = {}
    for edge in found.graph().to_pylist():
        rids.setdefault(edge["violation"], []).append(edge["rid"])
    lines = []
    for number, row in enumerate(found.values().to_pylist()):
        *value, rows, distinct = row.values()
        assert rows == len(rids[number]) and len(value) == width
        lines.append((tuple(map(plain, value)), rids[number], distinct))
    assert len(lines) == found.count == len(rids)
    return lines


@settings(max_examples=30)
@given(FILES, st.lists(st.tuples(SIDE, SIDE), min_size=1, max_size=3))
def test_violations_are_those_of_a_group_by(
    store: lc.LineageStore, files: list[list[Row]], sides: list[tuple[list[int], list[int]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = write(Path(folder), files)
        texts = [f"{written(left)} -> {written(right)}" for left, right in sides]
        found = {method: store.dependencies(folder, texts, method=method) for method in METHODS}
        for number, (left, right) in enumerate(sides):
            expected = violated(rows, left, right)
            one, other = (found[method][number] for method in METHODS)
            assert told(one, len(left)) == expected
            assert one.graph().equals(other.graph())
            # In this form, since NaN is not equal to itself.
            assert told(other, len(left)) == expected
            assert one.values().schema == other.values().schema


@pytest.fixture
def addresses(tmp_path: Path) -> Path:
    """Two files: zip 1 has two cities, null has two, 2 has one and a null."""
    folder = tmp_path / "addresses"
    folder.mkdir()
    one = {"zip": ["1", "1", None, None, "2"], "city": ["a", "b", "c", None, "d"], "n": range(5)}
    two = {"zip": ["2", None, "1"], "city": [None, "e", "a"], "n": range(5, 8)}
    for number, content in enumerate((one, two)):
        table = pa.table({name: pa.array(list(values)) for name, values in content.items()})
        pq.write_table(table, folder / f"part-{number}.parquet")
    return folder


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_values_rows_and_graph(
    store: lc.LineageStore, addresses: Path, method: str, engine: str, spark: SparkSession
) -> None:
    asked = ["ZIP -> city", "city -> zip", "zip, city -> n"]
    found = store.dependencies(str(addresses), asked, method=method, engine=engine)
    assert [str(each.dependency) for each in found] == asked
    assert [each.count for each in found] == [2, 0, 1]
    assert found[0].values().to_pylist() == [
        {"zip": "1", "rows": 3, "distinct": 2},
        {"zip": None, "rows": 3, "distinct": 2},
    ]
    second = 1 << 40
    assert found[0].graph().to_pydict() == {
        "violation": [0, 0, 0, 1, 1, 1],
        "rid": [0, 1, second + 2, 2, 3, second + 1],
    }
    assert found[0].rows(1).to_pylist() == [
        {"rid": 2, "zip": None, "city": "c", "n": 2},
        {"rid": 3, "zip": None, "city": None, "n": 3},
        {"rid": second + 1, "zip": None, "city": "e", "n": 6},
    ]
    assert graph(found).to_pydict() == {
        "dependency": [0] * 6 + [2] * 2,
        "violation": [0, 0, 0, 1, 1, 1, 0, 0],
        "rid": [0, 1, second + 2, 2, 3, second + 1, 0, second + 2],
    }
    assert repr(found[1]) == "<Violations of city -> zip: 0 in 0 rows>"


def test_rows_come_from_what_was_checked_or_not_at_all(
    store: lc.LineageStore, addresses: Path
) -> None:
    (found,) = store.dependencies(str(addresses), ["zip -> city"])
    with pytest.raises(lc.NotFoundError, match="no violation number 2"):
        found.rows(2)
    pq.write_table(pa.table({"zip": ["9"], "city": ["z"], "n": [9]}), addresses / "part-1.parquet")
    with pytest.raises(lc.ChangedError, match="part-1"):
        found.rows(0)
    (now,) = store.dependencies(str(addresses), ["zip -> city"])
    assert now.count == 1 and now.graph().num_rows == 2


def test_one_file_folders_of_partitions_and_hidden_files(
    store: lc.LineageStore, tmp_path: Path
) -> None:
    for day, cities in (
        ("1", ["a", "b"]),
        ("__HIVE_DEFAULT_PARTITION__", ["c", "c"]),
        ("2%2F", ["d"]),
    ):
        folder = tmp_path / "t" / f"day={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"city": cities}), folder / "x.parquet")
        (folder / "_SUCCESS").write_text("")
    found = store.dependencies(str(tmp_path / "t"), ["day -> city", "city -> day"])
    assert [each.count for each in found] == [1, 0]
    assert found[0].values().to_pylist() == [{"day": "1", "rows": 2, "distinct": 2}]
    one = str(tmp_path / "t" / "day=1" / "x.parquet")
    assert store.dependencies(one, ["city -> city"])[0].count == 0


def test_large_columns_are_told_apart_in_all_batches(
    store: lc.LineageStore, tmp_path: Path
) -> None:
    rows = 300_000
    numbers = pa.array(range(rows))
    keys = pa.compute.cast(pa.array([n * 7919 % 1000 for n in range(rows)]), pa.string())
    wrong = [n if n in (123_457, 299_999) else 0 for n in range(rows)]
    table = pa.table({"n": numbers, "k": keys, "w": wrong})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=50_000)
    for method in METHODS:
        (found,) = store.dependencies(str(tmp_path), ["k -> w"], method=method)
        values = [str(n * 7919 % 1000) for n in (123_457, 299_999)]
        assert sorted(found.values().column("k").to_pylist()) == sorted(values)
        assert found.values().column("rows").to_pylist() == [300, 300]
        expected = [n for n in range(rows) if str(n * 7919 % 1000) in values]
        assert sorted(found.graph().column("rid").to_pylist()) == expected


def test_names_of_counts_give_way(store: lc.LineageStore, tmp_path: Path) -> None:
    pq.write_table(pa.table({"rows": [1, 1], "distinct": [2, 3]}), tmp_path / "t.parquet")
    (found,) = store.dependencies(str(tmp_path), ["rows -> distinct"])
    assert found.values().to_pylist() == [{"rows": 1, "rows_": 2, "distinct": 2}]


def test_what_a_captured_run_wrote_is_known_by_the_end_of_its_name(
    store: lc.LineageStore, spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(6).selectExpr("id % 2 as k", "timestamp_seconds(id) as t").write.parquet(
        str(tmp_path / "in")
    )
    with store.capture(spark, job="j"):
        spark.read.parquet(str(tmp_path / "in")).write.parquet(str(tmp_path / "out" / "known"))
    for method in METHODS:
        found = store.dependencies("out/known", ["k -> t", "t -> k"], method=method)
        assert [each.count for each in found] == [2, 0]
        assert [each.values().num_columns for each in found] == [3, 3]


def test_what_cannot_be_checked_is_named(store: lc.LineageStore, addresses: Path) -> None:
    with pytest.raises(lc.NotFoundError, match="no column 'citi'") as caught:
        store.dependencies(str(addresses), ["zip -> citi"])
    assert "did you mean city" in str(caught.value)
    with pytest.raises(lc.NotFoundError, match="no method 'fast'"):
        store.dependencies(str(addresses), ["zip -> city"], method="fast")
    with pytest.raises(lc.NotFoundError, match="holds no data"):
        store.dependencies(str(addresses / "nowhere"), ["zip -> city"])
    pq.write_table(pa.table({"l": [[1]], "k": [1]}), addresses.parent / "lists.parquet")
    with pytest.raises(lc.UnsupportedError, match="cannot be compared"):
        store.dependencies(str(addresses.parent / "lists.parquet"), ["l -> k"])
    (addresses / "notes.txt").write_text("no Parquet")
    with pytest.raises(lc.UnsupportedError, match=r"notes\.txt is not a Parquet file"):
        store.dependencies(str(addresses), ["zip -> city"])
    with pytest.raises(lc.UnsupportedError, match="partitioned in different ways"):
        folder = addresses.parent / "mixed" / "day=1"
        folder.mkdir(parents=True)
        for path in (folder, folder.parent):
            pq.write_table(pa.table({"k": [1]}), path / "x.parquet")
        store.dependencies(str(folder.parent), ["k -> k"])


@pytest.mark.parametrize("method", METHODS)
def test_the_greatest_and_least_integers(
    store: lc.LineageStore, tmp_path: Path, method: Any
) -> None:
    for number, last in enumerate((2**63 - 1, -(2**63))):
        folder = tmp_path / str(number)
        folder.mkdir()
        numbers = [last, last, None, None]
        table = pa.table({"a": pa.array(numbers, pa.int64()), "b": [1, 2, 3, 3]})
        pq.write_table(table, folder / "x.parquet")
        (found,) = store.dependencies(str(folder), ["a -> b"], method=method)
        assert found.values().column("a").to_pylist() == [last]
