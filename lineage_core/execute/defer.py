"""Defer: after the user's write, the operators to be saved are computed again, each as a job.

The user's job runs as it would without us. What is saved are distinct rows of just the columns that
lineage needs: two saved rows that are equal there are related to the same source rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from lineage_core.execute.jvm import preorder
from lineage_core.execute.saved import Place, artifact, column_types, named, write
from lineage_core.execute.widen import attributes, project, widen
from lineage_core.plan.program import Step
from lineage_core.store.manifest import Artifact, Materialize


def save(
    spark: SparkSession,
    plan: Any,
    step: Step,
    number: int,
    expr_ids: Mapping[int, int],
    place: Place,
) -> Artifact:
    """Compute and save step `number` of a program.

    Args:
        spark: the session of `plan`.
        plan: the optimised Java plan of the output.
        step: the saved step.
        number: its number in the program.
        expr_ids: the Catalyst attribute behind each column id.
        place: where the output's intermediates go.
    """
    wanted = [expr_ids[column.id] for column in step.columns]
    node = widen(spark, preorder(plan)[step.at], wanted)
    offered = attributes(node)
    names = [f"c{column.id}" for column in step.columns]
    rows = named(spark, project(spark, [offered[id] for id in wanted], node), names)
    types = column_types(rows)
    if all(_comparable(type) for type in types.values()):
        rows = rows.distinct()
    write(spark, rows, place.reserve(number))
    return artifact(place, number, types, Materialize.DEFER)


def _comparable(type: str) -> bool:
    """Whether rows with a column of that type can be told apart by Spark."""
    return not any(word in type for word in ('"map"', "variant", "geometry", "geography"))
