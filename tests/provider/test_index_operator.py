"""Building indexes as a task, of a run that was captured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lineage_core as lc
from row_lineage_provider.operators.index import BuildLineageIndexOperator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def operator(**arguments: Any) -> BuildLineageIndexOperator:
    return BuildLineageIndexOperator(task_id="index", **arguments)


def test_a_run_is_indexed(spark: SparkSession, context: Callable[..., Any], tmp_path: Path) -> None:
    spark.range(20).write.parquet(str(tmp_path / "ids"))
    store = lc.open_store(str(tmp_path / "lineage"))
    with store.capture(spark, job="j") as run:
        ids = spark.read.parquet(str(tmp_path / "ids")).where("id % 2 = 0")
        ids.coalesce(1).write.parquet(str(tmp_path / "even"))
    task = operator(run=run.id, store=str(tmp_path / "lineage"))
    (built,) = task.execute(context())
    assert built["output"].endswith("/even") and built["source"].endswith("/ids")
    assert built["pairs"] == 10 and 0 < built["bytes"] < 2000
    answer = lc.open_store(str(tmp_path / "lineage")).backward(
        str(tmp_path / "even"), where="id = 4", strategy="index"
    )
    assert answer.sources[0].to_arrow().to_pylist() == [{"id": 4}]


def test_what_cannot_be_indexed_fails_the_task(context: Callable[..., Any], tmp_path: Path) -> None:
    task = operator(run="0123", store=str(tmp_path / "lineage"))
    with pytest.raises(lc.NotFoundError, match="0123"):
        task.execute(context())


def test_arguments_are_templated() -> None:
    assert set(operator(run="x").template_fields) == {"run", "workload", "engine", "store"}
