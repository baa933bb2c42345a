"""Iterative refinement of captured queries: what engines make of conditions beyond equality."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

import lineage_core as lc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lineage_core.query.answer import Answer

Ask: TypeAlias = Callable[[str, str], dict[str, list[int]]]

LINES = [
    # order, supplier, late
    (1, 10, True),
    (1, 11, False),
    (2, 10, True),  # not alone: 12 was late, too
    (2, 12, True),
    (3, 10, True),  # nobody else
    (None, 10, True),
    (None, 11, False),
    (1, 10, True),  # a line twice
    (4, 12, True),
    (4, 10, None),
]
PARTS = [(1, "tin", 5), (2, "tin", 1), (3, "box", 9), (None, "box", 9), (1, "box", 2)]
PRICES = [(1, 3, 1.2), (1, 7, 2.7), (2, 1, 0.2), (3, 8, 1.0), (3, 10, 3.4), (None, 1, 0.1)]

WAITED = """
    SELECT supplier, count(*) n FROM lines l1 WHERE late
        AND EXISTS (SELECT 1 FROM lines l2
                    WHERE l2.ord = l1.ord AND l2.supplier <> l1.supplier)
        AND NOT EXISTS (SELECT 1 FROM lines l3
                        WHERE l3.ord = l1.ord AND l3.supplier <> l1.supplier AND l3.late)
    GROUP BY supplier
"""
EITHER = """
    SELECT count(*) n FROM parts JOIN prices ON part = of
        AND ((kind = 'tin' AND amount < size) OR (kind = 'box' AND amount < size AND of > 2))
"""
ROUNDED = "SELECT count(*) n FROM parts JOIN prices ON part = of AND floor(paid + size) > 6"


@pytest.fixture(params=["duckdb", "spark"])
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def ask(spark: SparkSession, tmp_path: Path) -> Ask:
    store = lc.open_store(str(tmp_path / "store"))
    tables = {
        "lines": (LINES, "ord int, supplier int, late boolean"),
        "parts": (PARTS, "part int, kind string, size int"),
        "prices": (PRICES, "of int, amount int, paid double"),
    }
    for name, (rows, schema) in tables.items():
        frame = spark.createDataFrame(rows, schema).coalesce(1)
        frame.write.parquet(str(tmp_path / name))
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)

    def asked(query: str, engine: str) -> dict[str, list[int]]:
        out = str(tmp_path / "out")
        with store.capture(spark, job="refined", materialize="never"):
            spark.sql(query).coalesce(1).write.mode("overwrite").parquet(out)
        answer: Answer = store.backward(out, rids=[0], strategy="iterative", engine=engine)
        return {Path(s.dataset).name: s.rids().to_pylist() for s in answer.sources}

    return asked


def test_other_rows_of_the_same_table_are_partners_or_must_not_be(ask: Ask, engine: str) -> None:
    by_10 = f"SELECT * FROM ({WAITED}) WHERE supplier = 10"
    assert ask(by_10, engine) == {"lines": [0, 1, 7]}
    by_12 = f"SELECT * FROM ({WAITED}) WHERE supplier = 12"
    assert ask(by_12, engine) == {"lines": [8, 9]}


def test_one_partner_has_to_satisfy_the_whole_condition(ask: Ask, engine: str) -> None:
    assert ask(EITHER, engine) == {"parts": [0, 2], "prices": [0, 3]}


def test_what_an_engine_cannot_evaluate_cuts_nothing_down(ask: Ask) -> None:
    assert ask(ROUNDED, "spark") == {"parts": [0, 2], "prices": [1, 3, 4]}
    assert ask(ROUNDED, "duckdb") == {"parts": [0, 1, 2, 4], "prices": [0, 1, 2, 3, 4]}
