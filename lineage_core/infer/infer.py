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

from lineage_core.infer.cut import Cut, cut
from lineage_core.plan.expr import TRUE, Anchor, Column, Expr, conj, conjuncts, same
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import (
    Field,
    Limit,
    Offset,
    Plan,
    Scan,
    Values,
    children,
    output,
    place,
    rid_field,
)
from lineage_core.plan.ties import as_filter
from lineage_core.plan.traverse import anchor_ids, column_ids
from lineage_core.plan.types import is_comparable
from lineage_core.plan.unique import keys
from lineage_core.pushdown import Exact, Outcome, Prover, Refused, always_from, push


@dataclass(frozen=True, slots=True)
class _Frame:
    """A sub-plan still to be walked, with the predicate that reached its output.

    `exists`: whether every anchor row has some row of the sub-plan related to it.
    """

    node: Plan
    anchor: int
    predicate: Expr
    superset: tuple[str, ...]
    exists: bool


COMPUTE = (StepKind.COMPUTED,)
"""Nothing is saved: intermediates are computed again when someone asks (DESIGN 4.6)."""


def infer(
    plan: Plan,
    *,
    ways: tuple[StepKind, ...] = COMPUTE,
    savable: Callable[[Plan], bool] = lambda _: True,
    formats: Mapping[int, str] | None = None,
    decided: frozenset[int] = frozenset(),
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
        decided: places of limits at whose boundary no rows are assumed to tie, as far as that helps
            (`plan.ties`); the program says which it assumed.
        name: name of the target.
        prove: the prover; z3 by default (loaded only here: not every reader of programs needs it).
    """
    if prove is None:
        from lineage_core.verify import prove as prove_with_z3

        prove = prove_with_z3
    target = output(plan)
    steps = [Step(StepKind.TARGET, -1, TRUE, target, plan.at, name)]
    compared = [f for f in target if is_comparable(f.type)]
    row = conj(same(Column(f.id, f.type), Anchor(f.id, f.type)) for f in compared)
    inference = _Inference(ways, savable, formats, decided, prove, steps)
    stack = [_Frame(plan, 0, row, (), True)]
    while stack:
        frame = stack.pop()
        match frame.node:
            case Scan() as scan:
                steps.append(_source(scan, frame))
            case Values():
                pass
            case _:
                stack.extend(reversed(inference.push(frame)))
    if blur := _blur(plan, compared):
        steps = [
            replace(s, superset=(blur, *s.superset)) if s.kind is StepKind.SOURCE else s
            for s in steps
        ]
    return _project(LineageProgram(tuple(steps), tuple(sorted(inference.assumed))))


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


@dataclass(frozen=True, slots=True)
class _Inference:
    """Pushes frames through their operators; adds a step where an intermediate is to be had."""

    ways: tuple[StepKind, ...]
    savable: Callable[[Plan], bool]
    formats: Mapping[int, str] | None
    decided: frozenset[int]
    prove: Prover
    steps: list[Step]
    assumed: set[int] = field(default_factory=set)

    def push(self, frame: _Frame) -> list[_Frame]:
        node = frame.node
        outcomes = push(node, frame.predicate, self.prove, premise=frame.exists)
        if isinstance(node, Limit | Offset) and node.at in self.decided and not _exact(outcomes):
            decided = push(as_filter(node), frame.predicate, self.prove, premise=frame.exists)
            if _exact(decided):
                self.assumed.add(node.at)
                outcomes = decided
        # Below a superset nothing becomes exact again, so nothing is worth having there.
        if not frame.superset and not _exact(outcomes):
            found = self.cut(frame)
            if found is not None:
                self.steps.append(_step(frame, found))
                self.assumed.update(found.assumed)
                known = replace(frame, anchor=len(self.steps) - 1, exists=True)
                return _below(known, found.node, found.outcomes)
        return _below(frame, node, outcomes)

    def cut(self, frame: _Frame) -> Cut | None:
        for kind in self.ways:
            if kind is StepKind.SAVED and not self.savable(frame.node):
                continue
            found = cut(
                kind,
                frame.node,
                frame.predicate,
                self.prove,
                premise=frame.exists,
                formats=self.formats,
                decided=self.decided,
            )
            if found is not None:
                return found
        return None


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
    for child, outcome, always in zip(children(node), outcomes, always_from(node), strict=True):
        predicate = TRUE if isinstance(outcome, Refused) else outcome.predicate
        why = () if isinstance(outcome, Exact) else (outcome.why,)
        superset = tuple(dict.fromkeys((*frame.superset, *why)))
        exists = always and frame.exists
        frames.append(_Frame(child, frame.anchor, predicate, superset, exists))
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
