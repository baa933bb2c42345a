"""Logical lineage inference: PredTrace's algorithm 1 over a plan, giving its lineage program.

The row-selection predicate of the target goes down from the root. Where an operator's inputs cannot
be told precisely, an intermediate is to be had: its output, saved with the run or computed again
when someone asks. The row-selection predicate of the intermediate's rows goes on in its place.
Where no intermediate is to be had, the predicate goes on as it is, and every source below answers
with a superset that says from where.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from lineage_core.infer.cut import Cut
from lineage_core.infer.place import Candidate, Placer, Sizes
from lineage_core.plan.expr import TRUE, Anchor, Column, Expr, conj, conjuncts, same
from lineage_core.plan.positions import counting, numbered, numberings, tells_apart
from lineage_core.plan.program import LineageProgram, Placement, Step, StepKind
from lineage_core.plan.relation import (
    Aggregate,
    Field,
    Limit,
    Offset,
    Plan,
    Scan,
    Values,
    Window,
    children,
    output,
    place,
    rid_field,
)
from lineage_core.plan.repeat import uncomputable, unrepeatable
from lineage_core.plan.ties import as_filter, ordered_limits, tie_question
from lineage_core.plan.traverse import anchor_ids, column_ids, nodes
from lineage_core.plan.types import is_comparable
from lineage_core.plan.unique import keys
from lineage_core.pushdown import Exact, Outcome, Prover, Refused, always_from, push


@dataclass(frozen=True, slots=True)
class _Frame:
    """A sub-plan still to be walked, with the predicate that reached its output.

    Attributes:
        node: the sub-plan's topmost operator.
        anchor: the step whose rows select the sub-plan's.
        predicate: how.
        superset: why its rows may be too many.
        exists: whether every anchor row has some row of the sub-plan related to it.
        above: the frames from the anchor down to this one, with the state in which each was met.
        position: which input of the last of them this is.
    """

    node: Plan
    anchor: int
    predicate: Expr
    superset: tuple[str, ...]
    exists: bool
    above: tuple[_Met, ...] = ()
    position: int = 0


@dataclass(frozen=True, slots=True)
class _Met:
    """A frame, and how many steps and waiting frames there were when it was met."""

    frame: _Frame
    steps: int
    waiting: int


COMPUTE = (StepKind.COMPUTED,)
"""Nothing is saved: intermediates are computed again when someone asks (DESIGN 4.6)."""


def infer(
    plan: Plan,
    *,
    ways: tuple[StepKind, ...] = COMPUTE,
    savable: Callable[[Plan], bool] = lambda _: True,
    formats: Mapping[int, str] | None = None,
    decided: frozenset[int] = frozenset(),
    sizes: Sizes | None = None,
    name: str = "output",
    prove: Prover | None = None,
) -> LineageProgram:
    """Return the lineage program of the dataset that `plan` writes.

    Args:
        plan: the optimised plan; its output columns are the target's.
        ways: how intermediates may be had, `COMPUTED` and `SAVED`, the preferred way first; with
            none of them the program gives supersets.
        savable: whether the output of an operator can be saved.
        formats: the format of each source, by number: only `parquet` has rids, and nothing can be
            read again where it is not known (empty). All are Parquet by default.
        decided: places of limits and windows where no rows are assumed to tie, as far as that
            helps (`plan.ties`); the program says which it assumed.
        sizes: what intermediates are thought to take; without, one is saved where it is needed.
        name: name of the target.
        prove: the prover; z3 by default (loaded only here: not every reader of programs needs it).
    """
    if prove is None:
        from lineage_core.verify import prove as prove_with_z3

        prove = prove_with_z3
    asked = _askable(plan, decided, formats) if StepKind.COMPUTED in ways else frozenset()
    counted = counting(plan) & asked
    told = {at for at in counted if tells_apart(plan, at)}
    plan = numbered(plan, counted)
    known = ordered_limits(plan) & decided | asked | numberings(plan)
    target = output(plan)
    steps = [Step(StepKind.TARGET, -1, TRUE, target, plan.at, name)]
    compared = [f for f in target if is_comparable(f.type)]
    row = conj(same(Column(f.id, f.type), Anchor(f.id, f.type)) for f in compared)
    inference = _Inference(
        Placer(ways, savable, formats, known, sizes, prove), known, prove, steps
    )
    inference.run(_Frame(plan, 0, row, (), True))
    steps = inference.steps
    if blur := _blur(plan, compared):
        steps = [
            replace(s, superset=(blur, *s.superset)) if s.kind is StepKind.SOURCE else s
            for s in steps
        ]
    assumed = inference.assumed | (counted - told)
    return _project(
        LineageProgram(
            tuple(steps),
            tuple(sorted(assumed)),
            tuple(inference.placements),
            tuple(sorted(counted)),
        )
    )


def _askable(
    plan: Plan, decided: frozenset[int], formats: Mapping[int, str] | None
) -> frozenset[int]:
    """Return the decided windows of which can be asked whether rows tie in their order."""
    found = set()
    for at in {node.at for node in nodes(plan) if isinstance(node, Window)} & decided:
        asked, _ = tie_question(plan, at)
        scans = (scan for scan in nodes(asked) if isinstance(scan, Scan))
        known = formats is None or all(formats[scan.source] for scan in scans)
        if known and not uncomputable(asked) and not unrepeatable(asked):
            found.add(at)
    return frozenset(found)


def _blur(plan: Plan, compared: list[Field]) -> str:
    """Return why target rows cannot all be told apart by the columns compared; else nothing."""
    ids = {f.id for f in compared}
    lost = [f.name for f in output(plan) if f.id not in ids]
    if not lost or any(key <= ids for key in keys(plan)):
        return ""
    return (
        f"output rows that differ only in {', '.join(lost)} (not comparable) are answered together"
    )


def _source(scan: Scan, frame: _Frame) -> Step:
    return Step(
        StepKind.SOURCE,
        frame.anchor,
        _by_rid(scan, frame.predicate),
        scan.columns,
        scan.at,
        scan.name,
        scan.source,
        frame.superset,
    )


def _by_rid(scan: Scan, predicate: Expr) -> Expr:
    """Return the predicate, or of it what names the row itself, which implies the rest."""
    rid = rid_field(scan)
    named = same(Column(rid.id, rid.type), Anchor(rid.id, rid.type))
    return named if named in conjuncts(predicate) else predicate


@dataclass
class _Inference:
    """Pushes frames through their operators; adds a step where an intermediate is to be had."""

    placer: Placer
    decided: frozenset[int]
    prove: Prover
    steps: list[Step]
    waiting: list[_Frame] = field(default_factory=list)
    assumed: set[int] = field(default_factory=set)
    placements: list[Placement] = field(default_factory=list)

    def run(self, frame: _Frame) -> None:
        self.waiting.append(frame)
        while self.waiting:
            frame = self.waiting.pop()
            match frame.node:
                case Scan() as scan:
                    self.steps.append(_source(scan, frame))
                case Values():
                    pass
                case Aggregate(domain=True):
                    pass
                case _:
                    self._push(frame)

    def _push(self, frame: _Frame) -> None:
        outcomes = push(frame.node, frame.predicate, self.prove, premise=frame.exists)
        if not _exact(outcomes):
            outcomes = self._as_decided(frame) or outcomes
        # Below a superset nothing becomes exact again, so nothing is worth having there.
        if _exact(outcomes) or frame.superset or not self._place(frame):
            met = (*frame.above, _Met(frame, len(self.steps), len(self.waiting)))
            self._descend(replace(frame, above=met), frame.node, outcomes)

    def _as_decided(self, frame: _Frame) -> tuple[Outcome, ...] | None:
        """Return the outcomes of a limit whose rows its order decides, if these are exact."""
        node = frame.node
        if not isinstance(node, Limit | Offset) or node.at not in self.decided:
            return None
        outcomes = push(as_filter(node), frame.predicate, self.prove, premise=frame.exists)
        if not _exact(outcomes):
            return None
        self.assumed.add(node.at)
        return outcomes

    def _place(self, frame: _Frame) -> bool:
        """Add the step that tells the frame's inputs, and go on below it; False if none does."""
        met = (*frame.above, _Met(frame, len(self.steps), len(self.waiting)))
        found = self.placer.choose(_candidates(met))
        if found is None:
            return False
        # What was found below a later operator is found anew from its rows.
        chosen = met[found.candidate]
        del self.steps[chosen.steps :], self.waiting[chosen.waiting :]
        self.placements = [p for p in self.placements if p.step < chosen.steps]
        number = len(self.steps)
        self.steps.append(_step(chosen.frame, found.cut))
        self.placements.append(Placement(number, place(frame.node), found.alternatives))
        self.assumed.update(found.cut.assumed)
        known = replace(chosen.frame, anchor=number, exists=True, above=())
        self._descend(known, found.cut.node, found.cut.outcomes)
        return True

    def _descend(self, frame: _Frame, node: Plan, outcomes: tuple[Outcome, ...]) -> None:
        self.waiting.extend(reversed(_below(frame, node, outcomes)))


def _candidates(met: tuple[_Met, ...]) -> tuple[Candidate, ...]:
    """Return the operators from the anchor's down to the last, with the way to the last."""
    positions = tuple(at.frame.position for at in met)
    return tuple(
        Candidate(at.frame.node, at.frame.predicate, at.frame.exists, positions[number + 1 :])
        for number, at in enumerate(met)
    )


def _exact(outcomes: tuple[Outcome, ...]) -> bool:
    return all(isinstance(outcome, Exact) for outcome in outcomes)


def _step(frame: _Frame, found: Cut) -> Step:
    return Step(
        found.kind,
        frame.anchor,
        frame.predicate,
        found.columns,
        frame.node.at,
        place(frame.node),
        reduced=found.reduced,
    )


def _below(frame: _Frame, node: Plan, outcomes: tuple[Outcome, ...]) -> list[_Frame]:
    """Return the frames of an operator's inputs."""
    frames = []
    inputs = zip(children(node), outcomes, always_from(node), strict=True)
    for position, (child, outcome, always) in enumerate(inputs):
        predicate = TRUE if isinstance(outcome, Refused) else outcome.predicate
        why = () if isinstance(outcome, Exact) else (outcome.why,)
        superset = tuple(dict.fromkeys((*frame.superset, *why)))
        exists = always and frame.exists
        frames.append(
            _Frame(child, frame.anchor, predicate, superset, exists, frame.above, position)
        )
    return frames


def _project(program: LineageProgram) -> LineageProgram:
    """Keep of each relation the columns that a predicate refers to; of the target, all."""
    used = [set(column_ids(step.predicate)) for step in program.steps]
    for step in program.steps[1:]:
        for predicate in (step.predicate, *(wanted for _, wanted in step.reduced)):
            used[step.anchor] |= anchor_ids(predicate)
    steps = [
        replace(step, columns=tuple(f for f in step.columns if f.id in used[i]))
        for i, step in enumerate(program.steps)
    ]
    steps[0] = program.target
    return replace(program, steps=tuple(steps))
