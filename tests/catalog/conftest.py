"""Catalogs in every database at hand, and records to put into them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, make_url
from sqlalchemy.schema import CreateSchema, DropSchema

from lineage_core.catalog import Catalog, open_catalog
from lineage_core.snapshot import DataFile, Snapshot
from lineage_core.store import ArtifactStore
from lineage_core.store.manifest import (
    Artifact,
    Materialize,
    OutputRecord,
    RunRecord,
    RunState,
)

POSTGRES = os.environ.get("ROW_LINEAGE_TEST_POSTGRES", "")
"""URL of a PostgreSQL database the tests may make schemas in; without it they use SQLite only."""


@dataclass(frozen=True)
class Maker:
    """Makes records: run `n` ends at second `n` of an hour unless told otherwise."""

    def id(self, n: int) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, str(n)))

    def snapshot(self, dataset: str, state: object = 0, alias: str = "") -> Snapshot:
        files = (DataFile(f"{dataset}/part-{state}", 100, 5, f"digest {state}"),)
        return Snapshot(dataset, "parquet", (), files, alias=alias)

    def output(
        self,
        dataset: str,
        *inputs: Snapshot,
        mode: str = "overwrite",
        state: object = 0,
        alias: str = "",
        uncaptured: str = "",
        artifacts: Sequence[int] = (),
    ) -> OutputRecord:
        return OutputRecord(
            dataset=dataset,
            mode=mode,
            snapshot=None if state is None else self.snapshot(dataset, state, alias),
            plan=None,
            program=None,
            inputs=inputs,
            artifacts=tuple(
                Artifact(
                    step,
                    Snapshot("file:///s", "parquet", (), (DataFile("file:///s/x", step, 0, ""),)),
                    7,
                    Materialize.INJECT,
                )
                for step in artifacts
            ),
            analyzed="",
            optimized="",
            rows=5,
            timings=(),
            uncaptured=uncaptured,
        )

    def run(
        self,
        n: int,
        *outputs: OutputRecord,
        job: str = "job",
        at: int | None = None,
        tags: tuple[tuple[str, str], ...] = (),
        uncaptured: str = "",
        state: RunState = RunState.COMPLETE,
    ) -> RunRecord:
        second = n if at is None else at
        started, ended = (
            f"2026-01-02T{hour}:{second // 60:02}:{second % 60:02}+00:00" for hour in ("03", "04")
        )
        return RunRecord(self.id(n), job, started, ended, state, outputs, tags, uncaptured)


@pytest.fixture
def make() -> Maker:
    return Maker()


@pytest.fixture(params=["sqlite", *(["postgresql"] if POSTGRES else [])])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the URL of an empty database; for PostgreSQL, of an empty schema."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/catalogs/catalog.db"
        return
    schema = f"test_{uuid.uuid4().hex}"
    engine = create_engine(POSTGRES, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(CreateSchema(schema))
    options = {"options": f"-csearch_path={schema}"}
    yield make_url(POSTGRES).update_query_dict(options).render_as_string(hide_password=False)
    with engine.begin() as connection:
        connection.execute(DropSchema(schema, cascade=True))


@pytest.fixture
def catalog(url: str) -> Iterator[Catalog]:
    with open_catalog(url) as opened:
        yield opened


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(str(tmp_path / "store"))


@pytest.fixture
def rows() -> Callable[[str], dict[str, list[tuple[object, ...]]]]:
    """Return a function giving the sorted rows of every table of a catalog, read without it."""
    from sqlalchemy import MetaData, select

    def read(url: str) -> dict[str, list[tuple[object, ...]]]:
        metadata = MetaData()
        with create_engine(url, poolclass=NullPool).connect() as connection:
            metadata.reflect(connection)
            return {
                name: sorted(map(tuple, connection.execute(select(table))), key=repr)
                for name, table in metadata.tables.items()
            }

    return read
