"""`row-lineage explain` on a captured shop: what it takes, and what it shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lineage_core as lc
from lineage_core.infer import infer
from lineage_core.plan.program import StepKind
from lineage_core.store.manifest import Artifact, Materialize

Run = Callable[..., Any]
Shop = Any


def told(ended: Any) -> dict[str, Any]:
    assert (ended.code, ended.err) == (0, "")
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_a_dataset_a_run_and_both_mean_the_same(shop: Shop, row_lineage: Run) -> None:
    ways = [
        ("revenue",),
        (shop.path("revenue"),),
        (shop.first,),
        (shop.first[:8], "revenue"),
        ("revenue", "--run", shop.first[:8]),
        ("--run", shop.first),
    ]
    first, *others = [told(row_lineage("explain", *way, "--format=json")) for way in ways]
    assert (first["run"], first["dataset"], first["strategy"]) == (shop.first, "revenue", "saved")
    assert all(other == first for other in others)


def test_the_tree(shop: Shop, row_lineage: Run) -> None:
    ended = row_lineage("explain", "danish")
    lines = [line.rstrip() for line in ended.out.splitlines()]
    assert lines[0] == "How rows of danish are traced: exact, strategy saved"
    assert lines[2] == "output   danish, of which rows are asked about"
    assert "reads revenue" in ended.out
    assert "country <=> danish.country AND total <=> danish.total" in ended.out
    assert "columns: country (value, filter), total (value)" in ended.out


@pytest.mark.parametrize("strategy", ["replay", "iterative"])
def test_other_strategies(shop: Shop, row_lineage: Run, strategy: str) -> None:
    found = told(row_lineage("explain", "revenue", "--strategy", strategy, "--format=json"))
    kinds = [step["kind"] for step in found["steps"]]
    assert found["strategy"] == strategy and "saved" not in kinds
    assert bool(found["links"]) == (strategy == "iterative")
    assert ("computed" in kinds) == (strategy == "replay")
    assert found["precision"] == ("exact" if strategy == "replay" else "superset")
    drawn = row_lineage("explain", "revenue", "--strategy", strategy).out
    assert ("linked: only with a row of scan" in drawn) == (strategy == "iterative")
    assert ("COMPUTED" in drawn) == (strategy == "replay")


def test_what_was_saved_is_told_with_its_size(
    shop: Shop, row_lineage: Run, tmp_path: Path
) -> None:
    record = lc.open_store(shop.store).run(shop.first)
    (output,) = record.outputs
    assert output.plan is not None
    program = infer(output.plan, ways=(StepKind.SAVED,), name=output.dataset)
    (step,) = program.saved
    saved = Artifact(step, output.inputs[0], 57, Materialize.DEFER)
    size = sum(file.size for file in output.inputs[0].files)
    run = replace(record, outputs=(replace(output, program=program, artifacts=(saved,)),))
    store = lc.open_store(str(tmp_path))
    store.artifacts.commit(run)
    store.catalog.add(run)
    asked = ("--store", str(tmp_path), "explain", "revenue")
    steps = told(row_lineage(*asked, "--format=json"))["steps"]
    assert steps[step]["saved"] == {"rows": 57, "bytes": size, "how": "defer"}
    drawn = row_lineage(*asked).out
    assert drawn.count("SAVED") == 1 and "57 rows" in drawn and "after the job (defer)" in drawn
    assert "COMPUTED" in row_lineage(*asked, "--strategy=replay").out


def test_a_query_names_no_run(shop: Shop, row_lineage: Run) -> None:
    sql = "SELECT country, count(*) AS n FROM o WHERE id > 1 GROUP BY country"
    asked = ("explain", f"--sql={sql}", f"--table=o={shop.path('orders')}")
    found = told(row_lineage(*asked, "--format=json"))
    assert (found["run"], found["strategy"], found["precision"]) == (None, "replay", "exact")
    assert [operator["kind"] for operator in found["operators"]][-1] == "scan"
    assert row_lineage(*asked, "--strategy=iterative").code == 0
    assert row_lineage(*asked, "--strategy=saved").code == 2


def test_a_file_holds_what_a_screen_shows(shop: Shop, row_lineage: Run, tmp_path: Path) -> None:
    file = tmp_path / "explained.txt"
    assert row_lineage("explain", "revenue", f"--output={file}").out == ""
    assert file.read_text() == row_lineage("explain", "revenue").out
    rows = row_lineage("explain", "revenue", "--format=csv").out.splitlines()
    assert rows[0] == "step,kind,name,anchor,rows,precision,reason"
    assert rows[1].startswith("0,target,revenue,,the rows asked about,exact,")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing",), ("nothing",)),
        (("11111111", "danish"), ("danish", "revenue")),
        (("danish", "--run", "11111111"), ("danish", "revenue")),
        (("1111",), ("11111111", "11112222")),
        (("11111111", "revenue", "--run", "11111111"), ("twice",)),
        (("orders",), ("orders",)),
        (("revenue", "--sql", "SELECT 1"), ("--sql",)),
        (("revenue", "--strategy", "index"), ("index",)),
    ],
)
def test_refused(
    arguments: tuple[str, ...], words: tuple[str, ...], shop: Shop, row_lineage: Run
) -> None:
    ended = row_lineage("explain", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert not [word for word in words if word not in ended.err], ended.err
