"""The product against the hand-written oracle: TPC-H, every output row, both modes, both engines.

Each query is run as a pipeline: read Parquet, write Parquet, under capture. The relation of output
rows and source rows that the store answers must be the oracle's, pair by pair; no code is shared
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lineage_core.lineage import LineageStore, open_store
from lineage_core.plan.program import StepKind
from lineage_core.snapshot import RID_SHIFT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = (1, 3, 4, 5, 6, 10, 12, 14)
MODES = ("inject", "defer")
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


@dataclass(frozen=True)
class Captured:
    """The queries, captured in one materialisation mode, and where they were written."""

    store: LineageStore
    folder: Path
    mode: str

    def output(self, query: int) -> str:
        return str(self.folder / f"q{query:02}")

    def rows(self, query: int) -> pa.Table:
        """Return the output's rows with their rids, read file by file in the snapshot's order."""
        files = sorted(Path(self.output(query)).glob("*.parquet"))
        parts = []
        for number, file in enumerate(files):
            table = pq.read_table(file)
            rids = pa.array([(number << RID_SHIFT) + row for row in range(table.num_rows)])
            parts.append(table.append_column("rid", rids.cast(pa.int64())))
        return pa.concat_tables(parts)


@pytest.fixture(scope="module", params=MODES)
def captured(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    tpch_001: Path,
    tpch_query: Callable[[int], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Captured]:
    folder = tmp_path_factory.mktemp(f"captured-{request.param}")
    store = open_store(str(folder / "store"))
    for table in TABLES:
        spark.read.parquet(str(tpch_001 / f"{table}.parquet")).createOrReplaceTempView(table)
    result = Captured(store, folder, request.param)
    for query in QUERIES:
        with store.capture(spark, job=f"q{query:02}", materialize=request.param):
            spark.sql(tpch_query(query)).write.parquet(result.output(query))
    yield result
    for table in TABLES:
        spark.catalog.dropTempView(table)


@pytest.fixture(scope="module")
def expected(captured: Captured, tpch_001: Path, oracle: ModuleType) -> Expected:
    """Query -> the oracle's relation by table, with output rows named by their rids."""

    @cache
    def pairs(query: int) -> dict[str, set[tuple[int, int]]]:
        return expected_pairs(oracle, query, tpch_001, captured.rows(query))

    return pairs


def expected_pairs(
    oracle: ModuleType, query: int, data: Path, rows: pa.Table
) -> dict[str, set[tuple[int, int]]]:
    found: dict[str, set[tuple[int, int]]] = {}
    for occurrence, lineage in oracle.oracle_lineage(query, data).items():
        keys = [name for name in lineage.column_names if name != "rid"]
        by_key: dict[tuple[object, ...], list[int]] = {}
        columns = [rows.column(key).to_pylist() for key in keys]
        for row, rid in enumerate(rows.column("rid").to_pylist()):
            by_key.setdefault(tuple(column[row] for column in columns), []).append(rid)
        pairs = found.setdefault(oracle.table_of(occurrence), set())
        key_columns = [lineage.column(key).to_pylist() for key in keys]
        for row, rid in enumerate(lineage.column("rid").to_pylist()):
            for out in by_key[tuple(column[row] for column in key_columns)]:
                pairs.add((out, rid))
    return found


Expected: TypeAlias = Callable[[int], dict[str, set[tuple[int, int]]]]


def as_set(pairs: pa.Table) -> set[tuple[int, int]]:
    return set(
        zip(pairs.column("out_rid").to_pylist(), pairs.column("in_rid").to_pylist(), strict=True)
    )


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("query", QUERIES)
def test_backward_is_the_oracles_relation(
    captured: Captured, query: int, engine: str, expected: Expected
) -> None:
    answer = captured.store.backward(captured.output(query), engine=engine)
    assert {Path(source.dataset).stem for source in answer.sources} == set(expected(query))
    for source in answer.sources:
        pairs = expected(query)[Path(source.dataset).stem]
        assert source.precision == "exact" and source.reason == ""
        assert pairs, "an empty relation would prove nothing"
        assert as_set(source.pairs()) == pairs, source.dataset


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("query", QUERIES)
def test_forward_is_the_inverse_of_backward(
    captured: Captured, query: int, engine: str, tpch_001: Path, expected: Expected
) -> None:
    run = captured.store.runs(dataset=captured.output(query))[0].id
    for table, pairs in expected(query).items():
        source = str(tpch_001 / f"{table}.parquet")
        answer = captured.store.forward(source, run=run, engine=engine)
        (output,) = answer.outputs
        assert output.precision == "exact"
        assert as_set(output.pairs()) == pairs
        assert set(output.rids().to_pylist()) == {out for out, _ in pairs}


@pytest.mark.parametrize("query", QUERIES)
def test_single_rows_back_and_forth(
    captured: Captured, query: int, tpch_001: Path, expected: Expected
) -> None:
    """One output row's sources, and one source row's outputs, by rid."""
    rows = captured.rows(query)
    for out in rows.column("rid").to_pylist()[:4]:
        answer = captured.store.backward(captured.output(query), rids=[out])
        for source in answer.sources:
            pairs = expected(query)[Path(source.dataset).stem]
            assert source.rids().to_pylist() == sorted(i for o, i in pairs if o == out)
            assert source.count() == len(source.rids()) == source.to_arrow().num_rows
    run = captured.store.runs(dataset=captured.output(query))[0].id
    for table, pairs in expected(query).items():
        rid = max(i for _, i in pairs)
        read = str(tpch_001 / f"{table}.parquet")
        (output,) = captured.store.forward(read, rids=[rid], run=run).outputs
        assert output.rids().to_pylist() == sorted(o for o, i in pairs if i == rid)


@pytest.mark.parametrize("query", QUERIES)
def test_the_output_is_that_of_the_plain_query(
    captured: Captured,
    query: int,
    spark: SparkSession,
    tpch_query: Callable[[int], str],
    tmp_path: Path,
) -> None:
    plain = tmp_path / "plain"
    spark.sql(tpch_query(query)).write.parquet(str(plain))
    want = pa.concat_tables(pq.read_table(f) for f in sorted(plain.glob("*.parquet")))
    rows = captured.rows(query).drop_columns(["rid"])
    assert rows.schema.equals(want.schema, check_metadata=False)
    assert rows.to_pylist() == want.to_pylist()
    schemas = [
        pq.read_schema(next(Path(folder).glob("*.parquet"))).metadata
        for folder in (plain, captured.output(query))
    ]
    assert schemas[0] == schemas[1], "Spark's own schema, nullability included, is the same"


def test_intermediates_are_saved_in_the_mode_asked_for(captured: Captured) -> None:
    modes = set()
    for query in QUERIES:
        record = captured.store.run(captured.store.runs(dataset=captured.output(query))[0].id)
        (output,) = record.outputs
        assert output.program is not None and not output.uncaptured
        saved = [i for i, s in enumerate(output.program.steps) if s.kind is StepKind.SAVED]
        assert [artifact.step for artifact in output.artifacts] == saved
        modes |= {artifact.how.value for artifact in output.artifacts}
    assert modes == {captured.mode}


def test_q4_urgent_orders_at_a_tenth(
    spark: SparkSession, tpch_01: Path, tpch_query: Callable[[int], str], tmp_path: Path
) -> None:
    """The paper's running example, at the scale whose counts are known."""
    store = open_store(str(tmp_path / "store"))
    for table in ("orders", "lineitem"):
        spark.read.parquet(str(tpch_01 / f"{table}.parquet")).createOrReplaceTempView(table)
    with store.capture(spark, job="q04") as run:
        spark.sql(tpch_query(4)).write.parquet(str(tmp_path / "q4"))
    answer = store.backward(str(tmp_path / "q4"), where="o_orderpriority = '1-URGENT'")
    assert answer["orders"].count() == 999
    assert answer["lineitem"].count() == 2767
    orders = answer["orders"].to_arrow(["o_orderkey", "o_orderpriority"])
    assert pc.unique(orders.column("o_orderpriority")).to_pylist() == ["1-URGENT"]
    assert run.outputs[0].rows == 5
