"""Reports in each format: nothing lost, and nothing in them that a terminal would obey."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lineage_core.cli.output import Format, Target, emit, target
from lineage_core.cli.report import Report, Table, report, table
from lineage_core.errors import UnsupportedError

ROWS = pa.table(
    {
        "id": pa.array([1, 2], pa.int64()),
        "price": pa.array([Decimal("1.10"), None], pa.decimal128(15, 2)),
        "day": pa.array([date(2024, 2, 29), None]),
        "at": pa.array([datetime(2024, 2, 29, 12, tzinfo=UTC), None], pa.timestamp("us", tz="UTC")),
        "ratio": [float("nan"), 0.5],
        "blob": pa.array([b"\x00\xff", None]),
        "tags": [["a", "b"], None],
        "text": ["[bold]x[/]\x1b[31m\n2", 'quote" , comma'],
    }
)


def printed(found: Report, format: Format, capsys: pytest.CaptureFixture[str]) -> str:
    emit(found, Target(format, None))
    return capsys.readouterr().out


def test_json_holds_every_value(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = json.loads(printed(report("rows", "Rows", ROWS), Format.JSON, capsys))["rows"]
    assert first == {
        "id": 1,
        "price": "1.10",
        "day": "2024-02-29",
        "at": "2024-02-29T12:00:00+00:00",
        "ratio": "nan",
        "blob": "00ff",
        "tags": ["a", "b"],
        "text": "[bold]x[/]\x1b[31m\n2",
    }
    assert second["price"] is None


def test_csv_is_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(report("rows", "Rows", ROWS), Format.CSV, capsys)
    header, first, second = csv.reader(io.StringIO(text, newline=""))
    assert header == ROWS.column_names
    assert (first[1], first[6], first[7]) == ("1.10", '["a", "b"]', "[bold]x[/]\x1b[31m\n2")
    assert (second[1], second[7]) == ("", 'quote" , comma')


def test_parquet_keeps_types(tmp_path: Path) -> None:
    rows = ROWS.drop_columns(["ratio"])  # a NaN equals nothing
    emit(report("rows", "Rows", rows), Target(Format.PARQUET, tmp_path / "rows.parquet"))
    assert pq.read_table(tmp_path / "rows.parquet").equals(rows)


def test_a_table_neither_obeys_nor_cuts_values(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(report("rows", "[red]Rows", ROWS), Format.TABLE, capsys)
    assert "\x1b" not in text
    assert "[red]Rows" in text
    assert "[bold]x[/]\\x1b[31m\\n2" in text


def test_a_long_value_is_whole_when_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    run = "0198c5a2-7a0e-7c3e-9c5f-3f5a1f0b7d11"
    rows = table({"run": "string", "rows": "int64"}, [(run, None)])
    assert run in printed(report("runs", "Runs", rows), Format.TABLE, capsys)


def test_an_empty_table_keeps_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    empty = table({"run": "string", "rows": "int64"}, [])
    assert printed(report("runs", "Runs", empty), Format.CSV, capsys) == "run,rows\n"
    assert empty.schema.field("rows").type == pa.int64()


@pytest.mark.parametrize("format", [Format.CSV, Format.PARQUET])
def test_several_tables_do_not_fit_one(format: Format, tmp_path: Path) -> None:
    found = Report((Table("a", ROWS), Table("b", ROWS), Table("c", ROWS)), dict, None)
    with pytest.raises(UnsupportedError, match="2 tables do not fit"):
        emit(found, Target(format, tmp_path / "file"))
    assert not (tmp_path / "file").exists()


def test_parquet_needs_a_file() -> None:
    with pytest.raises(click.UsageError, match="--output"):
        target("parquet", None)


def test_output_goes_to_the_file_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    emit(report("rows", "Rows", ROWS), Target(Format.JSON, tmp_path / "rows.json"))
    assert capsys.readouterr().out == ""
    assert len(json.loads((tmp_path / "rows.json").read_text())["rows"]) == 2
