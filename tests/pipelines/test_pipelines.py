"""Random pipelines, answered by programs and by a naive annotated interpreter.

`ROW_LINEAGE_TEST_PIPELINES` says how many; 150 by default.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import lineage_core as lc
from lineage_core.lineage import LineageStore
from tests.pipelines.check import Tally, check
from tests.pipelines.lake import Lake
from tests.pipelines.pipeline import pipeline
from tests.pipelines.replayable import counts_every_row, replayable

_COUNT = int(os.environ.get("ROW_LINEAGE_TEST_PIPELINES", "150"))
_CHUNKS = [range(i, min(i + 15, _COUNT)) for i in range(0, _COUNT, 15)]


def _name(seeds: range) -> str:
    return f"{seeds.start}-{seeds.stop - 1}"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LineageStore]:
    opened = lc.open_store(str(tmp_path / "store"))
    yield opened
    opened.catalog.close()


@pytest.mark.parametrize("seeds", _CHUNKS, ids=_name)
def test_answers_are_the_interpreters(seeds: range, tmp_path: Path, store: LineageStore) -> None:
    lake = Lake(tmp_path / "lake", store)
    tally = Tally()
    for seed in seeds:
        check(pipeline(seed), lake, tally)
    assert tally.asked["saved", "all"] > len(seeds) / 2
    assert tally.exact["saved", "all"] >= tally.asked["saved", "all"] / 2


def test_lineage_alone_gives_every_row_again() -> None:
    replayed = dropped = 0
    for seed in range(900):
        made = pipeline(seed)
        if made.tied or not replayable(made.plan):
            continue
        for row in made.rows:
            assert made.key(row) in made.again(row.lineage), (seed, str(made))
            replayed += 1
            if not counts_every_row(made.plan):
                continue
            for at, rids in row.lineage.items():
                for rid in rids:
                    fewer = {**row.lineage, at: rids - {rid}}
                    assert made.key(row) not in made.again(fewer), (seed, at, rid, str(made))
                    dropped += 1
    assert replayed > 1500 and dropped > 100
