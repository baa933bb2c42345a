"""`row-lineage backfill --sql`: how the file of the query may be written down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lineage_core as lc

if TYPE_CHECKING:
    from tests.cli.conftest import Ended, Shop

QUERY = "SELECT country, total FROM revenue WHERE country <> 'é';"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1"])
def test_a_byte_order_mark_is_no_text_and_other_encodings_are_refused(
    shop: Shop,
    row_lineage: Callable[..., Ended],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    encoding: str,
) -> None:
    monkeypatch.setenv("ROW_LINEAGE_STORE", str(tmp_path / "store"))
    (tmp_path / "q.sql").write_text(QUERY, encoding=encoding)
    ended = row_lineage(
        *("backfill", "--job=again", f"--sql={tmp_path}/q.sql", "--output=danish"),
        *(f"--source=revenue={shop.path('revenue')}", "--sources-unchanged"),
    )
    runs = lc.open_store(str(tmp_path / "store")).runs()
    if encoding == "utf-8-sig":
        assert ended.code == 0, ended.err
        assert [run.job for run in runs] == ["again"]
    else:
        assert ended.code == 2 and "not UTF-8" in ended.err and "Hint" in ended.err
        assert "SELECT" not in ended.err
        assert runs == []
