"""Whether the answers are right: every pair of rows, and per strategy a sample of output rows.

The truth is the hand-written lineage SQL, evaluated by DuckDB and tied to the rids of the written
rows by their key. A *false positive* is a row returned that is no lineage; the rate of a strategy
is their share among all rows returned, over all sources, averaged over the sampled output rows.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import ColumnExpression, ConstantExpression, StarExpression
from lazy import Lazy
from pipeline import Pipeline
from questions import SAMPLE
from workload import OUT_RID, Output

STRATEGIES = ("auto", "replay", "iterative")


def measure(pipeline: Pipeline) -> dict[str, Any]:
    """Return what is right and wrong with the answers about the newest automatic run."""
    lazy = Lazy(pipeline.workload, pipeline.query)
    sample = Output(pipeline.output("auto")).sample(SAMPLE).to_pylist()
    return {
        "all": _all_pairs(pipeline, lazy),
        "sample": {strategy: _sampled(pipeline, lazy, strategy, sample) for strategy in STRATEGIES},
    }


def _all_pairs(pipeline: Pipeline, lazy: Lazy) -> dict[str, Any]:
    """Compare the whole relation of output and source rows, one source after the other."""
    truth = _truth(lazy, Output(pipeline.output("auto")).rows)
    answer = pipeline.ask("auto", "auto")
    result: dict[str, Any] = {"pairs": 0, "missing": 0, "false": 0, "precision": []}
    for source in answer.sources:
        wanted = truth.pop(Path(source.dataset).stem)
        found = source.pairs()
        both = _common(lazy.connection, wanted, found)
        result["pairs"] += found.num_rows
        result["missing"] += wanted.num_rows - both
        result["false"] += found.num_rows - both
        result["precision"].append(source.precision.value)
    result["missing"] += sum(wanted.num_rows for wanted in truth.values())
    result["exact"] = not result["missing"] and not result["false"]
    return result


def _truth(lazy: Lazy, rows: pa.Table) -> dict[str, pa.Table]:
    """Return by table the true pairs (`out_rid`, `in_rid`)."""
    lineage = lazy.inverse.relation(lazy.connection).to_arrow_table()
    keys = [ColumnExpression(OUT_RID)]
    keys += [
        ColumnExpression(key).alias(name)
        for key, name in zip(lazy.shape.keys, lazy.shape.names, strict=True)
    ]
    outputs = lazy.connection.from_arrow(rows).project(*keys).set_alias("outputs")
    found: dict[str, duckdb.DuckDBPyRelation] = {}
    for occurrence in lazy.shape.occurrences:
        table = lazy.inverse.table_of(occurrence)
        part = lazy.connection.from_arrow(lineage).filter(ColumnExpression(occurrence).isnotnull())
        part = part.project(
            *map(ColumnExpression, lazy.shape.names), ColumnExpression(occurrence).alias("in_rid")
        ).distinct()
        found[table] = found[table].union(part) if table in found else part
    return {table: _named(part, outputs, lazy) for table, part in found.items()}


def _named(
    lineage: duckdb.DuckDBPyRelation, outputs: duckdb.DuckDBPyRelation, lazy: Lazy
) -> pa.Table:
    """Return lineage by key as pairs of rids."""
    condition = ConstantExpression(True)
    for name in lazy.shape.names:
        condition = condition & (
            ColumnExpression("lineage", name) == ColumnExpression("outputs", name)
        )
    joined = lineage.set_alias("lineage").join(outputs, condition)
    pair = (ColumnExpression(OUT_RID), ColumnExpression("in_rid"))
    return joined.project(*pair).distinct().to_arrow_table()


def _common(connection: duckdb.DuckDBPyConnection, one: pa.Table, other: pa.Table) -> int:
    both = (
        connection.from_arrow(one)
        .set_alias("one")
        .join(
            connection.from_arrow(other).set_alias("other"),
            (ColumnExpression("one", OUT_RID) == ColumnExpression("other", OUT_RID))
            & (ColumnExpression("one", "in_rid") == ColumnExpression("other", "in_rid")),
            how="semi",
        )
    )
    return int(
        both.aggregate([duckdb.FunctionExpression("count", StarExpression())]).fetchall()[0][0]
    )


def _sampled(
    pipeline: Pipeline, lazy: Lazy, strategy: str, sample: list[dict[str, Any]]
) -> dict[str, Any]:
    rates, missing = [], 0
    for row in sample:
        truth = _of_row(lazy, row)
        answer = pipeline.ask("auto", strategy, [row[OUT_RID]])
        returned, false = 0, 0
        for source in answer.sources:
            found = source.rids()
            true = truth.pop(Path(source.dataset).stem)
            hits = int(pc.sum(pc.is_in(found, true)).as_py() or 0)
            returned += len(found)
            false += len(found) - hits
            missing += len(true) - hits
        missing += sum(map(len, truth.values()))
        rates.append(false / returned if returned else 0.0)
    return {"rows": len(sample), "missing": missing, "false_positive_rate": statistics.mean(rates)}


def _of_row(lazy: Lazy, row: dict[str, Any]) -> dict[str, pa.Array]:
    """Return by table the rids of one output row's true lineage."""
    lineage = lazy.of_row(row).to_arrow_table()
    found: dict[str, list[pa.ChunkedArray]] = {}
    for occurrence in lazy.shape.occurrences:
        rids = lineage.column(occurrence).cast(pa.int64()).drop_null()
        found.setdefault(lazy.inverse.table_of(occurrence), []).append(rids)
    return {
        table: pc.unique(
            pa.chunked_array([chunk for part in parts for chunk in part.chunks], pa.int64())
        )
        for table, parts in found.items()
    }
