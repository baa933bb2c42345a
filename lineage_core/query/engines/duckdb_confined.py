"""DuckDB for queries that users write: a database of its own that can reach nothing else.

Of the file system it may read only the files of the snapshots given with the query; it has no
settings to change, no extensions to load, and does not take names for variables of this process.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from threading import Lock
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from lineage_core.datasets import local_path
from lineage_core.query.engines.duckdb import pattern
from lineage_core.snapshot import Snapshot

_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}

_CONFINE = (
    "SET GLOBAL TimeZone = 'UTC'",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)

_LOCK = Lock()


class Refusal(Exception):
    """DuckDB refused a query.

    Attributes:
        kind: the name of its error.
        message: its first line, where it is about the query; empty where it may quote data.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.message = message


def syntax(query: exp.Query) -> dict[str, Any]:
    """Return DuckDB's own syntax tree of a query, without evaluating or binding anything."""
    text = query.sql("duckdb", identify=True, comments=False)
    with _LOCK, _parser().cursor() as cursor:
        row = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchone()
    found: dict[str, Any] = json.loads(row[0]) if row else {}
    return found


def run(
    query: exp.Query,
    tables: Mapping[str, pa.Table],
    snapshots: Iterable[Snapshot],
    parameters: Mapping[str, Any],
) -> pa.Table:
    """Return the rows of a query over `tables` and the files of `snapshots`.

    Raises:
        Refusal: DuckDB cannot answer it.
    """
    text = query.sql("duckdb", identify=True, comments=False)
    with _confined(snapshots) as database:
        for name, table in tables.items():
            database.register(name, table)
        try:
            return database.sql(text, params=dict(parameters)).to_arrow_table()
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            # These come before any row is read.
            first = str(error).partition("\n")[0]
            raise Refusal(type(error).__name__, first.partition(": ")[2]) from None
        except duckdb.Error as error:
            raise Refusal(type(error).__name__, "") from None


@lru_cache(maxsize=1)
def _parser() -> duckdb.DuckDBPyConnection:
    return _confined(())


def _confined(snapshots: Iterable[Snapshot]) -> duckdb.DuckDBPyConnection:
    """Open a database that may read the files of `snapshots` and nothing else, for good."""
    database = duckdb.connect(config=dict(_SETTINGS))
    database.execute(_allowing(snapshots).sql("duckdb"))
    for statement in _CONFINE:
        database.execute(statement)
    return database


def _allowing(snapshots: Iterable[Snapshot]) -> exp.Set:
    paths = set()
    for snapshot in snapshots:
        for file in snapshot.files:
            # Both the file and the pattern that matches just it are looked up.
            paths |= {pattern(snapshot, file), local_path(file.path) or ""}
    array = exp.Array(expressions=[exp.Literal.string(path) for path in sorted(paths)])
    setting = exp.EQ(this=exp.to_identifier("allowed_paths"), expression=array)
    return exp.Set(expressions=[exp.SetItem(this=setting)])
