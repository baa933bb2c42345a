"""Where an intermediate is had: PredTrace's algorithm 2 over all later operators (DESIGN 4.5).

Saving nothing comes first where the preferred way is to compute. To be saved is the output of the
operator whose inputs cannot be told, or of a later one on the way to it, if its rows tell the
inputs of every operator down to there: the one that is thought to take the fewest bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lineage_core.infer.cut import Cut, cut
from lineage_core.plan.expr import Expr
from lineage_core.plan.program import Alternative, StepKind
from lineage_core.plan.relation import Field, Plan, children, place
from lineage_core.pushdown import Exact, Prover, always_from, push


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes that an intermediate is thought to take.

    `origin` says where the number is from: `statistics` of Spark, or `observed` in an earlier run.
    """

    bytes: int
    origin: str


Sizes: TypeAlias = Callable[[Plan, tuple[Field, ...]], Size | None]
"""Gives the size of columns of an operator's output; None where nothing is known of it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An operator whose output may be the intermediate.

    Attributes:
        node: the operator.
        predicate: which of its rows are wanted.
        exists: whether there is known to be such a row.
        way: the number of the input to take at each operator from here to the one in need.
    """

    node: Plan
    predicate: Expr
    exists: bool
    way: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The cut chosen: which candidate it is at, by its number, and all that was weighed."""

    candidate: int
    cut: Cut
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class Placer:
    """Chooses intermediates.

    Attributes:
        ways: how they may be had, the preferred way first.
        savable: whether the output of an operator can be saved.
        formats: the format of each source, by number; all Parquet if None.
        decided: places of limits at whose boundary no rows are assumed to tie.
        sizes: what intermediates are thought to take; None where nobody knows.
        prove: answers obligations.
    """

    ways: tuple[StepKind, ...]
    savable: Callable[[Plan], bool]
    formats: Mapping[int, str] | None
    decided: frozenset[int]
    sizes: Sizes | None
    prove: Prover

    def choose(self, candidates: Sequence[Candidate]) -> Found | None:
        """Return how the last of `candidates` gets its inputs told; None where nothing helps.

        The candidates lead from the last anchor down to the operator in need.
        """
        for kind in self.ways:
            found = self._computed(candidates) if kind is StepKind.COMPUTED else None
            found = self._saved(candidates) if kind is StepKind.SAVED else found
            if found is not None:
                return found
        return None

    def _computed(self, candidates: Sequence[Candidate]) -> Found | None:
        found = self._cut(StepKind.COMPUTED, candidates[-1], None)
        if found is None:
            return None
        chosen = _alternative(candidates[-1], StepKind.COMPUTED, Size(0, ""), "nothing is saved")
        return Found(len(candidates) - 1, found, (chosen,))

    def _saved(self, candidates: Sequence[Candidate]) -> Found | None:
        last = len(candidates) - 1
        weighed: list[tuple[int, Cut, Size | None]] = []
        others: list[Alternative] = []
        for number in range(last, -1, -1):
            candidate = candidates[number]
            below = candidates[last].node if number != last else None
            savable = self.savable(candidate.node)
            found = self._cut(StepKind.SAVED, candidate, below) if savable else None
            if found is not None:
                size = self.sizes(candidate.node, found.columns) if self.sizes else None
                weighed.append((number, found, size))
            else:
                why = "it does not tell the rows needed" if savable else "it cannot be saved"
                others.append(_alternative(candidate, StepKind.SAVED, None, why))
            if self.sizes is None or (found is None and savable and below is not None):
                break  # what an operator does not tell, none after it does
        if not weighed:
            return None
        # Of equal ones the one in need, which comes first: nothing is gained by a later one.
        number, found, size = min(weighed, key=lambda entry: _bytes(entry[2]))
        chosen = _alternative(candidates[number], StepKind.SAVED, size, "the smallest")
        larger = (
            _alternative(candidates[other], StepKind.SAVED, its, "not smaller")
            for other, _, its in weighed
            if other != number
        )
        return Found(number, found, (chosen, *larger, *others))

    def _cut(self, kind: StepKind, candidate: Candidate, below: Plan | None) -> Cut | None:
        return cut(
            kind,
            candidate.node,
            candidate.predicate,
            self.prove,
            premise=candidate.exists,
            formats=self.formats,
            decided=self.decided,
            below=below,
            tells=lambda found: below is None or self._tells(candidate, found),
        )

    def _tells(self, candidate: Candidate, found: Cut) -> bool:
        """Whether the saved rows of a later operator tell all inputs down to the one in need."""
        node, outcomes = found.node, found.outcomes
        exists = True
        for position in candidate.way:
            outcome = outcomes[position]
            if not isinstance(outcome, Exact):
                return False
            exists = exists and always_from(node)[position]
            node = children(node)[position]
            outcomes = push(node, outcome.predicate, self.prove, premise=exists)
        return all(isinstance(outcome, Exact) for outcome in outcomes)


def _bytes(size: Size | None) -> float:
    return float("inf") if size is None else size.bytes


def _alternative(
    candidate: Candidate, way: StepKind, size: Size | None, verdict: str
) -> Alternative:
    node = candidate.node
    bytes, origin = (-1, "") if size is None else (size.bytes, size.origin)
    return Alternative(node.at, place(node), way, bytes, origin, verdict)
