"""Stores of every kind, and records to put into them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from lineage_core.plan.expr import TRUE
from lineage_core.plan.relation import Field, Filter, Plan, Scan
from lineage_core.snapshot import ColumnType, DataFile, Snapshot
from lineage_core.store import ArtifactStore
from lineage_core.store.manifest import OutputRecord, RunRecord, RunState

STORES = ("path", "file URL", "fsspec URL")


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    folder = tmp_path / "my store #1"
    match request.param:
        case "path":
            return ArtifactStore(str(folder))
        case "file URL":
            return ArtifactStore(folder.as_uri())
        case _:
            return ArtifactStore(f"memory://stores/{uuid.uuid4()}/my store #1")


@pytest.fixture
def local(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(str(tmp_path / "store"))


@pytest.fixture
def record() -> Callable[..., RunRecord]:
    """Return a maker of records with a plan of any depth."""

    def make(run_id: str | None = None, job: str = "job ü", depth: int = 1) -> RunRecord:
        plan: Plan = Scan(0, 0, "orders", (Field(1, "k", "long"),))
        for at in range(depth):
            plan = Filter(at + 1, TRUE, plan)
        file = DataFile("file:///out/q4/a.parquet", 10, 5, "d", ("1", None))
        output = Snapshot("file:///out/q4", "parquet", (ColumnType("k", "long"),), (file,))
        written = OutputRecord(
            dataset=output.dataset,
            mode="overwrite",
            snapshot=output,
            plan=plan,
            program=None,
            inputs=(),
            artifacts=(),
            analyzed="",
            optimized="",
            rows=3,
            timings=(),
        )
        now = "2026-01-02T03:04:05.678901+00:00"
        return RunRecord(
            run_id or str(uuid.uuid4()), job, now, now, RunState.COMPLETE, (written,), (("k", "v"),)
        )

    return make
