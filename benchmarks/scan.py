"""One bare scan of the columns that a lineage question reads: what nobody is faster than.

`any_value` makes DuckDB read every value and do nothing with it; a maximum would be answered from
the statistics in the files' footers. Each file is read once, however often the plan reads it.
"""

from __future__ import annotations

from collections import defaultdict

import duckdb

from lineage_core.datasets import local_path
from lineage_core.query.relations import Relations
from lineage_core.snapshot import Snapshot


def columns_read(relations: Relations) -> dict[Snapshot, set[int]]:
    """Return the columns of each source and intermediate that a question may read."""
    found: dict[Snapshot, set[int]] = defaultdict(set)
    for number in range(1, len(relations.program.steps)):
        if number in relations.computed:
            computed = relations.computed[number]
            for place, snapshot in computed.scans.items():
                found[snapshot].update(computed.ordinals[place].values())
        else:
            found[relations.snapshots[number]].update(relations.ordinals[number].values())
    return found


def scan(connection: duckdb.DuckDBPyConnection, read: dict[Snapshot, set[int]]) -> None:
    """Read the columns, and do nothing with them."""
    for snapshot, columns in read.items():
        files = [str(local_path(file.path)) for file in snapshot.files]
        relation = connection.read_parquet(files)
        names = [duckdb.ColumnExpression(snapshot.columns[column].name) for column in columns]
        values = [duckdb.FunctionExpression("any_value", name) for name in names]
        relation.aggregate(values or [duckdb.FunctionExpression("count")]).fetchall()
