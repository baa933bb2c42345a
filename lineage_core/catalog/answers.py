"""What the catalog answers with: plain data, never rows of its tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run, as a line of a list.

    Attributes:
        id: the run's UUID.
        job: the job's name.
        started: when the capture began, UTC.
        ended: when it was committed, UTC.
        state: `complete` or `failed`.
        outputs: canonical names of the datasets it wrote, in order.
        captured: whether the lineage of everything it wrote was captured.
        uncaptured: why not; empty when it was.
        artifact_bytes: bytes of its saved intermediates.
        tags: facts of the caller, sorted.
    """

    id: str
    job: str
    started: datetime
    ended: datetime
    state: str
    outputs: tuple[str, ...]
    captured: bool
    uncaptured: str
    artifact_bytes: int
    tags: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class OutputRef:
    """One write of one run: `outputs[index]` of its record.

    Attributes:
        run_id: the run.
        index: position among the record's outputs.
        dataset: canonical name of what was written.
        snapshot_id: id of the snapshot of the files it added; None when those are unknown.
        ended: when the run was committed, UTC.
        uncaptured: why its lineage is missing; empty when it is there.
        mode: how it wrote; an `append` explains only the rows it added.
        inputs: for an answer about readers, the positions of the inputs asked for; otherwise empty.
    """

    run_id: str
    index: int
    dataset: str
    snapshot_id: str | None
    ended: datetime
    uncaptured: str
    mode: str
    inputs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What a rebuild did: how many runs are in the catalog now, and which were left out and why."""

    added: int
    skipped: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Revision:
    """The migration a catalog is at, and the one this version of the code has."""

    current: str
    head: str

    @property
    def is_head(self) -> bool:
        return self.current == self.head
