"""Row lineage of the 22 TPC-H queries, written by hand in SQL: what the product is held to.

`oracle/qNN.sql` is one DuckDB query over views that hold the rows of each table and their `rid`,
the row's position in the table's single Parquet file. Its columns `out_<column>` are a key of the
query's output rows (none: the query has a single output row); every other column is an occurrence
of a source table and holds rids. A result row says: these source rows take part in that output row;
NULL says nothing.

An occurrence is named like its table; the second time the query's text reads that table it is
`<table>_2`, and so on in the order of the text. A common table expression read twice counts twice.

The lineage is PredTrace's (its Table 2): joins give the rows that joined, a group-by its whole
group, EXISTS and IN every matching inner row, NOT EXISTS and NOT IN no inner row, a scalar subquery
every row its value was computed from, an outer join no row for a missing side, a limit the rows of
what it keeps. Each side is a set.
"""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

KEY = "out_"


def table_of(occurrence: str) -> str:
    """Return the table that `occurrence` reads."""
    return re.sub(r"_\d$", "", occurrence)


def connect(data: Path) -> duckdb.DuckDBPyConnection:
    """Open a database with one view a table in folder `data`: its columns, then `rid`."""
    connection = duckdb.connect()
    for file in sorted(data.glob("*.parquet")):
        rows = connection.read_parquet(str(file), file_row_number=True)
        rows.project("* exclude (file_row_number), file_row_number as rid").create_view(file.stem)
    return connection


def oracle_lineage(query: int, data: Path) -> dict[str, pa.Table]:
    """Return the lineage of TPC-H `query`: occurrence -> table of distinct (key columns..., rid).

    Key columns are named as in the query's output. The occurrences are in the order of the query's
    text; one that contributes nothing has an empty table.
    """
    text = (Path(__file__).parent / "oracle" / f"q{query:02}.sql").read_text()
    with connect(data) as connection:
        together = connection.sql(text).to_arrow_table()
    keys = [name for name in together.column_names if name.startswith(KEY)]
    names = [*(key.removeprefix(KEY) for key in keys), "rid"]
    return {
        occurrence: together.filter(pc.is_valid(together[occurrence]))
        .group_by([*keys, occurrence])
        .aggregate([])
        .rename_columns(names)
        for occurrence in together.column_names
        if occurrence not in keys
    }


def oracle_pairs(query: int, data: Path) -> pa.Table:
    """Return `oracle_lineage` as one table: occurrence, key columns..., rid."""
    return pa.concat_tables(
        part.add_column(0, "occurrence", pa.repeat(occurrence, part.num_rows))
        for occurrence, part in oracle_lineage(query, data).items()
    )
