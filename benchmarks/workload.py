"""TPC-H as the benchmarks use it: data, query texts, and the oracle of `tests/tpch`.

The oracle is lineage SQL written by hand, which shares no code with the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from lineage_core.snapshot import RID_SHIFT

QUERIES = tuple(range(1, 23))
OUT_RID = "out_rid"

_TPCH = Path(__file__).parents[1] / "tests" / "tpch"


class Workload:
    """The data of one scale factor, and everything that can be asked of it."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self._texts = _load("data")
        self._oracle = _load("oracle")
        self.data: Path = self._texts.generate(scale)

    def text(self, query: int) -> str:
        """Return the text of a query, valid in Spark and DuckDB."""
        text: str = self._texts.query(query)
        return text

    def inverse(self, query: int) -> Inverse:
        """Return a query's lineage as hand-written SQL."""
        text = (_TPCH / "oracle" / f"q{query:02}.sql").read_text()
        return Inverse(text, self._oracle)

    def connect(self) -> duckdb.DuckDBPyConnection:
        """Return a DuckDB with a view of each table: its columns, then `rid`."""
        connection: duckdb.DuckDBPyConnection = self._oracle.connect(self.data)
        return connection

    def tables(self) -> list[Path]:
        return sorted(self.data.glob("*.parquet"))


@dataclass(frozen=True)
class Inverse:
    """Lineage SQL of a query: `out_<column>` are a key of the output, all others hold rids."""

    text: str
    _oracle: ModuleType

    def relation(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        return connection.sql(self.text)

    def table_of(self, occurrence: str) -> str:
        """Return the table that an occurrence reads."""
        table: str = self._oracle.table_of(occurrence)
        return table

    def shape(self, connection: duckdb.DuckDBPyConnection) -> Shape:
        """Return what the columns of the lineage SQL are."""
        names = self.relation(connection).columns
        keys = [name for name in names if name.startswith(self._oracle.KEY)]
        return Shape(
            tuple(name.removeprefix(self._oracle.KEY) for name in keys),
            tuple(keys),
            tuple(name for name in names if name not in keys),
        )


@dataclass(frozen=True)
class Shape:
    """The columns of lineage SQL.

    Attributes:
        keys: the columns of the query's output that are a key of it; none for a single row.
        names: how the lineage SQL calls them.
        occurrences: the columns with rids, one for each time that the query reads a table.
    """

    keys: tuple[str, ...]
    names: tuple[str, ...]
    occurrences: tuple[str, ...]


@dataclass(frozen=True)
class Output:
    """The rows that a pipeline wrote, in the order of their rids."""

    folder: str

    @cached_property
    def rows(self) -> pa.Table:
        """The rows, and their rids as the last column."""
        parts = []
        for number, file in enumerate(sorted(Path(self.folder).glob("*.parquet"))):
            table = pq.read_table(file)
            rids = [(number << RID_SHIFT) + row for row in range(table.num_rows)]
            parts.append(table.append_column(OUT_RID, pa.array(rids, pa.int64())))
        return pa.concat_tables(parts)

    def sample(self, count: int) -> pa.Table:
        """Return at most `count` rows, spread evenly over the output."""
        total = self.rows.num_rows
        wanted = min(count, total)
        return self.rows.take([place * total // wanted for place in range(wanted)])


@contextmanager
def session(workload: Workload, folder: Path) -> Iterator[SparkSession]:
    """Give a local Spark session on all cores, with a view of each table."""
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for file in workload.tables():
        spark.read.parquet(str(file)).createOrReplaceTempView(file.stem)
    try:
        yield spark
    finally:
        spark.stop()


def _load(name: str) -> ModuleType:
    """Return a module of `tests/tpch`, which is no package."""
    spec = spec_from_file_location(f"tpch_{name}", _TPCH / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
