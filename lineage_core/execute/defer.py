"""Defer: after the user's write, the operators to be saved are computed again, each as a job.

The user's job runs as it would without us. What is saved are distinct rows of just the columns that
lineage needs: two saved rows that are equal there are related to the same source rows.
"""

from __future__ import annotations

from lineage_core.execute.saved import Place, artifact, column_types, rows_of, write
from lineage_core.execute.tree import Tree
from lineage_core.execute.widen import Widener
from lineage_core.plan.program import Step
from lineage_core.store.manifest import Artifact, Materialize


def save(tree: Tree, step: Step, number: int, place: Place) -> Artifact:
    """Compute and save step `number` of a program over the plan `tree`.

    Args:
        tree: the optimised plan of the output.
        step: the saved step.
        number: its number in the program.
        place: where the output's intermediates go.

    Raises:
        UnsupportedError: the operator cannot offer the columns.
    """
    widener = Widener(tree)
    wanted = [column.id for column in step.columns]
    widener.ask(step.at, wanted)
    wide = widener.build(step.at)
    rows = rows_of(tree.spark, wide.node, widener.require(step.at, wide, wanted))
    types = column_types(rows)
    if all(_comparable(type) for type in types.values()):
        rows = rows.distinct()
    write(tree.spark, rows, place.reserve(step.at))
    return artifact(place, number, step.at, types, Materialize.DEFER)


def _comparable(type: str) -> bool:
    """Whether rows with a column of that type can be told apart by Spark."""
    return not any(word in type for word in ('"map"', "variant", "geometry", "geography"))
