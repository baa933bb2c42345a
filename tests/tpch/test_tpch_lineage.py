"""The product against the hand-written oracle: TPC-H, all 22 queries, every output row.

Each query is run as a pipeline, under capture, in each mode of materialisation. The relation of
output rows and source rows that the store answers must be the oracle's, pair by pair, whichever the
strategy and the engine; no code is shared with it. `ROW_LINEAGE_TEST_TPCH=full` (`make prove`) also
runs the combinations that Spark is slow at and that differ little from those run here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lineage_core.plan.program import StepKind
from lineage_core.query import indexing
from lineage_core.query.carried import pairs_of
from tests.tpch.captured import as_set, table_of

if TYPE_CHECKING:
    from tests.tpch.captured import Captured, Captures, Pairs

Expected: TypeAlias = "Callable[[Captured], dict[str, Pairs]]"

FULL = os.environ.get("ROW_LINEAGE_TEST_TPCH") == "full"
QUERIES = range(1, 23)
MODES = ("auto", "never", "inject", "defer")
DUCKDB = (
    # (captured with, strategy, engine)
    ("inject", "saved", "duckdb"),
    ("defer", "saved", "duckdb"),
    ("auto", "replay", "duckdb"),
    ("inject", "replay", "duckdb"),
    ("auto", "auto", "duckdb"),
    ("never", "auto", "duckdb"),
)
SPARK = (
    ("inject", "saved", "spark"),
    ("never", "replay", "spark"),
    ("auto", "auto", "spark"),
    ("defer", "saved", "spark"),
    ("inject", "replay", "spark"),
    ("never", "auto", "spark"),
)
WAYS = [
    (query, *way)
    for query in QUERIES
    # Of a run that saved nothing, `replay` and `auto` are one program: half of each will do.
    for way in (*DUCKDB, *(SPARK if FULL else (SPARK[0], SPARK[1 + query % 2])))
]
FORWARD_BY_SPARK = QUERIES if FULL else (1, 2, 4, 13, 16, 18, 20, 22)
ITERATIVE_BY_SPARK = QUERIES if FULL else (3, 4, 13, 20, 21)

SCALES = {17: 0.1}
"""Query -> the scale factor at which its output row comes from any rows; 0.01 for the others."""

WITHOUT_LINEAGE = {(16, "supplier"), (22, "orders")}
"""Tables that an anti join reads: no row of theirs is lineage of what it lets through."""


RIDS_RIDE_ALONG = {1, 3, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 17, 19}
"""Queries without subqueries, semi-joins and windows, through which rids are not carried."""


def _captured(captures: Captures, query: int, mode: str) -> Captured:
    return captures(query, mode, SCALES.get(query, 0.01))


@pytest.mark.parametrize(("query", "mode", "strategy", "engine"), WAYS)
def test_backward_is_the_oracles_relation(
    captures: Captures, query: int, mode: str, strategy: str, engine: str, expected: Expected
) -> None:
    captured = _captured(captures, query, mode)
    answer = captured.store.backward(captured.output, strategy=strategy, engine=engine)
    assert [table_of(source) for source in answer.sources] == sorted(expected(captured))
    for source in answer.sources:
        pairs = expected(captured)[table_of(source)]
        assert source.precision == "exact" and source.reason == ""
        assert pairs or (query, table_of(source)) in WITHOUT_LINEAGE, "it would prove nothing"
        assert as_set(source.pairs()) == pairs, source.dataset
        assert set(source.rids().to_pylist()) == {rid for _, rid in pairs}


@pytest.mark.parametrize("mode", ["auto", "inject"])
@pytest.mark.parametrize("query", QUERIES)
def test_forward_is_the_inverse_of_backward(
    captures: Captures, query: int, mode: str, expected: Expected
) -> None:
    captured = _captured(captures, query, mode)
    for table, pairs in expected(captured).items():
        _check_forward(captured, table, pairs, "duckdb")


@pytest.mark.parametrize("query", QUERIES)
def test_indexes_are_the_oracles_relation(
    captures: Captures, query: int, expected: Expected, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways, all rows and single ones; and the same whether rids rode along or not."""
    decoded = []

    def spy(carried: Any, relations: Any, at: int, *rest: Any) -> Any:
        decoded.append(at)
        return pairs_of(carried, relations, at, *rest)

    monkeypatch.setattr(indexing, "pairs_of", spy)
    captured = _captured(captures, query, "index")
    assert bool(decoded) == (query in RIDS_RIDE_ALONG)
    folder = Path(captured.store.url.removeprefix("file://")) / "runs" / captured.run / "index"
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    answer = captured.store.backward(captured.output, strategy="index")
    for source in answer.sources:
        pairs = expected(captured)[table_of(source)]
        assert source.precision == "exact"
        assert as_set(source.pairs()) == pairs
    for table, pairs in expected(captured).items():
        _check_forward(captured, table, pairs, "duckdb")
        some = sorted(pairs)[:: max(len(pairs) // 3, 1)]
        for out, rid in some:
            (found,) = captured.store.forward(
                captured.source(table), rids=[rid], run=captured.run, strategy="index"
            ).outputs
            assert found.rids().to_pylist() == sorted(o for o, i in pairs if i == rid)
            rows = captured.store.backward(captured.output, rids=[out], strategy="index")
            (source,) = [s for s in rows.sources if table_of(s) == table]
            assert source.rids().to_pylist() == sorted(i for o, i in pairs if o == out)
    decoded.clear()
    (made,) = captured.store.index(run=captured.run)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
    assert len(made.entries) >= len(expected(captured)) and not decoded


@pytest.mark.parametrize("query", FORWARD_BY_SPARK)
def test_forward_from_the_largest_source_by_spark(
    captures: Captures, query: int, expected: Expected
) -> None:
    captured = _captured(captures, query, "auto")
    relations = expected(captured)
    table = max(relations, key=lambda table: len(relations[table]))
    _check_forward(captured, table, relations[table], "spark")


def _check_forward(captured: Captured, table: str, pairs: Pairs, engine: str) -> None:
    source = captured.source(table)
    answer = captured.store.forward(source, run=captured.run, engine=engine)
    (output,) = answer.outputs
    assert output.precision == "exact" and output.reason == ""
    assert as_set(output.pairs()) == pairs
    assert set(output.rids().to_pylist()) == {out for out, _ in pairs}


@pytest.mark.parametrize("query", QUERIES)
def test_single_rows_back_and_forth(captures: Captures, query: int, expected: Expected) -> None:
    """One output row's sources, and one source row's outputs, by rid."""
    captured = _captured(captures, query, "inject")
    for out in captured.rows.column("rid").to_pylist()[:4]:
        answer = captured.store.backward(captured.output, rids=[out])
        for source in answer.sources:
            pairs = expected(captured)[table_of(source)]
            assert source.rids().to_pylist() == sorted(i for o, i in pairs if o == out)
            assert source.count() == len(source.rids()) == source.to_arrow().num_rows
    for table, pairs in expected(captured).items():
        rid = max((i for _, i in pairs), default=0)
        read = captured.source(table)
        (output,) = captured.store.forward(read, rids=[rid], run=captured.run).outputs
        assert output.rids().to_pylist() == sorted(o for o, i in pairs if i == rid)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", QUERIES)
def test_the_output_is_that_of_the_plain_query(captures: Captures, query: int, mode: str) -> None:
    captured = _captured(captures, query, mode)
    plain = sorted(captures.plain(query, SCALES.get(query, 0.01)).glob("*.parquet"))
    want = pa.concat_tables(pq.read_table(file) for file in plain)
    rows = captured.rows.drop_columns(["rid"])
    assert rows.schema.equals(want.schema, check_metadata=False)
    assert rows.to_pylist() == want.to_pylist()
    written = next(Path(captured.output).glob("*.parquet"))
    metadata = [pq.read_schema(file).metadata for file in (plain[0], written)]
    assert metadata[0] == metadata[1], "Spark's own schema, nullability included, is the same"


@pytest.mark.parametrize("query", QUERIES)
def test_intermediates_are_saved_in_the_mode_asked_for(captures: Captures, query: int) -> None:
    kinds: dict[str, list[StepKind]] = {}
    for mode in MODES:
        output = _captured(captures, query, mode).record
        assert output.program is not None
        assert tuple(artifact.step for artifact in output.artifacts) == output.program.saved
        if mode != "auto":
            assert {artifact.how.value for artifact in output.artifacts} <= {mode}
        kinds[mode] = [step.kind for step in output.program.steps]
    assert StepKind.SAVED not in kinds["never"]
    for mode in ("inject", "defer"):
        assert (StepKind.SAVED in kinds[mode]) == (StepKind.COMPUTED in kinds["never"])


@pytest.mark.parametrize("query", QUERIES)
def test_iterative_refinement_misses_no_row(
    captures: Captures, query: int, expected: Expected
) -> None:
    captured = _captured(captures, query, "auto")
    _check_superset(captured, expected(captured), "duckdb")


@pytest.mark.parametrize("query", ITERATIVE_BY_SPARK)
def test_iterative_refinement_by_spark_misses_no_row(
    captures: Captures, query: int, expected: Expected
) -> None:
    captured = _captured(captures, query, "auto")
    _check_superset(captured, expected(captured), "spark")


def _check_superset(captured: Captured, relations: Mapping[str, Pairs], engine: str) -> None:
    answer = captured.store.backward(captured.output, strategy="iterative", engine=engine)
    assert [table_of(source) for source in answer.sources] == sorted(relations)
    for source in answer.sources:
        wanted = {rid for _, rid in relations[table_of(source)]}
        found = set(source.rids().to_pylist())
        assert wanted <= found
        assert (source.precision == "superset") == bool(source.reason)
        assert source.precision == "superset" or (source.precision, found) == ("exact", wanted)


def test_q4_urgent_orders_at_a_tenth(captures: Captures) -> None:
    """The paper's running example, at the scale whose counts are known."""
    captured = captures(4, "auto", 0.1)
    answer = captured.store.backward(captured.output, where="o_orderpriority = '1-URGENT'")
    assert answer["orders"].count() == 999
    assert answer["lineitem"].count() == 2767
    orders = answer["orders"].to_arrow(["o_orderkey", "o_orderpriority"])
    assert pc.unique(orders.column("o_orderpriority")).to_pylist() == ["1-URGENT"]
    assert captured.record.rows == 5
