"""One TPC-H query over one data folder, run by DuckDB over parts of the source rows.

Nothing here is the product's: it is what the oracle, and then the product, are held to.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp

Row = dict[str, Any]

SAMPLES = 4
"""Output rows tried per query; rows left out per occurrence."""

IRREPLACEABLE: dict[int, tuple[str, ...]] = {
    1: ("lineitem",),
    2: ("part", "supplier", "partsupp", "nation", "region"),
    3: ("customer", "orders", "lineitem"),
    4: ("orders",),
    5: ("customer", "orders", "lineitem", "supplier", "nation", "region"),
    6: ("lineitem",),
    7: ("supplier", "lineitem", "orders", "customer", "nation", "nation_2"),
    8: ("part", "supplier", "lineitem", "orders", "customer", "nation", "region"),
    9: ("part", "supplier", "lineitem", "partsupp", "orders", "nation"),
    10: ("customer", "orders", "lineitem", "nation"),
    11: ("partsupp", "supplier", "nation"),
    12: ("orders", "lineitem"),
    13: ("customer", "orders"),
    14: ("lineitem", "part"),
    15: ("supplier", "lineitem"),
    17: ("lineitem", "part"),
    18: ("customer", "orders", "lineitem"),
    19: ("lineitem", "part"),
    20: ("supplier", "nation"),
    21: ("supplier", "lineitem", "orders", "nation"),
    22: ("customer",),
}
"""Query -> occurrences of which each single row changes the output row it is said to be lineage of.

Missing: rows that another may stand in for (a second inner row of EXISTS, an offer that is not the
cheapest, a second part of the same supplier in a distinct count, a share of a nation that is not
counted).
"""


class Case:
    """One query over one data folder, with its oracle; runs the query over part of the data."""

    def __init__(self, query: int, text: str, data: Path, oracle: ModuleType) -> None:
        self.oracle = oracle
        self.text = text
        self.lineage: dict[str, pa.Table] = oracle.oracle_lineage(query, data)
        self.keys = next(iter(self.lineage.values())).column_names[:-1]
        self.connection: duckdb.DuckDBPyConnection = oracle.connect(data)
        self.rows = self.run(sqlglot.parse_one(text, read="duckdb"))

    def key(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.keys)

    def sample(self) -> list[Row]:
        return random.Random(0).sample(self.rows, min(SAMPLES, len(self.rows)))

    def rids(self, row: Row, occurrence: str) -> list[int]:
        """Return the lineage of output row `row` in `occurrence`."""
        pairs = self.lineage[occurrence]
        for name in self.keys:
            pairs = pairs.filter(pc.equal(pairs[name], pa.scalar(row[name], pairs[name].type)))
        rids: list[int] = pairs["rid"].to_pylist()
        return rids

    def run(self, tree: exp.Expr) -> list[Row]:
        result = self.connection.sql(tree.sql("duckdb"))
        return [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]

    def only(self, kept: dict[str, list[int]]) -> list[Row]:
        """Run the query with each occurrence cut down to the rows `kept`."""
        return self._over({name: (rids, False) for name, rids in kept.items()})

    def without(self, occurrence: str, dropped: list[int]) -> list[Row]:
        """Run the query with the rows `dropped` missing from `occurrence`."""
        return self._over({occurrence: (dropped, True)})

    def _over(self, parts: dict[str, tuple[list[int], bool]]) -> list[Row]:
        tree = sqlglot.parse_one(self.text, read="duckdb")
        for table, occurrences in self.tables(tree):
            given = [parts[name] for name in occurrences if name in parts]
            if given:
                rids = sorted({rid for some, _ in given for rid in some})
                table.replace(self._part(table, rids, negated=given[0][1]))
        return self.run(tree)

    def together(self, occurrence: str) -> list[str]:
        """Return the occurrences that are read at the same place of the text as `occurrence`."""
        places = self.tables(sqlglot.parse_one(self.text, read="duckdb"))
        (found,) = (occurrences for _, occurrences in places if occurrence in occurrences)
        return found

    def tables(self, tree: exp.Expr) -> list[tuple[exp.Table, list[str]]]:
        """Return the places where `tree` reads source tables, each with the occurrences it is.

        The last place takes what is left: a common table expression is written once, read twice.
        """
        places: dict[str, list[tuple[exp.Table, list[str]]]] = {}
        for table in sorted(tree.find_all(exp.Table), key=lambda t: t.this.meta["start"]):
            places.setdefault(table.name, []).append((table, []))
        counts: Counter[str] = Counter()
        for occurrence in self.lineage:
            name = self.oracle.table_of(occurrence)
            _, here = places[name][min(counts[name], len(places[name]) - 1)]
            here.append(occurrence)
            counts[name] += 1
        return [place for name in counts for place in places[name]]

    def _part(self, table: exp.Table, rids: list[int], *, negated: bool) -> exp.Subquery:
        view = f"part_{table.this.meta['start']}"
        self.connection.register(view, pa.table({"rid": pa.array(rids, pa.int64())}))
        within = exp.column("rid").isin(query=exp.select("rid").from_(view))
        chosen = exp.not_(within) if negated else within
        return exp.select("*").from_(table.name).where(chosen).subquery(table.alias_or_name)
