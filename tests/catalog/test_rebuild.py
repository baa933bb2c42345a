"""A catalog rebuilt from the store is the catalog that was kept up to date run by run."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage_core.catalog import Catalog, open_catalog
from lineage_core.datasets import local_path
from lineage_core.errors import LineageError
from lineage_core.store import ArtifactStore
from lineage_core.store.manifest import VERSION, OutputRecord, RunRecord, RunState

if TYPE_CHECKING:
    from tests.catalog.conftest import Maker

Rows = Callable[[str], dict[str, list[tuple[object, ...]]]]

DATASETS = [f"file:///data/{name}" for name in "abc"]
MODES = ["overwrite", "append"]


def manifest_of(store: ArtifactStore, run_id: str) -> Path:
    return Path(local_path(store.uri(f"runs/{run_id}/manifest.json")) or "")


def stamp(version: int) -> bytes:
    return f'"version":{version}'.encode()


@st.composite
def records(draw: st.DrawFn, make: Maker, n: int) -> RunRecord:
    def output() -> OutputRecord:
        inputs = [
            make.snapshot(
                draw(st.sampled_from(DATASETS)),
                draw(st.integers(0, 1)),
                draw(st.sampled_from(["", "db.t", "db.u"])),
            )
            for _ in range(draw(st.integers(0, 2)))
        ]
        return make.output(
            draw(st.sampled_from(DATASETS)),
            *inputs,
            mode=draw(st.sampled_from(MODES)),
            state=draw(st.none() | st.integers(0, 1)),
            uncaptured=draw(st.sampled_from(["", "why"])),
            artifacts=draw(st.lists(st.integers(0, 9), max_size=2)),
        )

    return make.run(
        n,
        *(output() for _ in range(draw(st.integers(0, 3)))),
        at=draw(st.integers(0, 5)),
        tags=tuple(draw(st.lists(st.tuples(st.sampled_from("kl"), st.text("x\0ü", max_size=2)))))[
            :3
        ],
        state=draw(st.sampled_from(RunState)),
        uncaptured=draw(st.sampled_from(["", "no Spark"])),
    )


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_rebuilding_gives_what_adding_gave(
    data: st.DataObject, catalog: Catalog, url: str, make: Maker, rows: Rows
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = ArtifactStore(folder)
        catalog.rebuild(store)
        assert not any(found for name, found in rows(url).items() if name != "row_lineage_version")
        runs = [data.draw(records(make, n)) for n in range(4)]
        for run in runs:
            store.commit(run)
        for n in data.draw(st.permutations(range(4))) + data.draw(st.lists(st.integers(0, 3))):
            catalog.add(runs[n])
        for n in data.draw(st.sets(st.integers(0, 3))):
            catalog.remove(runs[n].id)
            store.delete(runs[n].id)
        kept = rows(url)
        report = catalog.rebuild(store)
        assert (report.added, report.skipped) == (len(store.runs()), ())
        assert rows(url) == kept
        with open_catalog(f"sqlite:///{folder}/another.db") as another:
            another.rebuild(store)
            assert rows(f"sqlite:///{folder}/another.db") == kept
            assert another.runs() == catalog.runs()


def test_a_corrupt_manifest_does_not_stop_the_rest(
    catalog: Catalog, store: ArtifactStore, make: Maker
) -> None:
    runs = [make.run(n, make.output(DATASETS[0])) for n in range(5)]
    for run in runs:
        store.commit(run)
    manifest_of(store, runs[1].id).write_bytes(b"x")
    data = manifest_of(store, runs[3].id).read_bytes()
    manifest_of(store, runs[3].id).write_bytes(data.replace(stamp(VERSION), stamp(VERSION + 1), 1))
    timeless = make.run(9)
    object.__setattr__(timeless, "ended", "yesterday")
    store.commit(timeless)
    store.write(f"{store.run_path(str(uuid.uuid4()))}/unfinished", b"")
    progress: list[tuple[int, int]] = []
    report = catalog.rebuild(store, lambda done, total: progress.append((done, total)))
    assert report.added == 3
    assert {run_id for run_id, _ in report.skipped} == {runs[1].id, runs[3].id, timeless.id}
    reasons = dict(report.skipped)
    assert "manifest.json" in reasons[runs[1].id]
    assert f"form {VERSION + 1}" in reasons[runs[3].id]
    assert "yesterday" in reasons[timeless.id]
    assert progress == [(n, 6) for n in range(1, 7)]
    assert {run.id for run in catalog.runs()} == {runs[n].id for n in (0, 2, 4)}


def test_a_rebuild_forgets_runs_the_store_does_not_have(
    catalog: Catalog, store: ArtifactStore, make: Maker
) -> None:
    catalog.add(make.run(1, make.output(DATASETS[0])))
    store.commit(make.run(2, make.output(DATASETS[1])))
    catalog.rebuild(store)
    assert [run.id for run in catalog.runs()] == [make.id(2)]
    with pytest.raises(LineageError):
        catalog.dataset(DATASETS[0])


def test_a_run_committed_while_manifests_are_read_is_not_lost(
    catalog: Catalog, store: ArtifactStore, make: Maker
) -> None:
    store.commit(make.run(1, make.output(DATASETS[0])))
    late = make.run(2, make.output(DATASETS[1]))

    def commit_late(done: int, total: int) -> None:
        store.commit(late)
        catalog.add(late)

    assert catalog.rebuild(store, commit_late).added == 2
    assert catalog.writer(DATASETS[1]).run_id == late.id


def test_a_run_deleted_while_manifests_are_read_is_not_kept(
    catalog: Catalog, store: ArtifactStore, make: Maker
) -> None:
    run = make.run(1, make.output(DATASETS[0]))
    store.commit(run)
    assert catalog.rebuild(store, lambda done, total: store.delete(run.id)).added == 0
    assert catalog.runs() == []


def test_a_rebuild_that_fails_changes_nothing(
    catalog: Catalog, store: ArtifactStore, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.add(make.run(1, make.output(DATASETS[0])))
    store.commit(make.run(2, make.output(DATASETS[0])))
    listed = store.runs()
    answers = iter([listed])

    def runs() -> list[str]:
        try:
            return next(answers)
        except StopIteration:
            raise ConnectionError("the store is gone") from None

    monkeypatch.setattr(store, "runs", runs)
    with pytest.raises(ConnectionError):
        catalog.rebuild(store)
    assert [run.id for run in catalog.runs()] == [make.id(1)]
