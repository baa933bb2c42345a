"""What a query engine is: it names base relations, runs SQL trees, and knows a little of its data.

A base relation has columns `file` and `row` (the two halves of a rid, where the format has rids)
and `k0`, `k1`, ... for the snapshot's columns by position, each as a value of the column's Spark
type. Everything above base relations is built once, from trees, by `query.evaluate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import pyarrow as pa
from sqlglot import exp

from lineage_core.query.compile import Dialect
from lineage_core.query.spool import Spooled
from lineage_core.snapshot import Snapshot

FILE = "file"
ROW = "row"


Given: TypeAlias = pa.Table | Spooled
"""Rows that a query names besides those of snapshots."""


def value(column: int) -> str:
    """Return the name that column number `column` of a snapshot has in its base relation."""
    return f"k{column}"


class Engine(Protocol):
    """Evaluates SQL trees over snapshots; safe to use from several threads."""

    @property
    def dialect(self) -> Dialect:
        """How the engine says what predicates mean."""

    def scan(self, snapshot: Snapshot, columns: tuple[int, ...], *, rids: bool) -> exp.Select:
        """Return the base relation of `snapshot` with `columns`, and if asked `file` and `row`.

        Raises:
            UnsupportedError: the engine cannot read the snapshot exactly as Spark does.
        """

    def never_null(self, snapshot: Snapshot, column: int) -> bool:
        """Whether a column is known to hold no null; equality then needs no care for them."""

    def run(self, query: exp.Query, tables: Mapping[str, Given]) -> pa.Table:
        """Return the rows of `query`, which may name `tables`. The tree is used up."""

    def spool(self, query: exp.Query, tables: Mapping[str, Given], uri: str) -> Spooled:
        """Write what `run` would return, in any order, to the new folder `uri`."""
