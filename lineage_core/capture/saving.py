"""The intermediates of one write: which are saved, and saving them in the write's job or after it.

What can be saved is only known by trying: an operator that turns out not to be separable is left
out, and the program inferred anew without it, until all that the program wants is there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from lineage_core.capture.catalyst import CapturedPlan
from lineage_core.execute import carry, choose, defer, inject, saved
from lineage_core.execute.jvm import error_kind, preorder
from lineage_core.execute.sizes import sizes
from lineage_core.execute.tree import Tree
from lineage_core.execute.widen import Widener
from lineage_core.infer import COMPUTE, infer
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import Plan
from lineage_core.plan.repeat import unrepeatable
from lineage_core.plan.ties import decidable
from lineage_core.plan.traverse import nodes
from lineage_core.store.carried import Carried
from lineage_core.store.manifest import Artifact, Materialize

_WAYS: Mapping[Materialize, tuple[StepKind, ...]] = {
    Materialize.AUTO: (StepKind.COMPUTED, StepKind.SAVED),
    Materialize.INJECT: (StepKind.SAVED, StepKind.COMPUTED),
    Materialize.DEFER: (StepKind.SAVED, StepKind.COMPUTED),
    Materialize.NEVER: COMPUTE,
}
"""How intermediates may be had, the preferred way first."""

_logger = logging.getLogger(__name__)


@dataclass
class Saving:
    """The lineage program of a write, and what of it is saved.

    Args:
        spark: the session that writes.
        captured: the plan.
        name: the dataset that is written.
        place: where intermediates go.
        wish: when they are saved.
        injects: whether they can be saved in the write's own job.
        observed: gives the bytes that intermediates took when the dataset was last written by the
            same plan, by place.
        carries: whether the rids of the sources' rows are to ride along with the written rows.

    Attributes:
        program: the lineage program.
        artifacts: what of it is saved.
        carried: the written rows with the rids that rode along; None if they could not.
    """

    spark: SparkSession
    captured: CapturedPlan
    name: str
    place: saved.Place
    wish: Materialize
    injects: bool
    observed: Callable[[str, Plan], Mapping[int, int]]
    carries: bool = False
    carried: Carried | None = field(default=None, init=False)
    program: LineageProgram = field(init=False)
    artifacts: list[Artifact] = field(default_factory=list, init=False)
    _waiting: list[int] = field(default_factory=list, init=False)
    _lost: set[int] = field(default_factory=set, init=False)  # places that cannot be saved
    _kept: frozenset[int] = field(default=frozenset(), init=False)  # places that are saved already

    def __post_init__(self) -> None:
        self.program = self._infer()

    def inject(self) -> Any:
        """Save what is to be saved before the write.

        Returns:
            the rest of the plan as a Java Dataset; None if nothing was saved.
        """
        chosen = self._choose()
        now = [step for step, how in chosen.items() if how is Materialize.INJECT]
        self._waiting = [step for step in chosen if step not in now]
        steps = {number: self.program.steps[number] for number in now}
        files = self._carrying({self.program.steps[number].at for number in chosen})
        rids = len(self.program.steps)  # of no step of the program
        if files:
            steps[rids] = carry.step(self.captured.plan, carry.top(self._tree), files)
        if not steps:
            return None
        java, plan = self.captured.java, self.captured.plan
        rest, artifacts = inject.inject(self.spark, java, plan, steps, self.place)
        for artifact in artifacts:
            if artifact.step == rids:
                at = steps[rids].at
                self.carried = Carried(artifact, at, carry.told(plan), files)
            else:
                self.artifacts.append(artifact)
        return saved.dataset(self.spark, rest)

    def _carrying(self, cut: Set[int]) -> Mapping[int, Mapping[int, str]]:
        """Return the scans whose rids can be carried to the written rows, and their files' codes.

        Args:
            cut: the places whose rows are saved anyway.
        """
        if not self.carries:
            return {}
        top = carry.top(self._tree)
        if top in cut or not self._can_split(top):
            return {}
        formats = {n: source.format for n, source in enumerate(self.captured.sources)}
        return carry.files(self._tree, self.program, formats)

    def undo(self) -> None:
        """Forget an injection; what can be saved after the write will be."""
        self.discard()
        self.injects = False
        self._again()

    def defer(self) -> None:
        """Save after the write what was not saved in its job."""
        self.injects, tries = False, True
        while self._waiting:
            number = self._waiting[0]
            step = self.program.steps[number]
            try:
                artifact = defer.save(self._tree, step, number, self.place)
            except Exception as error:
                _logger.warning("an intermediate could not be saved: %s", error_kind(error))
                _logger.debug("", exc_info=error)
                # A second failure is not the operator's, and every try takes a job.
                self._lost |= {step.at} if tries else set(range(len(self._tree.nodes)))
                tries = False
                self._again()
            else:
                self.artifacts.append(artifact)
                self._waiting.pop(0)

    def discard(self) -> None:
        """Forget and remove all that was saved."""
        self.artifacts.clear()
        self._waiting.clear()
        self.carried = None
        try:
            self.place.remove()
        except Exception as error:
            _logger.warning("saved intermediates could not be removed: %s", error_kind(error))

    def _infer(self) -> LineageProgram:
        """Return the program, of which all can be saved that is to be."""
        plan, java = self.captured.plan, self.captured.java
        while True:
            program = infer(
                plan,
                ways=_WAYS[self.wish],
                savable=self._savable,
                formats=dict(enumerate(source.format for source in self.captured.sources)),
                decided=decidable(plan),
                sizes=sizes(
                    lambda: preorder(self.spark, java), lambda: self.observed(self.name, plan)
                ),
                name=self.name,
            )
            steps = [program.steps[number] for number in program.saved]
            lost = {step.at for step in steps if not self._can_offer(step)}
            if not lost:
                return program
            self._lost |= lost

    def _again(self) -> None:
        """Infer the program again after less can be saved than was thought; keep what is saved."""
        self.carried = None
        kept = {self.program.steps[a.step].at: a for a in self.artifacts}
        self._kept = frozenset(kept)
        while True:
            program = self._infer()
            steps = {number: program.steps[number] for number in program.saved}
            # Saved columns are no more than were asked for then.
            short = {s.at for s in steps.values() if s.at in kept and not _holds(kept[s.at], s)}
            if not short:
                break
            self._lost |= short
        self.artifacts = [
            replace(kept[step.at], step=number) for number, step in steps.items() if step.at in kept
        ]
        self.program = program
        self._waiting = list(self._choose())
        self.place.remove(kept=[steps[artifact.step].at for artifact in self.artifacts])

    def _choose(self) -> dict[int, Materialize]:
        """Return when each intermediate is saved that is not saved yet."""
        if not self.program.saved:
            return {}
        by_place = {node.at: node for node in nodes(self.captured.plan)}
        missing = {
            number: self.program.steps[number].at
            for number in self.program.saved
            if number not in {artifact.step for artifact in self.artifacts}
        }
        return {
            number: choose.choose(self.wish, by_place[at], can_inject=self._can_split(at))
            for number, at in missing.items()
        }

    def _savable(self, node: Plan) -> bool:
        """Whether the output of an operator can be saved, in the user's job or after it."""
        # Operators numbered after Spark's own are of subqueries, which are no part of its plan.
        if node.at in self._lost or node.at >= len(self._tree.nodes):
            return False
        return node.at in self._kept or self._can_split(node.at) or not unrepeatable(node)

    def _can_split(self, at: int) -> bool:
        return self.injects and not inject.inseparable(self._tree, at)

    def _can_offer(self, step: Step) -> bool:
        return Widener(self._tree).offers(step.at, (column.id for column in step.columns))

    @cached_property
    def _tree(self) -> Tree:
        return Tree.of(self.spark, self.captured.java, self.captured.plan)


def _holds(artifact: Artifact, step: Step) -> bool:
    """Whether a saved intermediate has the columns of `step`."""
    return {f"c{column.id}" for column in step.columns} <= {
        column.name for column in artifact.snapshot.columns
    }
