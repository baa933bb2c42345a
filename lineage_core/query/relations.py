"""A lineage program together with the snapshots that its steps stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lineage_core.errors import AmbiguousError, CorruptError, NotFoundError, UncapturedError
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import Plan
from lineage_core.query.columns import find_column
from lineage_core.snapshot import Snapshot
from lineage_core.store.manifest import OutputRecord


@dataclass(frozen=True, slots=True, eq=False)
class Relations:
    """A program whose steps can be read.

    Attributes:
        program: the lineage program.
        snapshots: the snapshot of each step.
        plan: the plan the program is of; None where it was not recorded.
        ordinals: for each step, the position in its snapshot of each column that predicates refer
            to.
    """

    program: LineageProgram
    snapshots: tuple[Snapshot, ...]
    ordinals: tuple[Mapping[int, int], ...]
    plan: Plan | None = None


def bind(output: OutputRecord, uri: Callable[[str], str]) -> Relations:
    """Return the program of a captured output over the snapshots it was captured with.

    Args:
        output: the record of the write.
        uri: makes an absolute URI of a path of the store.

    Raises:
        UncapturedError: the write was recorded, but not its lineage or its files.
        CorruptError: the program does not fit what was recorded with it.
    """
    if output.program is None or output.snapshot is None:
        reason = output.uncaptured or "what it wrote is not known"
        raise UncapturedError(
            f"the lineage of {output.dataset} was not captured: {reason}",
            hint="run the job again under capture, or ask about another run (row-lineage runs)",
        )
    steps = output.program.steps
    snapshots = tuple(_snapshot(output, number, uri) for number in range(len(steps)))
    ordinals = tuple(_ordinals(*pair) for pair in zip(steps, snapshots, strict=True))
    return Relations(output.program, snapshots, ordinals, output.plan)


def _snapshot(output: OutputRecord, number: int, uri: Callable[[str], str]) -> Snapshot:
    assert output.program is not None and output.snapshot is not None
    step = output.program.steps[number]
    match step.kind:
        case StepKind.TARGET:
            return output.snapshot
        case StepKind.SOURCE:
            if not 0 <= step.source < len(output.inputs):
                raise CorruptError(
                    f"the program of {output.dataset} has a source that was not recorded"
                )
            return output.inputs[step.source]
        case StepKind.SAVED | StepKind.COMPUTED:
            return _saved(output, number, uri)


def _saved(output: OutputRecord, number: int, uri: Callable[[str], str]) -> Snapshot:
    assert output.program is not None
    for artifact in output.artifacts:
        if artifact.step == number:
            files = tuple(replace(file, path=uri(file.path)) for file in artifact.snapshot.files)
            return replace(artifact.snapshot, files=files)
    raise CorruptError(
        f"saved intermediate {output.program.steps[number].name} of {output.dataset} is missing",
        hint="run the job again under capture: its lineage cannot be answered without it",
    )


def _ordinals(step: Step, snapshot: Snapshot) -> Mapping[int, int]:
    if not snapshot.format:
        return {}
    names = {
        field.id: f"c{field.id}" if step.kind is StepKind.SAVED else field.name
        for field in step.columns
    }
    try:
        return {id: find_column(snapshot, name) for id, name in names.items()}
    except (NotFoundError, AmbiguousError) as error:
        raise CorruptError(f"the lineage program does not fit its data: {error.what}") from None
