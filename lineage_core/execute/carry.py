"""Carry: the rids of the sources' rows ride along with the rows of a plan (Smoke's *inject*).

What an operator's output rows are made of is what its input rows are made of: scans offer the rids
of their rows, joins those of both sides, aggregates gather those of each group and windows those
of each frame, all others hand them on. At the top, each row has the rids of all that it was made
of; nothing else is kept. What is gathered is in the memory of the user's job, so there are bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow.parquet as pq

from lineage_core.execute.rids import codes
from lineage_core.execute.tree import Tree
from lineage_core.execute.widen import Widener
from lineage_core.filesystems import locate
from lineage_core.plan.expr import FALSE, TRUE
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import Field, Plan, output, rid_id
from lineage_core.plan.types import is_comparable

_HAND_ON = frozenset(
    {
        "Aggregate",
        "CollectMetrics",
        "Expand",
        "Filter",
        "Generate",
        "GlobalLimit",
        "Join",
        "LocalLimit",
        "LocalRelation",
        "LogicalRelation",
        "OneRowRelation",
        "Project",
        "Range",
        "ResolvedHint",
        "Sort",
        "SubqueryAlias",
        "Union",
        "Window",
    }
)
"""Operators whose rows are made of just the rows that their rids tell."""


MOST_GATHERED = 8_000_000
"""Rows of sources below aggregates: all of them may be in one group, whose rids are in memory."""

MOST_FRAMED = 5_000
"""Rows of sources below windows: each row has the rids of its frame, the square of a partition."""


def files(
    tree: Tree, program: LineageProgram, formats: Mapping[int, str]
) -> Mapping[int, Mapping[int, str]]:
    """Return the scans whose rids can be carried to the top: by place, their files by code.

    There are none where those of some source cannot be, or the program is not exact: what rides
    along is always so, and an index is the same however it is built.

    Args:
        tree: the plan.
        program: its lineage program.
        formats: the format of each source, by number.
    """
    if program.assumed or program.numbered or not _HAND_ON.issuperset(tree.names):
        return {}
    leaves = [program.steps[number] for number in program.sources]
    if any(leaf.superset for leaf in leaves):
        return {}
    wanted = [leaf.at for leaf in leaves if formats[leaf.source] == "parquet"]
    wanted = [at for at in wanted if not _none_of(program, at)]
    if not all(at < len(tree.nodes) for at in wanted):
        return {}  # scans of subqueries are no part of the plan
    if not wanted or not Widener(tree).offers(top(tree), map(rid_id, wanted)):
        return {}
    coded = {at: codes(tree.spark, tree.nodes[at]) for at in wanted}
    found = {at: known for at, known in coded.items() if known is not None}
    for kind, most in (("Aggregate", MOST_GATHERED), ("Window", MOST_FRAMED)):
        gathered = (known for at, known in found.items() if _is_below(tree, at, kind))
        if _rows(uri for known in gathered for uri in known.values()) > most:
            return {}
    return found


def _is_below(tree: Tree, at: int, kind: str) -> bool:
    return any(tree.names[place] == kind and tree.is_below(at, place) for place in range(at))


def _rows(uris: Iterable[str]) -> int:
    """Return how many rows Parquet files have."""
    located = locate(uris)
    return sum(pq.read_metadata(path, filesystem=system).num_rows for system, path in located)


def top(tree: Tree) -> int:
    """Return the operator whose rows are the written ones, to be sorted at most.

    The rows with their rids are saved before they are sorted: some are large.
    """
    place = 0
    while tree.names[place] == "Sort" and getattr(tree.nodes[place], "global")():
        (place,) = tree.inputs[place]
    return place


def step(plan: Plan, at: int, carried: Mapping[int, object]) -> Step:
    """Return the rows of the operator `at`, with rids, to be saved.

    Args:
        plan: the plan, whose written columns the operator has.
        at: what `top` returns.
        carried: by place, the scans of the rids.
    """
    rids = tuple(Field(rid_id(scan), "rid", "long") for scan in carried)
    return Step(StepKind.SAVED, 0, TRUE, (*told(plan), *rids), at, "the written rows")


def told(plan: Plan) -> tuple[Field, ...]:
    """Return the columns by which written rows are told."""
    return tuple(field for field in output(plan) if is_comparable(field.type))


def _none_of(program: LineageProgram, at: int) -> bool:
    """Whether no row of a scan is in the lineage of anything, as that of an anti join's inside."""
    return any(step.predicate == FALSE for step in program.steps if step.at == at)
