"""`--dag`, `--task` and `--logical-date` wherever a run can be named."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest

import lineage_core as lc

if TYPE_CHECKING:
    from tests.cli.conftest import Ended, Shop

Run = Callable[..., "Ended"]

JANUARY = ("--dag", "shop", "--task", "revenue", "--logical-date", "2026-01-01")


@pytest.fixture
def tagged(captured: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with the shop's first run as task `revenue` of two dates; returns January's id."""
    copytree(captured.store, tmp_path / "lineage", ignore=lambda *_: ["catalog.db"])
    monkeypatch.chdir(tmp_path)
    store = lc.open_store("lineage")
    record = store.artifacts.load(captured.first)
    store.rebuild_catalog()
    ids = []
    for number, month in enumerate(("2026-01-01", "2026-02-01", "2026-03-01", "2026-03-01")):
        tags = {
            "dag_id": "shop",
            "task_id": "revenue",
            "run_id": f"scheduled__{month}",
            "map_index": str(number if month == "2026-03-01" else -1),
            "logical_date": f"{month}T00:00:00+00:00",
        }
        run = replace(record, id=str(uuid.uuid4()), tags=tuple(tags.items()))
        run = replace(run, outputs=tuple(replace(o, artifacts=()) for o in run.outputs))
        store.artifacts.commit(run)
        store.catalog.add(run)
        ids.append(run.id)
    return ids[0]


def test_show_explains_the_run_of_a_task(tagged: str, row_lineage: Run) -> None:
    assert json.loads(row_lineage("show", *JANUARY, "--format=json").out)["run"] == tagged
    steps = json.loads(row_lineage("explain", *JANUARY, "--format=json").out)["steps"]
    assert steps == json.loads(row_lineage("explain", tagged, "--format=json").out)["steps"]
    named = row_lineage("explain", *JANUARY, "revenue", "--format=json")
    assert json.loads(named.out)["steps"] == steps
    assert row_lineage("explain", *JANUARY, "nothing").code == 2


def test_questions_are_about_the_run_of_a_task(
    tagged: str, row_lineage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def ask(self: object, dataset: str, **arguments: Any) -> Any:
        asked.append(arguments["run"])
        raise lc.NotFoundError("seen")

    for direction in ("backward", "forward"):
        monkeypatch.setattr(lc.LineageStore, direction, ask)
        assert "seen" in row_lineage(direction, "revenue", *JANUARY).err
    assert asked == [tagged, tagged]


@pytest.mark.parametrize("command", [("show",), ("explain",), ("backward", "x"), ("forward", "x")])
def test_what_does_not_mean_one_run_is_explained(
    tagged: str, row_lineage: Run, command: tuple[str, ...]
) -> None:
    several = row_lineage(*command, "--dag", "shop", "--logical-date", "2026-03-01")
    assert several.code == 2 and "map_index 2" in several.err and "map_index 3" in several.err
    nobody = row_lineage(*command, "--dag", "shop", "--logical-date", "2025-01-01")
    assert nobody.code == 2 and "2025-01-01" in nobody.err
    assert row_lineage(*command, "--logical-date", "soon").code == 2


def test_a_run_is_named_one_way_only(tagged: str, row_lineage: Run) -> None:
    assert row_lineage("show").code == 2
    assert row_lineage("show", tagged, *JANUARY).code == 2
    assert row_lineage("backward", "revenue", "--run", tagged, *JANUARY).code == 2
    assert row_lineage("explain", tagged, "revenue", *JANUARY).code == 2
    assert row_lineage("explain", "--sql", "SELECT 1", *JANUARY).code == 2
