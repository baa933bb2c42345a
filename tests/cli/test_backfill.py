"""`row-lineage backfill`: SQL and functions, and what cannot be recorded."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lineage_core as lc

if TYPE_CHECKING:
    from tests.cli.conftest import Ended, Shop

Run = Callable[..., "Ended"]

# Relative paths are the Java process's, which is not where these tests go.
SQL = "-- what it was\nSELECT country, total FROM revenue WHERE country = 'DK'"

JOBS = """
def danish(spark):
    return spark.read.parquet("{shop}/revenue").where("country = 'DK'")

def both(spark):
    return {"{shop}/danish": danish(spark)}

def wrong(spark):
    spark.range(1).write.mode("overwrite").parquet("{shop}/danish")
"""


@pytest.fixture
def past(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The shop's folder with a query and a module of jobs; its store is another, empty one."""
    (tmp_path / "q.sql").write_text(SQL)
    (tmp_path / "pastjobs.py").write_text(JOBS.replace("{shop}", str(shop.folder)))
    monkeypatch.setenv("ROW_LINEAGE_STORE", str(tmp_path / "new"))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("pastjobs", None)


def _danish(folder: Path) -> Any:
    store = lc.open_store(str(folder / "new"))
    return store.backward("danish")["revenue"].to_arrow().to_pylist()


def test_sql_and_its_tables(past: Path, shop: Shop, row_lineage: Run) -> None:
    ended = row_lineage(
        *(
            "backfill",
            "--job=danish",
            f"--sql={past}/q.sql",
            f"--source=revenue={shop.path('revenue')}",
        ),
        *("--output=danish", "--at=2026-01-01", "--tag=dag_id=shop", "--tag=task_id=danish"),
        "--format=json",
    )
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert found["tags"] == {"backfilled": "true", "dag_id": "shop", "task_id": "danish"}
    assert (found["job"], found["ended"]) == ("danish", "2026-01-01T00:00:00+00:00")
    assert _danish(past) == [{"country": "DK", "total": 35}]
    named = row_lineage("show", "--dag=shop", "--task=danish", "--format=json")
    assert json.loads(named.out)["run"] == found["run"]


@pytest.mark.parametrize("how", [("pastjobs:danish", "--output=danish"), ("pastjobs:both",)])
def test_a_function(past: Path, row_lineage: Run, how: tuple[str, ...]) -> None:
    ended = row_lineage("backfill", "--job=danish", *how)
    assert ended.code == 0, ended.err
    assert _danish(past) == [{"country": "DK", "total": 35}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "MODULE:FUNCTION"),
        (("pastjobs:danish", "--sql=q.sql"), ""),
        (("pastjobs:danish",), "--output"),
        (("pastjobs:both", "--output=danish"), "--output"),
        (("pastjobs:danish", "--output=danish", "--source=a=b"), "--source"),
        (("pastjobs:nothing", "--output=danish"), "nothing"),
        (("nowhere:danish", "--output=danish"), "nowhere"),
        (("pastjobs", "--output=danish"), "pastjobs"),
        (("pastjobs:wrong", "--output=danish"), "began to write"),
        (("pastjobs:danish", "--output=orders"), "was not written by this query"),
        (("pastjobs:danish", "--output=missing"), "does not exist"),
        (("pastjobs:danish", "--output=danish", "--run-id=x"), "x"),
    ],
)
def test_what_cannot_be_recorded(
    past: Path, row_lineage: Run, arguments: tuple[str, ...], message: str
) -> None:
    ended = row_lineage("backfill", "--job=danish", *arguments)
    assert ended.code == 2 and message in ended.err and "Traceback" not in ended.err
    assert lc.open_store(str(past / "new")).runs() == []
