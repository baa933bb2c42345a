"""The doctor on store and catalog: reachable, writable, at the newest migration."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from lineage_core.doctor import Check, Subject, Verdict
from lineage_core.doctor.places import catalog, store


def both(subject: Subject) -> list[Check]:
    return [*store(subject), *catalog(subject)]


def test_a_new_store_is_fine_and_not_made_by_looking(tmp_path: Path) -> None:
    checks = both(Subject(str(tmp_path / "deep" / "lineage")))
    assert [check.verdict for check in checks] == [Verdict.OK, Verdict.OK]
    assert not list(tmp_path.iterdir())


def test_a_store_that_is_there_is_left_as_it_was(tmp_path: Path) -> None:
    checks = both(Subject(str(tmp_path)))
    assert [check.verdict for check in checks] == [Verdict.OK, Verdict.OK]
    assert "migration" in checks[1].found
    assert not [path for path in tmp_path.iterdir() if "doctor" in path.name]


def test_a_file_in_place_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "lineage").write_text("not a folder")
    (check,) = store(Subject(str(tmp_path / "lineage")))
    assert (check.verdict, bool(check.advice)) == (Verdict.FAILED, True)


def test_a_store_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    (check,) = store(Subject(str(tmp_path / "file" / "lineage")))
    assert check.verdict is Verdict.FAILED


def test_a_url_nobody_knows() -> None:
    (check,) = store(Subject("nosuch://bucket/lineage"))
    assert (check.verdict, "nosuch" in check.found) == (Verdict.FAILED, True)


def test_a_database_that_does_not_answer(tmp_path: Path) -> None:
    (check,) = catalog(
        Subject(str(tmp_path), "postgresql+psycopg://me:hunter2@127.0.0.1:1/lineage")
    )
    assert check.verdict is Verdict.FAILED
    assert "hunter2" not in f"{check.found} {check.advice}"


@pytest.mark.parametrize("content", [b"this is no database" * 100, b""])
def test_a_file_that_is_no_database(content: bytes, tmp_path: Path) -> None:
    """An empty file is one to SQLite, and gets migrated; anything else is refused."""
    (tmp_path / "other.db").write_bytes(content)
    (check,) = catalog(Subject(str(tmp_path), f"sqlite:///{tmp_path}/other.db"))
    assert check.verdict is (Verdict.FAILED if content else Verdict.OK)


def test_a_catalog_of_a_newer_version(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    assert [check.verdict for check in catalog(Subject("x", f"sqlite:///{path}"))] == [Verdict.OK]
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE row_lineage_version SET version_num = 'v9999'")
    connection.close()
    (check,) = catalog(Subject("x", f"sqlite:///{path}"))
    assert (check.verdict, "upgrade" in check.advice) == (Verdict.FAILED, True)
