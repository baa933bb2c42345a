"""A lineage program together with what its steps stand for: snapshots, and plans to compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lineage_core.errors import AmbiguousError, CorruptError, NotFoundError, UncapturedError
from lineage_core.infer.links import Link
from lineage_core.plan.positions import numbered
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.prune import prune
from lineage_core.plan.relation import Field, Plan, Scan, is_rid
from lineage_core.plan.traverse import nodes
from lineage_core.plan.widen import widen
from lineage_core.query.columns import find_column
from lineage_core.snapshot import Snapshot
from lineage_core.store.manifest import OutputRecord

if TYPE_CHECKING:
    from lineage_core.query.edges import Edge


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """An intermediate that is computed again: its plan, and the snapshots its scans read.

    Attributes:
        plan: the plan, offering the step's columns and no others.
        scans: the snapshot of each scan, by place.
        ordinals: for each scan, by place, the position in its snapshot of each of its columns.
    """

    plan: Plan
    scans: Mapping[int, Snapshot]
    ordinals: Mapping[int, Mapping[int, int]]


@dataclass(frozen=True, slots=True, eq=False)
class Relations:
    """A program whose steps can be read.

    Attributes:
        program: the lineage program.
        snapshots: the snapshot of each step, by its number; none of computed ones.
        computed: what computed steps are computed from, by the step's number.
        plan: the plan the program is of; None where it was not recorded.
        ordinals: for each step, the position in its relation of each column that predicates refer
            to.
        links: by which the rows of sources cut each other down, where nothing else tells them.
        indexes: from the output to sources and back, by the source's step, where they were built.
    """

    program: LineageProgram
    snapshots: Mapping[int, Snapshot]
    ordinals: tuple[Mapping[int, int], ...]
    computed: Mapping[int, Computed] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    plan: Plan | None = None
    indexes: Mapping[int, Edge] = field(default_factory=dict)

    def read(self, step: int) -> tuple[Snapshot, ...]:
        """Return the snapshots that the rows of a step are read from."""
        if step in self.computed:
            return tuple(self.computed[step].scans.values())
        return (self.snapshots[step],)


def bind(
    output: OutputRecord, uri: Callable[[str], str], program: LineageProgram | None = None
) -> Relations:
    """Return the program of a captured output over the snapshots it was captured with.

    Args:
        output: the record of the write.
        uri: makes an absolute URI of a path of the store.
        program: the program; the recorded one by default.

    Raises:
        UncapturedError: the write was recorded, but not its lineage or its files.
        CorruptError: the program does not fit what was recorded with it.
    """
    program = program or output.program
    if program is None or output.snapshot is None:
        reason = output.uncaptured or "what it wrote is not known"
        raise UncapturedError(
            f"the lineage of {output.dataset} was not captured: {reason}",
            hint="run the job again under capture, or ask about another run (row-lineage runs)",
        )
    steps = list(enumerate(program.steps))
    plan = output.plan and numbered(output.plan, program.numbered)
    computed = {n: _computed(output, plan, s) for n, s in steps if s.kind is StepKind.COMPUTED}
    snapshots = {n: _snapshot(output, n, s, uri) for n, s in steps if n not in computed}
    ordinals = tuple(
        {f.id: i for i, f in enumerate(step.columns)}
        if number in computed
        else _ordinals(step, snapshots[number])
        for number, step in steps
    )
    return Relations(program, snapshots, ordinals, computed, plan=output.plan)


def _snapshot(
    output: OutputRecord, number: int, step: Step, uri: Callable[[str], str]
) -> Snapshot:
    match step.kind:
        case StepKind.SOURCE:
            return _input(output, step.source)
        case StepKind.SAVED:
            return _saved(output, number, step, uri)
        case _:
            assert output.snapshot is not None
            return output.snapshot


def _input(output: OutputRecord, source: int) -> Snapshot:
    if not 0 <= source < len(output.inputs):
        raise CorruptError(f"the program of {output.dataset} has a source that was not recorded")
    return output.inputs[source]


def _computed(output: OutputRecord, plan: Plan | None, step: Step) -> Computed:
    """Return how the step's rows are computed from the recorded plan."""
    # Of operators at one place, the last is Spark's own: the others only rename its columns.
    found = [node for node in nodes(plan) if node.at == step.at] if plan else []
    if not found:
        raise CorruptError(f"the plan of {output.dataset} has no {step.name}")
    ids = {f.id for f in step.columns}
    return compute(output, prune(widen(found[-1], ids), ids))


def compute(output: OutputRecord, plan: Plan) -> Computed:
    """Return how a plan over the sources of a captured output is computed.

    Raises:
        CorruptError: the plan does not fit what was recorded with it.
    """
    scans = [node for node in nodes(plan) if isinstance(node, Scan)]
    snapshots = {scan.at: _input(output, scan.source) for scan in scans}
    ordinals = {scan.at: _positions(scan.columns, snapshots[scan.at]) for scan in scans}
    return Computed(plan, snapshots, ordinals)


def _saved(
    output: OutputRecord, number: int, step: Step, uri: Callable[[str], str]
) -> Snapshot:
    for artifact in output.artifacts:
        if artifact.step == number:
            files = tuple(replace(file, path=uri(file.path)) for file in artifact.snapshot.files)
            return replace(artifact.snapshot, files=files)
    raise CorruptError(
        f"saved intermediate {step.name} of {output.dataset} is missing",
        hint="run the job again under capture: its lineage cannot be answered without it",
    )


def _ordinals(step: Step, snapshot: Snapshot) -> Mapping[int, int]:
    if step.kind is not StepKind.SAVED:
        return _positions(step.columns, snapshot)
    return _positions(tuple(replace(f, name=f"c{f.id}") for f in step.columns), snapshot)


def _positions(columns: tuple[Field, ...], snapshot: Snapshot) -> Mapping[int, int]:
    """Return the position in a snapshot of each column, by id; rids are none of its columns."""
    if not snapshot.format:
        return {}
    try:
        return {f.id: find_column(snapshot, f.name) for f in columns if not is_rid(f.id)}
    except (NotFoundError, AmbiguousError) as error:
        raise CorruptError(f"the lineage program does not fit its data: {error.what}") from None
