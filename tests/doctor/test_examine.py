"""All checks together: each answers, and one that breaks does not hide the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_core.doctor import Check, Subject, Verdict, examine
from lineage_core.doctor.check import ok


def test_every_part_is_examined(tmp_path: Path) -> None:
    names = [check.name for check in examine(Subject(str(tmp_path)))]
    expected = ["java", "pyspark", "workers", "pandas", "z3", "duckdb", "store", "catalog"]
    assert names[:-1] == expected


def test_advice_comes_with_every_check_that_is_not_ok(tmp_path: Path) -> None:
    for check in examine(Subject(str(tmp_path))):
        assert bool(check.advice) == (check.verdict is not Verdict.OK)


def test_a_check_that_breaks_is_one_failed_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(subject: Subject) -> Iterator[Check]:
        yield ok("first", "fine")
        raise OSError("disk on fire")

    def fine(subject: Subject) -> Iterator[Check]:
        yield ok("second", "fine")

    monkeypatch.setitem(examine.__globals__, "CHECKS", (breaks, fine))
    found = [(check.name, check.verdict) for check in examine(Subject("unused"))]
    assert found == [("first", Verdict.OK), ("breaks", Verdict.FAILED), ("second", Verdict.OK)]
