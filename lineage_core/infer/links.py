"""Links: which rows of two sources can only be lineage together (PredTrace 6.1, predicate pushup).

Where a join compares a column that comes unchanged from one scan with one from another, a lineage
row of the one has a partner of equal values among the lineage rows of the other. Whole tuples of
columns are compared, where the paper pushes up value sets of single columns. Links never lose a
lineage row; what they leave may be more than the lineage.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lineage_core.plan.expr import Column, Compare, Comparison, conjuncts
from lineage_core.plan.program import LineageProgram, StepKind
from lineage_core.plan.relation import (
    Aggregate,
    Field,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Offset,
    Plan,
    Project,
    Scan,
    Sort,
    output,
)
from lineage_core.plan.traverse import nodes
from lineage_core.plan.types import is_comparable


@dataclass(frozen=True, slots=True)
class Link:
    """A lineage row of source step `step` has one of `other` with equal, non-null values.

    `columns` pairs the ids of the columns compared: of `step`, of `other`.
    """

    step: int
    other: int
    columns: tuple[tuple[int, int], ...]


def link(plan: Plan, program: LineageProgram) -> tuple[LineageProgram, tuple[Link, ...]]:
    """Return the links between the sources of a program without intermediates.

    The program is returned with the columns that links compare among those of its steps.
    """
    at = {program.steps[number].at: number for number in program.sources}
    fields = {f.id: f for node in nodes(plan) if isinstance(node, Scan) for f in node.columns}
    links = tuple(found for join in _joins(plan) for found in _links(join, at))
    compared: dict[int, set[int]] = defaultdict(set)
    for found in links:
        for mine, theirs in found.columns:
            compared[found.step].add(mine)
            compared[found.other].add(theirs)
    steps = [
        replace(step, columns=_with(step.columns, [fields[id] for id in sorted(compared[number])]))
        if step.kind is StepKind.SOURCE
        else step
        for number, step in enumerate(program.steps)
    ]
    return LineageProgram(tuple(steps)), links


def _with(columns: tuple[Field, ...], added: list[Field]) -> tuple[Field, ...]:
    return tuple(dict.fromkeys((*columns, *added)))


def _joins(plan: Plan) -> Iterator[Join]:
    return (node for node in nodes(plan) if isinstance(node, Join))


def _links(join: Join, at: dict[int, int]) -> Iterator[Link]:
    """Yield the links that a join makes, each way in which a partner is sure to be there."""
    compared: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for part in conjuncts(join.condition):
        match part:
            case Compare(Comparison.EQ, Column() as a, Column() as b) if _links_by(a, b):
                left, right = _origin(join.left, a.id), _origin(join.right, b.id)
                if left is None or right is None:
                    left, right = _origin(join.left, b.id), _origin(join.right, a.id)
                if left is not None and right is not None:
                    compared[left[0], right[0]].append((left[1], right[1]))
            case _:
                pass
    for (left_at, right_at), columns in compared.items():
        if left_at not in at or right_at not in at:
            continue
        one, other = at[left_at], at[right_at]
        if not join.kind.keeps_left and join.kind is not JoinKind.LEFT_ANTI:
            yield Link(one, other, tuple(columns))
        if not join.kind.keeps_right and join.kind is not JoinKind.LEFT_ANTI:
            yield Link(other, one, tuple((b, a) for a, b in columns))


def _links_by(left: Column, right: Column) -> bool:
    # Floats are left out: what equals what is decided elsewhere than by bytes.
    return (
        left.type == right.type
        and is_comparable(left.type)
        and left.type not in ("float", "double")
    )


def _origin(plan: Plan, id: int) -> tuple[int, int] | None:
    """Return the place of the scan, and the column there, that column `id` of `plan` is.

    None where another row's value may stand in the column than that of the rows it was made of.
    """
    node = plan
    while id in {f.id for f in output(node)}:
        match node:
            case Scan():
                return node.at, id
            case Filter() | Sort() | Limit() | Offset():
                node = node.child
            case Project() | Aggregate():
                expr = next(column.expr for column in node.columns if column.id == id)
                if not isinstance(expr, Column):
                    return None
                if isinstance(node, Aggregate) and expr not in node.keys:
                    return None
                node, id = node.child, expr.id
            case Generate() if id in {f.id for f in node.kept}:
                node = node.child
            case Join() if node.exists is None or node.exists.id != id:
                on_left = id in {f.id for f in output(node.left)}
                node = node.left if on_left else node.right
            case _:
                return None
    return None
