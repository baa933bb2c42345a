"""TPC-H queries run as pipelines under capture: read Parquet, write Parquet, each when first asked.

A captured query is kept for the session, by the mode of materialisation and the scale of its data.
Each mode and scale has a store of its own: what one mode saved must not be seen by another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lineage_core.lineage import LineageStore, open_store
from lineage_core.query.answer import SourceAnswer
from lineage_core.snapshot import RID_SHIFT
from lineage_core.store.manifest import OutputRecord

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")

Pairs = set[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Captured:
    """One query after its captured run: its output, and the store that is asked about it."""

    query: int
    data: Path
    store: LineageStore
    output: str

    @cached_property
    def run(self) -> str:
        """The id of the run."""
        return self.store.runs(dataset=self.output)[0].id

    @cached_property
    def record(self) -> OutputRecord:
        """What the run recorded of its only output."""
        (output,) = self.store.run(self.run).outputs
        assert not output.uncaptured, output.uncaptured
        return output

    @cached_property
    def rows(self) -> pa.Table:
        """The output's rows and their rids, read file by file in the snapshot's order."""
        files = sorted(Path(self.output).glob("*.parquet"))
        parts = []
        for number, file in enumerate(files):
            table = pq.read_table(file)
            rids = pa.array([(number << RID_SHIFT) + row for row in range(table.num_rows)])
            parts.append(table.append_column("rid", rids.cast(pa.int64())))
        return pa.concat_tables(parts)

    def source(self, table: str) -> str:
        """Return the path of a source table."""
        return str(self.data / f"{table}.parquet")

    def keyed(self, keys: list[str]) -> dict[tuple[Any, ...], int]:
        """Return the output's rids by the values of key columns, which name each row once."""
        columns = [self.rows.column(key).to_pylist() for key in keys]
        rids: list[int] = self.rows.column("rid").to_pylist()
        found = {tuple(c[row] for c in columns): rid for row, rid in enumerate(rids)}
        assert len(found) == len(rids) > 0
        return found

    def named(self, lineage: pa.Table) -> Pairs:
        """Return a relation of the oracle (key columns..., rid) with output rids for the keys."""
        *keys, _ = lineage.column_names
        out = self.keyed(keys)
        columns = [lineage.column(key).to_pylist() for key in keys]
        rids = lineage.column("rid").to_pylist()
        return {(out[tuple(c[row] for c in columns)], rid) for row, rid in enumerate(rids)}


class Captures:
    """Runs queries under capture, each (query, mode, scale factor) once.

    A mode is how intermediates are had; or `index`: indexes are built in the same run.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        data: Callable[[float], Path],
        text: Callable[[int], str],
    ) -> None:
        self._spark, self._folder, self._data, self._text = spark, folder, data, text
        self._captured: dict[tuple[int, str, float], Captured] = {}
        self._stores: dict[Path, LineageStore] = {}

    def __call__(self, query: int, mode: str, scale: float = 0.01) -> Captured:
        key = (query, mode, scale)
        if key not in self._captured:
            self._captured[key] = self._capture(*key)
        return self._captured[key]

    def plain(self, query: int, scale: float) -> Path:
        """Run a query without capture, once, and return its output."""
        output = self._folder / f"plain-{scale:g}" / f"q{query:02}"
        if not output.exists():
            with self.tables(scale):
                self._spark.sql(self._text(query)).write.parquet(str(output))
        return output

    @contextmanager
    def tables(self, scale: float) -> Iterator[None]:
        """Let queries find the tables of a scale factor."""
        for table in TABLES:
            path = self._data(scale) / f"{table}.parquet"
            self._spark.read.parquet(str(path)).createOrReplaceTempView(table)
        try:
            yield
        finally:
            for table in TABLES:
                self._spark.catalog.dropTempView(table)

    def _capture(self, query: int, mode: str, scale: float) -> Captured:
        folder = self._folder / f"{mode}-{scale:g}"
        if folder not in self._stores:
            self._stores[folder] = open_store(str(folder / "store"))
        store, output = self._stores[folder], str(folder / f"q{query:02}")
        how: dict[str, Any] = {"index": True} if mode == "index" else {"materialize": mode}
        with self.tables(scale), store.capture(self._spark, job=f"q{query:02}", **how):
            self._spark.sql(self._text(query)).write.parquet(output)
        return Captured(query, self._data(scale), store, output)


def as_set(pairs: pa.Table) -> Pairs:
    """Return a table of pairs as a set of (output rid, input rid)."""
    columns = (pairs.column(name).to_pylist() for name in ("out_rid", "in_rid"))
    found = set(zip(*columns, strict=True))
    assert len(found) == pairs.num_rows, "a pair is told once"
    return found


def table_of(answer: SourceAnswer) -> str:
    """Return the name of the table that an answer is about."""
    return Path(answer.dataset).stem
