"""Connecting to a catalog's database and bringing it to the newest migration.

SQLite runs in WAL mode with foreign keys on; a write transaction takes its lock at the start, since
upgrading a read lock later fails at once instead of waiting. Nothing is pooled, so a forked process
never shares a connection with its parent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    NullPool,
    column,
    create_engine,
    event,
    func,
    inspect,
    make_url,
    select,
    table,
)
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
)
from sqlalchemy.orm import Session

from lineage_core.catalog.models import HEAD
from lineage_core.errors import (
    CorruptError,
    LineageError,
    MissingExtraError,
    NotFoundError,
    UnsupportedError,
)

T = TypeVar("T")

VERSION_TABLE = "row_lineage_version"
"""Holds the migration the database is at; named apart from the one of an application next to us."""

_BUSY_SECONDS = 60.0
_ATTEMPTS = 5
_MIGRATION_LOCK = 0x526F774C696E  # any number that nobody else takes an advisory lock on
_RETRYABLE = ("40001", "40P01")  # SQL states: serialization failure, deadlock
_WRITES = "row_lineage_writes"


class Database:
    """A catalog's database, at the newest migration.

    Raises:
        UnsupportedError: the URL is of no supported database, or the catalog newer than the code.
        NotFoundError: the database cannot be reached.
        CorruptError: the file is not a database.
    """

    def __init__(self, url: str) -> None:
        self._url = _checked(url)
        self.name = self._url.render_as_string(hide_password=True)
        self._engine = _engine(self._url)
        self._writing = self._engine.execution_options(**{_WRITES: True})
        with self._reported():
            if self.revision() != HEAD:
                self._migrate()

    def close(self) -> None:
        """Release what the engine holds; connections are never kept."""
        self._engine.dispose()

    def read(self, question: Callable[[Session], T]) -> T:
        """Return what `question` finds, in one read transaction."""
        with self._reported(), Session(self._engine) as session, session.begin():
            return question(session)

    def write(self, change: Callable[[Session], T]) -> T:
        """Return what `change` gives in one transaction, tried again when another interfered."""
        with self._reported():
            for _ in range(_ATTEMPTS - 1):
                try:
                    return self._write(change)
                except DBAPIError as error:
                    if not _interfered(error):
                        raise
            return self._write(change)

    def revision(self) -> str:
        """Return the migration the database is at; empty before the first."""
        with self._engine.connect() as connection:
            return _revision(connection)

    def _write(self, change: Callable[[Session], T]) -> T:
        with Session(self._writing, expire_on_commit=False) as session, session.begin():
            return change(session)

    def _migrate(self) -> None:
        with self._writing.begin() as connection:
            if connection.dialect.name == "postgresql":  # SQLite has its write lock by now
                connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            current = _revision(connection)
            if current == HEAD:
                return  # another process was faster
            # Imported here: nearly every open finds the catalog as it should be.
            from alembic import command
            from alembic.config import Config
            from alembic.util import CommandError

            config = Config()
            config.set_main_option("script_location", "lineage_core.catalog:migrations")
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError as error:
                raise UnsupportedError(
                    f"the catalog {self.name} is at an unknown migration, {current}",
                    hint="upgrade airflow-provider-row-lineage, or rebuild into a new catalog",
                ) from error

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._report(error) from error

    def _report(self, error: DBAPIError) -> LineageError:
        reason = str(error.orig).strip().partition("\n")[0]
        if isinstance(error, OperationalError):
            hint = "check that it is up, and URL, user and permissions; row-lineage doctor"
            return NotFoundError(f"the catalog {self.name} cannot be used: {reason}", hint=hint)
        hint = "row-lineage catalog rebuild makes a new one from the store"
        return CorruptError(f"the catalog {self.name} failed: {reason}", hint=hint)


def _checked(text: str) -> URL:
    try:
        url = make_url(text)
    except ArgumentError:
        hint = "for example sqlite:////var/lib/lineage/catalog.db or postgresql://user@host/lineage"
        raise UnsupportedError("the catalog's URL is not a SQLAlchemy URL", hint=hint) from None
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise UnsupportedError(
            f"no catalog in {backend}", hint="use a sqlite:/// or postgresql:// URL"
        )
    if backend == "sqlite" and url.database in (None, "", ":memory:"):
        raise UnsupportedError("a catalog needs a file", hint="use sqlite:////path/to/catalog.db")
    return url


def _engine(url: URL) -> Engine:
    arguments: dict[str, Any] = {"poolclass": NullPool, "hide_parameters": True}
    if url.get_backend_name() == "sqlite":
        _private_file(Path(url.database or ""))
        arguments["connect_args"] = {"timeout": _BUSY_SECONDS, "isolation_level": None}
    try:
        engine = create_engine(url, **arguments)
    except (ImportError, NoSuchModuleError):
        raise MissingExtraError.of("postgres", "a catalog in PostgreSQL") from None
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _private_file(path: Path) -> None:
    """Create the database file before SQLite does: 0600, which its journals inherit."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise NotFoundError(f"the catalog {path} cannot be used: {error.strerror}") from error


def _prepare_sqlite(connection: Any, _record: object) -> None:
    for pragma in ("foreign_keys=ON", "journal_mode=WAL", "synchronous=NORMAL"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _revision(connection: Connection) -> str:
    if not inspect(connection).has_table(VERSION_TABLE):
        return ""
    versions = table(VERSION_TABLE, column("version_num"))
    return str(connection.execute(select(versions.c.version_num)).scalar() or "")


def _interfered(error: DBAPIError) -> bool:
    return isinstance(error, IntegrityError) or getattr(error.orig, "sqlstate", None) in _RETRYABLE
