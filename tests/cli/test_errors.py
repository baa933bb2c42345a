"""Whatever is wrong with a question: one message, what to do, exit code 2, and no traceback."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lineage_core.cli.settings import Settings

if TYPE_CHECKING:
    Run = Callable[..., Any]
    Shop = Any


@pytest.fixture
def copied(shop: Shop, tmp_path: Path) -> Iterator[Any]:
    """The shop, whose files may be changed: they are put back afterwards."""
    shutil.copytree(shop.folder, tmp_path / "before")
    yield shop
    for name in ("orders", "lines", "revenue", "danish"):
        shutil.rmtree(shop.folder / name)
        shutil.copytree(tmp_path / "before" / name, shop.folder / name)


def refused(ended: Any, *words: str) -> None:
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(("Error: ", "Usage: "))
    assert "Traceback" not in ended.err
    assert not [word for word in words if word not in ended.err], ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("backward", "nothing"), ("nothing",)),
        (("backward", "revenu"), ("revenu", "revenue")),
        (("backward", "orders"), ("orders",)),
        (("forward", "danish"), ("danish",)),
        (("backward", "revenue", "--where", "country ="), ()),
        (("backward", "revenue", "--where", "contry = 'DK'"), ("contry", "country")),
        (("backward", "revenue", "--where", "country = (SELECT 'DK')"), ()),
        (("backward", "revenue", "--where", "country = getenv('HOME')"), ()),
        (("backward", "revenue", "--where", "country = 'DK'; DROP TABLE x"), ()),
        (("backward", "revenue", "--row", '{"contry": "DK"}'), ("contry",)),
        (("backward", "revenue", "--row", "country"), ("JSON object",)),
        (("backward", "revenue", "--rids", "1,x"), ("row ids",)),
        (("backward", "revenue", "--rids", str(99 << 40)), ()),
        (("backward", "revenue", "--where", "total > 1", "--rids", "0"), ()),
        (("backward", "revenue", "--run", "ffffffff"), ("ffffffff",)),
        (("backward", "revenue", "--run", ""), ()),
        (("backward", "revenue", "--as-of", "1999-01-01"), ()),
        (("backward", "revenue", "--as-of", "yesterday"), ("ISO 8601",)),
        (("backward", "revenue", "--strategy", "magic"), ("magic",)),
        (("backward", "revenue", "--only", "customers"), ("customers", "lines")),
        (("backward", "revenue", "--rows=1", "--format=csv"), ("--only",)),
        (("backward", "revenue", "--rows=many"), ("many",)),
        (("backward", "revenue", "--format=parquet"), ("--output",)),
        (("backward", "revenue", "--format=xml"), ("xml",)),
        (("backward", "revenue", "--hops", "0"), ("hops",)),
        (("backward",), ("DATASET",)),
        (("show", "ffffffff"), ("ffffffff",)),
        (("show", "../../etc"), ()),
        (("runs", "--limit", "0"), ("limit",)),
        (("runs", "--dataset", "nothing"), ("nothing",)),
        (("explain",), ("--sql",)),
        (("explain", "--sql", "SELECT 1", "ffff"), ("--sql",)),
        (("explain", "--sql", "SELEC 1"), ()),
        (("explain", "--sql", "SELECT * FROM missing"), ("NAME=PATH",)),
        (("explain", "--sql", "SELECT 1", "--table", "x"), ("name=path",)),
        (("explain", "--sql", "SELECT 1", "--table", "x=nowhere"), ()),
        (("run", "missing.py"), ("missing.py",)),
        (("--store", "elsewhere", "runs"), ("elsewhere", "--store")),
        (("--store", "nosuch://bucket/x", "runs"), ("nosuch",)),
        (("--catalog", "what is this", "runs"), ("catalog",)),
        (("walk",), ("walk",)),
    ],
)
def test_refused(
    arguments: tuple[str, ...], words: tuple[str, ...], shop: Shop, row_lineage: Run
) -> None:
    refused(row_lineage(*arguments), *words)


def test_a_run_that_is_ambiguous(shop: Shop, row_lineage: Run) -> None:
    refused(row_lineage("show", "1111"), shop.first, shop.second)


def test_a_script_is_not_started_for_a_catalog_that_cannot_take_its_run(
    row_lineage: Run, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text("print('started')")
    (tmp_path / "catalog.db").write_bytes(b"this is no database" * 100)
    places = ("--store", str(tmp_path), "--catalog", f"sqlite:///{tmp_path}/catalog.db")
    refused(row_lineage(*places, "run", str(tmp_path / "job.py")), "catalog.db")


def test_a_source_that_was_changed(copied: Shop, row_lineage: Run) -> None:
    (file,) = (copied.folder / "lines").glob("*.parquet")
    (other,) = (copied.folder / "orders").glob("*.parquet")
    shutil.copy(other, file)
    refused(row_lineage("backward", "revenue"), file.name, "changed")


def test_a_source_that_was_cut_short(copied: Shop, row_lineage: Run) -> None:
    (file,) = (copied.folder / "lines").glob("*.parquet")
    file.write_bytes(file.read_bytes()[:-9])
    refused(row_lineage("backward", "revenue"), file.name)


def test_a_source_that_is_gone(copied: Shop, row_lineage: Run) -> None:
    (file,) = (copied.folder / "lines").glob("*.parquet")
    file.unlink()
    refused(row_lineage("backward", "revenue"), file.name, "removed")


def test_a_manifest_that_was_edited(shop: Shop, row_lineage: Run, tmp_path: Path) -> None:
    shutil.copytree(shop.store, tmp_path / "lineage")
    manifest = tmp_path / "lineage" / "runs" / shop.first / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"shop.revenue", b"shop.raving_"))
    refused(row_lineage("--store", str(tmp_path / "lineage"), "show", shop.first), shop.first)


def test_what_nobody_expected_is_one_message_too(
    shop: Shop, row_lineage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(settings: Settings) -> None:
        raise RuntimeError("out of luck\nand of lines")

    monkeypatch.setattr(Settings, "open", breaks)
    ended = row_lineage("runs")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines()[0] == "Error: RuntimeError: out of luck"
    assert "--debug" in ended.err
    assert "Traceback" not in ended.err
    assert "in breaks" in row_lineage("--debug", "runs").err
