"""The demonstration's edges; what it runs is checked end to end with smaller data."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from row_lineage_provider import demo
from row_lineage_provider.embedded import CommandError, EmbeddedAirflow

ROOT = Path(__file__).parents[2]


def airflow(folder: Path) -> EmbeddedAirflow:
    return EmbeddedAirflow(folder / "home", folder / "dags", folder / "lineage", folder / "events")


def test_nothing_of_the_machines_own_set_up_comes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENLINEAGE_URL", "AIRFLOW__CORE__EXECUTOR", "SPARK_HOME", "AIRFLOW_CONN_X"):
        monkeypatch.setenv(name, "mine")
    environment = airflow(tmp_path).environment()
    assert "mine" not in environment.values()
    assert environment["HOME"] == environment["AIRFLOW_HOME"] == str(tmp_path / "home")
    assert environment["PATH"].startswith(str(Path(sys.executable).parent))


def test_a_command_that_fails_tells_the_end_of_its_log(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="nosuchcommand") as failed:
        airflow(tmp_path)._run("nosuchcommand")
    assert "invalid choice" in failed.value.output


def test_outside_of_a_clone_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert demo.main() == 2
    assert "clone of the repository" in capsys.readouterr().out


def test_a_dag_that_fails_makes_it_fail_with_the_end_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dags").symlink_to(ROOT / "dags")
    (tmp_path / "demo" / "data").mkdir(parents=True)  # the tables are there already

    def fails(*_: object) -> str:
        raise CommandError("dags test example_tpch", "first\n" + "line\n" * 50 + "[last] error\n")

    monkeypatch.setattr(EmbeddedAirflow, "migrate", lambda self: None)
    monkeypatch.setattr(EmbeddedAirflow, "test", fails)
    assert demo.main() == 1
    printed = capsys.readouterr().out
    assert "[last] error" in printed
    assert "first" not in printed


def test_no_more_rows_and_columns_are_shown_than_fit(tmp_path: Path) -> None:
    wide = pa.table({f"c{i}": list(range(10)) for i in range(20)})
    pq.write_table(wide, tmp_path / "wide.parquet")
    table = demo.first_rows(tmp_path / "wide.parquet", "wide")
    assert (len(table.columns), table.row_count) == (demo.SHOWN_COLUMNS, demo.SHOWN_ROWS)
    Console(quiet=True).print(table)
