"""Logical lineage inference: PredTrace's algorithm 1 over a plan, giving its lineage program.

The row-selection predicate of the target goes down from the root. Where an operator's inputs cannot
be told precisely, its output is to be saved, and the row-selection predicate of the saved rows goes
on in its place. With `save=False` nothing is to be saved: the predicate goes on as it is, and every
source below answers with a superset that says from where.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lineage_core.infer.cut import cut
from lineage_core.plan.expr import TRUE, Anchor, Column, Expr, conj, same
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import Aggregate, Field, Plan, Scan, Values, children, output, place
from lineage_core.plan.traverse import anchor_ids, column_ids
from lineage_core.plan.types import is_comparable
from lineage_core.plan.unique import keys
from lineage_core.pushdown import Exact, Outcome, Prover, Refused, push


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


def infer(
    plan: Plan, *, save: bool, name: str = "output", prove: Prover | None = None
) -> LineageProgram:
    """Return the lineage program of the dataset that `plan` writes.

    Args:
        plan: the optimised plan; its output columns are the target's.
        save: whether intermediates may be saved.
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
    stack = [_Frame(plan, 0, row, (), True)]
    while stack:
        frame = stack.pop()
        match frame.node:
            case Scan() as scan:
                steps.append(_source(scan, frame))
            case Values():
                pass
            case _:
                stack.extend(reversed(_push(frame, steps, save, prove)))
    if blur := _blur(plan, compared):
        steps = [
            replace(s, superset=(blur, *s.superset)) if s.kind is StepKind.SOURCE else s
            for s in steps
        ]
    return _project(LineageProgram(tuple(steps)))


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
        frame.predicate,
        scan.columns,
        scan.at,
        scan.name,
        scan.source,
        frame.superset,
    )


def _push(frame: _Frame, steps: list[Step], save: bool, prove: Prover) -> list[_Frame]:
    """Push a frame through its operator; add a step where the operator's output is to be saved."""
    node = frame.node
    outcomes = push(node, frame.predicate, prove, premise=frame.exists)
    # The one row of an aggregate without grouping columns is there even when it has no input.
    exists = not isinstance(node, Aggregate) or bool(node.keys)
    # Below a superset nothing becomes exact again, so nothing is worth saving there.
    if save and not frame.superset and not all(isinstance(o, Exact) for o in outcomes):
        found = cut(node, frame.predicate, prove, premise=frame.exists)
        if found is not None:
            steps.append(
                Step(
                    StepKind.SAVED,
                    frame.anchor,
                    frame.predicate,
                    found.columns,
                    node.at,
                    place(node),
                )
            )
            inputs = zip(children(found.node), found.outcomes, strict=True)
            return [_below(*pair, len(steps) - 1, (), exists) for pair in inputs]
    inputs = zip(children(node), outcomes, strict=True)
    exists = exists and frame.exists
    return [_below(*pair, frame.anchor, frame.superset, exists) for pair in inputs]


def _below(
    child: Plan, outcome: Outcome, anchor: int, superset: tuple[str, ...], exists: bool
) -> _Frame:
    """Return the frame of an operator's input."""
    predicate = TRUE if isinstance(outcome, Refused) else outcome.predicate
    why = () if isinstance(outcome, Exact) else (outcome.why,)
    return _Frame(child, anchor, predicate, tuple(dict.fromkeys((*superset, *why))), exists)


def _project(program: LineageProgram) -> LineageProgram:
    """Keep of each relation the columns that a predicate refers to; of the target, all."""
    used = [set(column_ids(step.predicate)) for step in program.steps]
    for step in program.steps[1:]:
        used[step.anchor] |= anchor_ids(step.predicate)
    steps = [
        replace(step, columns=tuple(f for f in step.columns if f.id in used[i]))
        for i, step in enumerate(program.steps)
    ]
    steps[0] = program.target
    return LineageProgram(tuple(steps))
