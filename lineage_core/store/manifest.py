"""The record of one captured run, as committed in the store (DESIGN 4.10).

A run's files lie under `runs/<run id>/`; its manifest is written last and is the commit point: a
reader that finds no manifest finds no run. Everything here is data with a canonical JSON form
(`lineage_core.codec`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lineage_core.plan.program import LineageProgram
from lineage_core.plan.relation import Plan
from lineage_core.snapshot import Snapshot

VERSION = 2

OVERWRITE_PARTITIONS = "overwrite_partitions"
"""The mode of a write that took the place of the partitions it wrote to, and left all others."""


class Materialize(StrEnum):
    """When the intermediates a program needs are saved."""

    AUTO = "auto"
    INJECT = "inject"
    DEFER = "defer"
    NEVER = "never"


class RunState(StrEnum):
    """How a run ended."""

    COMPLETE = "complete"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A saved intermediate: the rows of program step `step`, in the Parquet files of `snapshot`.

    Column `c<id>` of the files holds the step's column `id`. File paths are relative to the store's
    root. `how` is `inject` or `defer`.
    """

    step: int
    snapshot: Snapshot
    rows: int
    how: Materialize


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds one stage of capturing took (`optimise`, `infer`, `save`, `snapshot`, ...)."""

    stage: str
    seconds: float


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """One dataset a run wrote, with its lineage, or the reason why there is none.

    Attributes:
        dataset: the dataset's name, as in its snapshot.
        mode: `overwrite`, `overwrite_partitions`, `append`, `errorifexists` or `ignore`.
        snapshot: the files this write added; None when even those are unknown.
        plan: the optimised plan; None when uncaptured.
        program: its lineage program; None when uncaptured.
        inputs: the snapshots that the program's sources number.
        artifacts: the saved intermediates.
        sql: the plans as text: `analyzed` and `optimized` (empty when uncaptured).
        rows: rows written; -1 when unknown.
        uncaptured: why lineage was not captured; empty when it was.
    """

    dataset: str
    mode: str
    snapshot: Snapshot | None
    plan: Plan | None
    program: LineageProgram | None
    inputs: tuple[Snapshot, ...]
    artifacts: tuple[Artifact, ...]
    analyzed: str
    optimized: str
    rows: int
    timings: tuple[Timing, ...]
    uncaptured: str = ""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One captured run.

    Attributes:
        id: a UUID; under Airflow the task's OpenLineage run id.
        job: the job's name, free text chosen by the caller (`dag_id.task_id` under Airflow).
        started: when the capture began, ISO 8601 UTC.
        ended: when it was committed, ISO 8601 UTC.
        state: `complete`, or `failed` when the user's code raised.
        outputs: what was written, in order.
        tags: facts of the caller: Airflow's dag, task, run, try and map index, logical date.
        uncaptured: why nothing at all could be captured; empty otherwise.
    """

    id: str
    job: str
    started: str
    ended: str
    state: RunState
    outputs: tuple[OutputRecord, ...]
    tags: tuple[tuple[str, str], ...] = ()
    uncaptured: str = ""
