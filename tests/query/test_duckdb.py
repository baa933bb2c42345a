"""What is particular to reading with DuckDB: plans, paths, types, names."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path as LocalPath
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import TRUE, Column, Compare, Comparison, Literal
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.query.chain import Path
from lineage_core.query.engines.choice import Engines
from lineage_core.query.engines.duckdb import DuckDBEngine
from lineage_core.query.evaluate import pairs, reached
from lineage_core.query.reader import Reader
from lineage_core.query.relations import Relations
from lineage_core.query.selection import EVERYTHING, Rids, Selection, Where
from lineage_core.snapshot import ColumnType, Snapshot, take


@pytest.fixture
def reader(engines: Engines) -> Reader:
    return Reader(engines, "duckdb")


def _rows_of(snapshot: Snapshot, selection: Selection = EVERYTHING) -> Path:
    steps = (Step(StepKind.TARGET, -1, TRUE, (), 0, "t"),)
    return Path(Relations(LineageProgram(steps), {0: snapshot}, ({},)), (0,), selection)


def _snapshot(path: LocalPath, *columns: tuple[str, str]) -> Snapshot:
    types = [ColumnType(*column) for column in columns]
    return take(path.parent.as_uri(), "parquet", types, [(path.as_uri(), ())])


def _explained(engine: DuckDBEngine, question: Any) -> str:
    database = duckdb.connect()
    for name, table in question.tables.items():
        database.register(name, table)
    plan = database.sql(f"EXPLAIN {question.query.sql('duckdb', identify=True)}").fetchall()
    return str(plan[0][1])


@pytest.mark.parametrize("reverse", [False, True], ids=["backward", "forward"])
def test_equalities_are_hash_joins(q4: Any, values: Any, reverse: bool) -> None:
    engine = DuckDBEngine()
    for case in (q4, values):
        for leaf in case.program.sources:
            steps = case.program.chain(leaf)
            steps = tuple(reversed(steps)) if reverse else steps
            path = Path(case.relations, steps, Rids(pa.array([0])))
            for question in (reached(path, engine, (), rids=True), pairs(path, engine)):
                plan = _explained(engine, question)
                assert plan.count("Hash Join") >= len(steps), plan
                assert "Nl Join" not in plan and "Nested" not in plan, plan
                assert "Cross Product" not in plan and "Piecewise" not in plan, plan


def test_only_needed_columns_are_read(q4: Any) -> None:
    engine = DuckDBEngine()
    path = Path(q4.relations, q4.program.chain(3), EVERYTHING)
    plan = _explained(engine, reached(path, engine, (), rids=True))
    assert "l_orderkey" in plan and "o_date" not in plan
    assert '"n"' not in reached(path, engine, (), rids=True).query.sql("duckdb", identify=True)


def test_equality_is_plain_where_the_footer_says_there_is_no_null(lake: Any) -> None:
    engine = DuckDBEngine()
    table = lake.write("t", {"a": "long", "b": "long"}, [[(1, 2), (2, None)], [(3, 4)]])
    assert engine.never_null(table.snapshot, 0)
    assert not engine.never_null(table.snapshot, 1)
    bare = lake.write("u", {"a": "long"}, [[(1,)]], write_statistics=False)
    assert not engine.never_null(bare.snapshot, 0)


@pytest.mark.parametrize("folder", ["a b", "a[b]*?", "p=x%2Fy", "it's;--", "ünï", 'a"b', "{a,b}"])
def test_paths_are_taken_literally(
    tmp_path: LocalPath, engines: Engines, spark: object, folder: str
) -> None:
    path = tmp_path / folder / "part.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"a": [1, 2]}), path)
    decoy = tmp_path / "ab" / "part.parquet"
    decoy.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"a": [7]}), decoy)
    types = [ColumnType("a", "long")]
    files = [(path.as_uri(), ()), (decoy.as_uri(), ())]
    snapshot = take(tmp_path.as_uri(), "parquet", types, files)
    number = [file.path for file in snapshot.files].index(path.as_uri())
    for engine in ("duckdb", "spark"):
        where = Where(Compare(Comparison.EQ, Column(0, "long"), Literal(2, "long")))
        found = Reader(engines, engine).rids(_rows_of(snapshot, where))
        assert found.to_pylist() == [(number << 40) + 1], engine


def test_a_snapshot_of_some_files_of_a_folder_reads_just_them(
    lake: Any, engines: Engines, spark: object
) -> None:
    from dataclasses import replace

    table = lake.write("t", {"a": "long"}, [[(1,)], [(2,)], [(3,)]])
    some = replace(table.snapshot, files=(table.snapshot.files[2], table.snapshot.files[0]))
    for engine in ("duckdb", "spark"):
        rows = Reader(engines, engine).rows(_rows_of(some), (0,), rids=True)
        assert rows.to_pylist() == [{"rid": 0, "a": 3}, {"rid": 1 << 40, "a": 1}]


def test_int96_timestamps_are_instants(
    tmp_path: LocalPath, engines: Engines, spark: object
) -> None:
    moment = datetime(2026, 7, 1, 12, tzinfo=UTC)
    path = tmp_path / "t.parquet"
    table = pa.table({"t": pa.array([moment], pa.timestamp("us", "UTC"))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    snapshot = _snapshot(path, ("t", "timestamp"))
    micros = int(moment.timestamp()) * 1_000_000
    where = Where(Compare(Comparison.EQ, Column(0, "timestamp"), Literal(micros, "timestamp")))
    for engine in ("duckdb", "spark"):
        rows = Reader(engines, engine).rows(_rows_of(snapshot, where), (0,), rids=False)
        assert rows.to_pylist() == [{"t": moment}], engine


def test_a_narrower_file_is_widened_as_spark_does(
    tmp_path: LocalPath, engines: Engines, spark: object
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"A": pa.array([3], pa.int32()), "f": pa.array([0.5], pa.float32())}), path
    )
    snapshot = _snapshot(path, ("a", "long"), ("F", "double"), ("gone", "string"))
    for engine in ("duckdb", "spark"):
        rows = Reader(engines, engine).rows(_rows_of(snapshot), (0, 1, 2), rids=False)
        assert rows.to_pylist() == [{"a": 3, "F": 0.5, "gone": None}], engine


def test_what_duckdb_would_read_otherwise_is_refused(tmp_path: LocalPath, reader: Reader) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"s": pa.array([b"x"])}), path)
    with pytest.raises(UnsupportedError, match="DuckDB reads it as"):
        reader.rows(_rows_of(_snapshot(path, ("s", "string"))), (0,), rids=False)


@pytest.mark.parametrize("name", ["file_row_number", "File_Index", "filename"])
def test_columns_named_like_row_numbers_are_left_to_spark(
    tmp_path: LocalPath, engines: Engines, spark: object, name: str
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({name: [70, 80]}), path)
    snapshot = _snapshot(path, (name, "long"))
    with pytest.raises(UnsupportedError, match="row numbers"):
        Reader(engines, "duckdb").rids(_rows_of(snapshot))
    rows = Reader(engines, "auto").rows(_rows_of(snapshot), (0,), rids=True)
    assert rows.to_pylist() == [{"rid": 0, name: 70}, {"rid": 1, name: 80}]


def test_other_formats_and_places_are_left_to_spark(lake: Any, reader: Reader) -> None:
    from dataclasses import replace

    table = lake.write("t", {"a": "long"}, [[(1,)]])
    engine = DuckDBEngine()
    with pytest.raises(UnsupportedError, match="csv"):
        engine.scan(replace(table.snapshot, format="csv"), (0,), rids=False)
    far = replace(table.snapshot.files[0], path="s3://bucket/a.parquet")
    with pytest.raises(UnsupportedError, match="local"):
        engine.scan(replace(table.snapshot, files=(far,)), (0,), rids=False)


def test_a_failure_inside_the_engine_quotes_no_value(tmp_path: LocalPath, reader: Reader) -> None:
    path = tmp_path / "t.parquet"
    arrow = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\x07\0\0\0"), pa.py_buffer(b"secret\xff")]
    )
    pq.write_table(pa.table({"s": arrow}), path)
    with pytest.raises(UnsupportedError) as caught:
        reader.rows(_rows_of(_snapshot(path, ("s", "string"))), (0,), rids=False)
    assert "secret" not in str(caught.value)


def test_an_engine_serves_several_threads(q4: Any, engines: Engines) -> None:
    def ask(out: int) -> list[int]:
        path = Path(q4.relations, q4.program.chain(3), Rids(pa.array([out])))
        return list(Reader(engines, "duckdb").rids(path).to_pylist())

    outs = list(q4.tables[0].rows) * 5
    expected = [sorted(s for o, s in q4.pairs(3) if o == out) for out in outs]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, outs)) == expected


def test_row_groups_are_skipped_and_rids_stay_right(lake: Any, reader: Reader) -> None:
    rows = [(i, str(i % 7)) for i in range(5_000)]
    table = lake.write("t", {"a": "long", "b": "string"}, [rows, rows], row_group_size=100)
    where = Where(Compare(Comparison.EQ, Column(0, "long"), Literal(4_321, "long")))
    found = reader.rids(_rows_of(table.snapshot, where))
    assert found.to_pylist() == [4_321, (1 << 40) + 4_321]
    rids = Rids(pa.array([3, 4_999, (1 << 40) + 250]))
    got = reader.rows(_rows_of(table.snapshot, rids), (0,), rids=True)
    assert got.to_pylist() == [
        {"rid": 3, "a": 3},
        {"rid": 4_999, "a": 4_999},
        {"rid": (1 << 40) + 250, "a": 250},
    ]


def test_a_file_that_is_none_is_refused_and_not_quoted(
    tmp_path: LocalPath, reader: Reader
) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(b"PAR1 it was Dora PAR1")
    with pytest.raises(UnsupportedError, match="DuckDB cannot answer") as refused:
        reader.rows(_rows_of(_snapshot(path, ("a", "long"))), (0,), rids=False)
    assert "Dora" not in str(refused.value) and refused.value.hint
