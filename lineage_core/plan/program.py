"""The lineage program: a captured output's lineage as relational algebra (DESIGN 4.3).

A program is a tree of relations. Step 0 is the target, the dataset that was written. Every other
step is an intermediate or an occurrence of a source, and has an *anchor*: an earlier step, to
whose rows its own rows are related by a predicate `P(x, a)`. The lineage of a target row at a
source is what the chain of predicates from the target down to that source selects. Backward,
forward, pairs and indexes are four evaluations of this one tree (`lineage_core.query.evaluate`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lineage_core.plan.expr import Expr
from lineage_core.plan.relation import Field


class StepKind(StrEnum):
    """What the rows of a step are."""

    TARGET = "target"
    SAVED = "saved"
    COMPUTED = "computed"
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class Step:
    """The rows `x` of one relation for which `predicate` holds with some selected row of its
    anchor.

    Attributes:
        kind: target, intermediate that was saved or is computed again when asked for, or source
            occurrence.
        anchor: number of the step it hangs from; -1 for the target.
        predicate: `P(x, a)`; `Column` is `x`, `Anchor` is the anchor step's row. `TRUE` for the
        target.
        columns: columns of the relation that predicates refer to (the target: all written columns).
        at: place of the operator in the plan (the source's scan; the operator whose output the
            intermediate is).
        name: operator name for an intermediate, dataset name for a source, output name for the
            target.
        source: a source's number among the run's input snapshots; -1 otherwise.
        superset: why the rows may be too many, from here up to the target; empty when exact.
        reduced: for a computed step, by place of the scans below it: predicates `G(x, a)` such that
            the scanned rows that satisfy them with a selected anchor row are enough to compute the
            step's rows (PredTrace 2, the relaxed pushdown).
    """

    kind: StepKind
    anchor: int
    predicate: Expr
    columns: tuple[Field, ...]
    at: int
    name: str
    source: int = -1
    superset: tuple[str, ...] = ()
    reduced: tuple[tuple[int, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class Alternative:
    """A way in which an intermediate could be had.

    Attributes:
        at: place of the operator whose output it would be.
        name: the operator.
        way: saved, or computed again when asked for.
        bytes: what saving it is thought to take; -1 where nothing is known, 0 for a computed one.
        origin: where the bytes are from: `statistics` of Spark, `observed` in an earlier run, or
            nothing.
        verdict: why it was taken, or not.
    """

    at: int
    name: str
    way: StepKind
    bytes: int
    origin: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the intermediate of step `step` is had: the first alternative, of all weighed.

    `needed` is the operator whose inputs could not be told without it.
    """

    step: int
    needed: str
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class LineageProgram:
    """The lineage relations of one output, one per source occurrence.

    Steps come in such an order that an anchor precedes what hangs from it; `steps[0]` is the
    target. `assumed` are the places of the limits at whose boundary, and of the windows in whose
    order, no rows may tie for the program to hold (`plan.ties`); whoever evaluates it has to see to
    that. `placements` tell of each intermediate why it is had where it is. `numbered` are the
    places of the windows whose rows are numbered in the plan that the steps refer to
    (`plan.positions`).
    """

    steps: tuple[Step, ...]
    assumed: tuple[int, ...] = ()
    placements: tuple[Placement, ...] = ()
    numbered: tuple[int, ...] = ()

    @property
    def target(self) -> Step:
        return self.steps[0]

    @property
    def saved(self) -> tuple[int, ...]:
        return tuple(i for i, step in enumerate(self.steps) if step.kind is StepKind.SAVED)

    @property
    def sources(self) -> tuple[int, ...]:
        return tuple(i for i, step in enumerate(self.steps) if step.kind is StepKind.SOURCE)

    def chain(self, step: int) -> tuple[int, ...]:
        """Return the steps from the target down to `step`, both included."""
        path = [step]
        while self.steps[path[-1]].anchor >= 0:
            path.append(self.steps[path[-1]].anchor)
        return tuple(reversed(path))
