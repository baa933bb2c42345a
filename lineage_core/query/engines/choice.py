"""Choose the engine for a question: the one asked for, or the first that can answer exactly."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from lineage_core.errors import MissingExtraError, NotFoundError, UnsupportedError
from lineage_core.query.protocol import Engine

if TYPE_CHECKING:
    from lineage_core.query.engines.duckdb import DuckDBEngine

T = TypeVar("T")

ENGINES = ("auto", "duckdb", "spark")


class Engines:
    """The engines of a store, each opened when first needed; safe to use from several threads.

    Args:
        scratch: a folder of this machine for DuckDB to put aside in what is larger than memory.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        self._lock = Lock()
        self._scratch = scratch
        self._duckdb: DuckDBEngine | None = None

    def ask(self, name: str, question: Callable[[Engine], T]) -> T:
        """Return the answer of engine `name` to `question`.

        `auto` is DuckDB, and where that refuses, Spark if the process has a session.

        Raises:
            UnsupportedError: no engine has what the question needs in exactly Spark's meaning.
        """
        if name == "spark":
            return _ask_spark(question)
        try:
            return question(self.duckdb())
        except UnsupportedError:
            if name != "auto" or not _has_spark_session():
                raise
        return _ask_spark(question)

    def duckdb(self) -> DuckDBEngine:
        """Return the engine that reads this machine's files."""
        with self._lock:
            if self._duckdb is None:
                from lineage_core.query.engines.duckdb import DuckDBEngine

                self._duckdb = DuckDBEngine(self._scratch)
            return self._duckdb


def _ask_spark(question: Callable[[Engine], T]) -> T:
    try:
        from lineage_core.query.engines.spark import SparkEngine
    except ImportError:
        raise MissingExtraError.of("spark", "engine='spark'") from None
    with SparkEngine() as engine:
        return question(engine)


def check_engine(name: str) -> str:
    """Return `name` if an engine is called so.

    Raises:
        NotFoundError: none is.
    """
    if name not in ENGINES:
        raise NotFoundError(f"there is no engine {name!r}", hint=f"use one of {', '.join(ENGINES)}")
    return name


def _has_spark_session() -> bool:
    # Looked up, not imported: a process that has a session has imported pyspark.
    sql = sys.modules.get("pyspark.sql")
    return sql is not None and bool(sql.SparkSession.getActiveSession() is not None)
