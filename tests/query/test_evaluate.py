"""Backward, forward and pairs of hand-made programs, on both engines, against nested loops."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from lineage_core.plan.expr import TRUE
from lineage_core.query.chain import Path
from lineage_core.query.engines.choice import Engines
from lineage_core.query.reader import Reader
from lineage_core.query.selection import EVERYTHING, Rids, Where

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(params=["duckdb", "spark"])
def reader(request: pytest.FixtureRequest, engines: Engines) -> Reader:
    return Reader(engines, request.param)


def _pairs(table: pa.Table) -> list[tuple[int, int]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _shown(rows: list[dict[str, Any]]) -> list[str]:
    """Return rows so that they can be compared: NaN as equal, -0.0 as unequal to 0.0."""
    return [
        repr({k: str(v) if isinstance(v, datetime) else v for k, v in row.items()}) for row in rows
    ]


def test_pairs_are_those_of_nested_loops(case: Any, reader: Reader) -> None:
    for leaf in case.program.sources:
        path = Path(case.relations, case.program.chain(leaf), EVERYTHING)
        assert _pairs(reader.pairs(path)) == sorted(case.pairs(leaf))


def test_every_output_row_has_its_source_rows(case: Any, reader: Reader) -> None:
    for leaf in case.program.sources:
        pairs = case.pairs(leaf)
        for out in case.tables[0].rows:
            path = Path(case.relations, case.program.chain(leaf), Rids(pa.array([out])))
            assert reader.rids(path).to_pylist() == sorted(s for o, s in pairs if o == out)


def test_forward_is_the_inverse_of_backward(case: Any, reader: Reader) -> None:
    for leaf in case.program.sources:
        up = tuple(reversed(case.program.chain(leaf)))
        pairs = sorted(case.pairs(leaf))
        assert _pairs(reader.pairs(Path(case.relations, up, EVERYTHING))) == pairs
        for source in list(case.tables[leaf].rows)[::3]:
            path = Path(case.relations, up, Rids(pa.array([source])))
            assert reader.rids(path).to_pylist() == sorted({o for o, s in pairs if s == source})


def test_the_cases_are_not_trivial(q4: Any, q6: Any, values: Any) -> None:
    assert all(len(q4.pairs(leaf)) > 5 for leaf in q4.program.sources)
    assert len({out for out, _ in q4.pairs(2)}) >= 4
    assert 5 <= len(q6.pairs(1)) < len(q6.tables[1].rows)
    assert len({out for out, _ in values.pairs(1)}) == 3 < len(values.tables[0].rows)
    assert any(rid >> 40 for _, rid in values.pairs(1))


def test_no_selected_row_gives_no_source_row(q6: Any, reader: Reader) -> None:
    nothing = Path(q6.relations, (0, 1), Rids(pa.array([], pa.int64())))
    assert reader.rids(nothing).to_pylist() == []
    assert reader.pairs(nothing).num_rows == 0


def test_rows_come_whole_in_order_with_partition_values(values: Any, reader: Reader) -> None:
    path = Path(values.relations, (1,), Where(TRUE))
    snapshot = values.tables[1].snapshot
    rows = reader.rows(path, tuple(range(len(snapshot.columns))), rids=True)
    expected = [{"rid": rid, **row} for rid, row in sorted(values.tables[1].rows.items())]
    assert _shown(rows.to_pylist()) == _shown(expected)


def test_both_engines_give_the_same_table(values: Any, engines: Engines) -> None:
    path = Path(values.relations, (0, 1), EVERYTHING)
    tables = [
        Reader(engines, name).rows(path, (3, 0, 6, 7, 4), rids=True) for name in ("duckdb", "spark")
    ]
    assert tables[0].schema == tables[1].schema
    assert repr(tables[0].to_pylist()) == repr(tables[1].to_pylist())


def test_the_session_time_zone_does_not_matter(
    values: Any, engines: Engines, spark: SparkSession
) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    path = Path(values.relations, (0, 1), EVERYTHING)
    before = Reader(engines, "spark").rows(path, (3, 4), rids=True)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        after = Reader(engines, "spark").rows(path, (3, 4), rids=True)
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))
    assert before.equals(after)


def test_spark_keeps_no_view(q4: Any, engines: Engines, spark: SparkSession) -> None:
    before = spark.catalog.listTables()
    Reader(engines, "spark").rids(Path(q4.relations, q4.program.chain(3), EVERYTHING))
    assert spark.catalog.listTables() == before
