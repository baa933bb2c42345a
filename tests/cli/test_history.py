"""`runs`, `show`, `catalog rebuild`, `doctor` on a captured shop."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Run = Callable[..., Any]
    Shop = Any


def test_runs_are_listed_newest_first(shop: Shop, row_lineage: Run) -> None:
    found = json.loads(row_lineage("runs", "--format=json").out)["runs"]
    assert [(run["run"], run["job"], run["outputs"]) for run in found] == [
        (shop.second, "shop.danish", "danish"),
        (shop.first, "shop.revenue", "revenue"),
    ]


def test_runs_are_chosen(shop: Shop, row_lineage: Run) -> None:
    def ids(*arguments: str) -> list[str]:
        found = json.loads(row_lineage("runs", *arguments, "--format=json").out)["runs"]
        return [run["run"] for run in found]

    assert ids("--job", "shop.revenue") == [shop.first]
    assert ids("--dataset", "orders") == [shop.first]
    assert ids("--dataset", "revenue") == [shop.second, shop.first]
    assert ids("--limit", "1") == [shop.second]
    assert ids("--job", "none") == []


def test_show_by_the_beginning_of_the_id(shop: Shop, row_lineage: Run) -> None:
    found = json.loads(row_lineage("show", "11111", "--format=json").out)
    assert (found["run"], found["job"], found["state"]) == (shop.first, "shop.revenue", "complete")
    (output,) = found["outputs"]
    assert (output["output"], output["rows"], output["precision"]) == ("revenue", 2, "exact")
    assert set(output["sources"].split(", ")) == {"orders", "lines"}


def test_show_for_people_names_the_job(shop: Shop, row_lineage: Run) -> None:
    ended = row_lineage("show", shop.first)
    assert (ended.code, ended.err) == (0, "")
    assert "job: shop.revenue" in ended.out


def test_a_lost_catalog_is_rebuilt(shop: Shop, row_lineage: Run, tmp_path: Path) -> None:
    shutil.copytree(shop.store, tmp_path / "lineage")
    for file in (tmp_path / "lineage").glob("catalog.db*"):
        file.unlink()
    store = ("--store", str(tmp_path / "lineage"))
    assert json.loads(row_lineage(*store, "runs", "--format=json").out)["runs"] == []
    ended = row_lineage(*store, "catalog", "rebuild", "--format=json")
    assert json.loads(ended.out) == {"added": 2, "skipped": []}
    assert len(json.loads(row_lineage(*store, "runs", "--format=json").out)["runs"]) == 2


def test_rebuilding_names_what_it_left_out(shop: Shop, row_lineage: Run, tmp_path: Path) -> None:
    shutil.copytree(shop.store, tmp_path / "lineage")
    manifest = tmp_path / "lineage" / "runs" / shop.first / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-40])
    ended = row_lineage("--store", str(tmp_path / "lineage"), "catalog", "rebuild", "--format=json")
    found = json.loads(ended.out)
    assert (ended.code, found["added"], found["skipped"][0]["run"]) == (0, 1, shop.first)


def test_doctor(shop: Shop, row_lineage: Run) -> None:
    ended = row_lineage("doctor")
    assert ended.code == 0
    assert all(line.startswith(("ok ", "warning ")) for line in ended.out.splitlines())
    assert "migration" in ended.out


def test_doctor_finds_fault(row_lineage: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = row_lineage("--store", str(tmp_path / "file"), "doctor", "--format=json")
    checks = {c["name"]: c["verdict"] for c in json.loads(ended.out)["checks"]}
    assert (ended.code, checks["store"], checks["java"]) == (1, "failed", "ok")


def test_indexes_are_built_and_used(shop: Shop, row_lineage: Run, tmp_path: Path) -> None:
    shutil.copytree(shop.store, tmp_path / "lineage")
    store = ("--store", str(tmp_path / "lineage"))
    question = (*store, "backward", "revenue", "--run", shop.first, "--hops=1", "--format=json")
    refused = row_lineage(*question, "--strategy=index")
    assert refused.code == 2 and f"row-lineage index {shop.first}" in refused.err
    built = json.loads(row_lineage(*store, "index", "11111", "--format=json").out)["indexes"]
    assert {(entry["output"], entry["source"]) for entry in built} == {
        ("revenue", "orders"),
        ("revenue", "lines"),
    }
    assert all(0 < entry["backward_bytes"] < 1024 and entry["pairs"] for entry in built)
    indexed = json.loads(row_lineage(*question, "--strategy=index").out)
    assert indexed == json.loads(row_lineage(*question, "--strategy=saved").out)
    assert row_lineage(*store, "index").code == 2
