"""The database below a catalog: migrations, many processes at once, privacy, what can be wrong."""

from __future__ import annotations

import multiprocessing
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, MetaData, NullPool, create_engine, event, inspect, update

from lineage_core.catalog import Catalog, open_catalog
from lineage_core.catalog.database import VERSION_TABLE
from lineage_core.catalog.models import HEAD, Base
from lineage_core.errors import (
    CorruptError,
    MissingExtraError,
    NotFoundError,
    UnsupportedError,
)
from lineage_core.store import ArtifactStore

if TYPE_CHECKING:
    from tests.catalog.conftest import Maker

ROOT = Path(__file__).parents[2]
OUT = "file:///data/out"


def migrations() -> Config:
    config = Config()
    config.set_main_option("script_location", "lineage_core.catalog:migrations")
    return config


# Migrations


def test_a_new_catalog_is_at_the_newest_migration(catalog: Catalog) -> None:
    revision = catalog.revision()
    assert revision.current == revision.head == HEAD
    assert revision.is_head
    assert ScriptDirectory.from_config(migrations()).get_heads() == [HEAD]


def test_the_migrations_make_the_tables_the_code_has(url: str, catalog: Catalog) -> None:
    def include(_: object, name: str | None, kind: str, *__: object) -> bool:
        return not (kind == "table" and name == VERSION_TABLE)

    options = {"include_object": include, "compare_type": True}
    with create_engine(url, poolclass=NullPool).connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, Base.metadata) == []


def test_migrations_go_down_and_up_again(url: str, catalog: Catalog, make: Maker) -> None:
    config = migrations()
    with create_engine(url, poolclass=NullPool).begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        assert set(inspect(connection).get_table_names()) <= {VERSION_TABLE}
    with open_catalog(url) as again:
        again.add(make.run(1, make.output(OUT)))
        assert again.revision().is_head and len(again.runs()) == 1


def test_a_catalog_of_a_newer_version_is_left_alone(url: str, catalog: Catalog) -> None:
    metadata = MetaData()
    with create_engine(url, poolclass=NullPool).begin() as connection:
        metadata.reflect(connection, only=[VERSION_TABLE])
        connection.execute(update(metadata.tables[VERSION_TABLE]).values(version_num="9999"))
    with pytest.raises(UnsupportedError, match="migration, 9999") as caught:
        open_catalog(url)
    assert "upgrade" in caught.value.hint


def test_a_migration_that_breaks_off_leaves_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from alembic import op

    create_index = op.create_index

    def fail_late(name: str, table: str, columns: list[str]) -> None:
        if table == "inputs":
            raise RuntimeError("power cut")
        create_index(name, table, columns)

    with monkeypatch.context() as patched:
        patched.setattr(op, "create_index", fail_late)
        with pytest.raises(RuntimeError, match="power cut"):
            open_catalog(url)
    with create_engine(url, poolclass=NullPool).connect() as connection:
        assert inspect(connection).get_table_names() == []
    with open_catalog(url) as catalog:
        assert catalog.revision().is_head


# Many at once

PROCESS = """
import sys
from lineage_core.catalog import open_catalog
from lineage_core.store import ArtifactStore
url, folder, *ids = sys.argv[1:]
store = ArtifactStore(folder)
sys.stdin.readline()
with open_catalog(url) as catalog:
    for run_id in ids:
        catalog.add(store.load(run_id))
"""


def test_processes_create_and_fill_one_catalog_at_once(
    url: str, store: ArtifactStore, make: Maker
) -> None:
    runs = [
        make.run(n, make.output(OUT, *(make.snapshot(f"file:///{d}") for d in (n % 3, n % 5))))
        for n in range(24)
    ]
    for run in runs:
        store.commit(run)
    ids = [run.id for run in runs]
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, url, store.url, *ids[i::3], ids[0]],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for i in range(3)
    ]
    failures = [worker.communicate("go\n")[1] for worker in workers]
    assert failures == [""] * 3
    with open_catalog(url) as catalog:
        assert {run.id for run in catalog.runs()} == set(ids)
        assert catalog.writer(OUT).run_id == ids[23]


def test_threads_add_remove_and_read_at_once(catalog: Catalog, make: Maker) -> None:
    failures: list[Exception] = []
    start = threading.Barrier(6)

    def work(worker: int) -> None:
        start.wait()
        try:
            for n in range(worker * 10, worker * 10 + 5):
                shared = make.snapshot(f"file:///shared/{n % 2}")
                catalog.add(make.run(n, make.output(f"file:///own/{worker}", shared)))
                catalog.runs()
                if n % 10 != 0:
                    catalog.remove(make.id(n))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert {run.id for run in catalog.runs()} == {make.id(worker * 10) for worker in range(6)}
    assert {ref.run_id for ref in catalog.readers("file:///shared/0")} == {
        make.id(worker * 10) for worker in range(6)
    }


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_uses_the_catalog_too(catalog: Catalog, make: Maker) -> None:
    catalog.add(make.run(0, make.output(OUT)))
    context = multiprocessing.get_context("fork")
    children = [
        context.Process(target=catalog.add, args=(make.run(n, make.output(OUT)),)) for n in (1, 2)
    ]
    for child in children:
        child.start()
    catalog.add(make.run(3, make.output(OUT)))
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0]
    assert len(catalog.runs()) == 4


def test_a_reader_sees_a_run_whole_or_not_at_all(catalog: Catalog, make: Maker) -> None:
    run = make.run(1, *(make.output(f"file:///d/{i}", artifacts=(1,)) for i in range(20)))
    seen: set[tuple[int, int]] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            for summary in catalog.runs():
                seen.add((len(summary.outputs), summary.artifact_bytes))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20):
        catalog.add(run)
    done.set()
    reader.join()
    assert seen <= {(20, 20)}


# SQLite


def test_every_lookup_uses_an_index(tmp_path: Path, make: Maker) -> None:
    path = tmp_path / "catalog.db"
    catalog = open_catalog(f"sqlite:///{path}")
    run = make.run(1, make.output(OUT, make.snapshot("file:///data/in", alias="db.t")))
    catalog.add(run)
    asked: list[tuple[str, Any]] = []

    def note(_c: Any, _k: Any, statement: str, parameters: Any, *_: Any) -> None:
        asked.append((statement, parameters))

    lookups: list[Callable[[], object]] = [
        lambda: catalog.dataset(OUT),
        lambda: catalog.dataset("db.t"),
        lambda: catalog.dataset("data/in"),
        lambda: catalog.run_id(run.id[:6]),
        lambda: catalog.writer(OUT),
        lambda: catalog.writer(OUT, as_of=catalog.runs()[0].ended),
        lambda: catalog.writer(OUT, run=run.id),
        lambda: catalog.writer_of_snapshot(OUT, make.snapshot(OUT).id),
        lambda: catalog.readers("data/in"),
        lambda: catalog.readers("data/in", snapshot_id="x"),
        lambda: catalog.runs(),
        lambda: catalog.runs(job="job"),
        lambda: catalog.runs(dataset=OUT),
        lambda: catalog.runs(tag=("a", "b")),
        lambda: catalog.add(run),
        lambda: catalog.remove(run.id),
    ]
    event.listen(Engine, "before_cursor_execute", note)
    try:
        for lookup in lookups:
            lookup()
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert len(asked) > 40
    whole = re.compile(rf"SCAN ({'|'.join(Base.metadata.tables)})\b")
    connection = sqlite3.connect(path)
    for statement, parameters in asked:
        if statement.startswith(("SELECT", "DELETE")) and VERSION_TABLE not in statement:
            for *_, plan in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters):
                assert not (whole.match(plan) and "USING" not in plan), statement
    connection.close()


def test_the_file_is_private_and_in_wal_mode(tmp_path: Path, make: Maker) -> None:
    old = os.umask(0)
    try:
        with open_catalog(f"sqlite:///{tmp_path}/new/deep/catalog.db") as catalog:
            catalog.add(make.run(1, make.output(OUT)))
            reader = sqlite3.connect(tmp_path / "new" / "deep" / "catalog.db")
            assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert reader.execute("SELECT count(*) FROM runs").fetchone() == (1,)
            catalog.add(make.run(2, make.output(OUT)))
            files = list((tmp_path / "new" / "deep").iterdir())
            reader.close()
    finally:
        os.umask(old)
    assert {path.name for path in files} >= {"catalog.db", "catalog.db-wal"}
    assert {path.stat().st_mode & 0o777 for path in files if path.exists()} == {0o600}
    assert (tmp_path / "new" / "deep").stat().st_mode & 0o777 == 0o700


def test_foreign_keys_hold(tmp_path: Path, make: Maker) -> None:
    with open_catalog(f"sqlite:///{tmp_path}/catalog.db") as catalog:
        run = make.run(1, make.output(OUT, make.snapshot("file:///in", alias="t"), artifacts=(1,)))
        catalog.add(run)
        catalog.remove(run.id)
    connection = sqlite3.connect(tmp_path / "catalog.db")
    for table in Base.metadata.tables:
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    connection.close()


# What can be wrong


@pytest.mark.parametrize(
    "url", ["", "nonsense", "mysql://h/db", "sqlite://", "sqlite:///:memory:", "duckdb:///x.db"]
)
def test_an_url_of_no_database_we_know(url: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        open_catalog(url)
    assert caught.value.hint


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_bytes(b"no database, just text" * 1000)
    with pytest.raises(CorruptError, match=r"catalog\.db"):
        open_catalog(f"sqlite:///{tmp_path}/catalog.db")


@pytest.mark.parametrize("place", ["file/catalog.db", "folder"])
def test_a_place_where_no_file_can_be(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(NotFoundError, match="cannot be used"):
        open_catalog(f"sqlite:///{tmp_path}/{place}")


def test_a_server_that_is_down_and_no_password_in_messages() -> None:
    with pytest.raises(NotFoundError, match=r"cannot be used") as caught:
        open_catalog("postgresql://user:geheim@127.0.0.1:9/lineage?connect_timeout=2")
    assert "geheim" not in str(caught.value)


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match="postgres") as caught:
        open_catalog("postgresql://127.0.0.1:9/lineage")
    assert "pip install" in caught.value.hint
