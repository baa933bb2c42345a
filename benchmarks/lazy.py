"""What a lazy system does without a capture: ask the sources again, with DuckDB.

Both baselines stand on the hand-written lineage SQL of `tests/tpch/oracle`: the query rewritten so
that it hands on the rid of every source row. They read the same Parquet files as the product, by
the same engine, on all cores, and are given the row's key.

`provenance` is that rewrite of the whole query, filtered to the row by its key: what GProM does,
and what PredTrace compares itself with. The hand-written SQL leaves out aggregates that lineage
does not need, which GProM computes and joins back; so it is a lower bound of that system's time.

`trace` is an inverse query a source, in the manner of Trace: the original query is run and filtered
to the row, and joined with the source's part of the lineage SQL. Nothing is shared between sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
from duckdb import ColumnExpression, ConstantExpression
from workload import Inverse, Workload


class Lazy:
    """The baselines of one query, over an open DuckDB."""

    def __init__(self, workload: Workload, query: int) -> None:
        self.connection = workload.connect()
        self.inverse: Inverse = workload.inverse(query)
        self.shape = self.inverse.shape(self.connection)
        self._text = workload.text(query)

    def query(self) -> None:
        """Run the query itself."""
        self.connection.sql(self._text).to_arrow_table()

    def provenance(self, row: Mapping[str, Any]) -> None:
        """Run the rewritten query, filtered to one output row."""
        self.of_row(row).to_arrow_table()

    def provenance_of_all(self) -> None:
        """Run the rewritten query."""
        self.inverse.relation(self.connection).to_arrow_table()

    def of_row(self, row: Mapping[str, Any]) -> duckdb.DuckDBPyRelation:
        """Return the lineage of one output row, as the lineage SQL gives it."""
        found = self.inverse.relation(self.connection)
        for key, name in zip(self.shape.keys, self.shape.names, strict=True):
            found = found.filter(ColumnExpression(name) == ConstantExpression(row[key]))
        return found

    def trace(self, row: Mapping[str, Any]) -> None:
        """Run an inverse query for each source."""
        for occurrence in self.shape.occurrences:
            self._inverse_query(row, occurrence).to_arrow_table()

    def _inverse_query(self, row: Mapping[str, Any], occurrence: str) -> duckdb.DuckDBPyRelation:
        target = self.connection.sql(self._text)
        for key in self.shape.keys:
            target = target.filter(ColumnExpression(key) == ConstantExpression(row[key]))
        inverse = self.inverse.relation(self.connection)
        condition = ConstantExpression(True)
        for key, name in zip(self.shape.keys, self.shape.names, strict=True):
            condition = condition & (ColumnExpression(name) == ColumnExpression("t0", key))
        joined = inverse.set_alias("inverse").join(target.set_alias("t0"), condition, how="semi")
        rid = ColumnExpression(occurrence)
        return joined.filter(rid.isnotnull()).project(rid).distinct()
