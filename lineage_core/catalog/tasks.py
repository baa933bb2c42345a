"""Runs of Airflow tasks, found by what Airflow calls them.

The provider tags a run with the task instance it was: `dag_id`, `task_id`, `run_id` (of the DAG
run), `map_index`, `try_number` and `logical_date`. A task instance that was tried again or cleared
has several runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from lineage_core.catalog.answers import RunSummary
from lineage_core.errors import AmbiguousError, NotFoundError, UnsupportedError

_INSTANCE = ("dag_id", "task_id", "run_id", "map_index")
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class TaskRuns:
    """The runs of the task instances for which everything given holds.

    Attributes:
        dag: id of the DAG.
        task: id of the task.
        logical_date: the DAG run's logical date; aware, since Airflow's are.
        dag_run: id of the DAG run, for those without a logical date.
        map_index: number of the instance of a mapped task.
        try_number: which try.
    """

    dag: str | None = None
    task: str | None = None
    logical_date: datetime | None = None
    dag_run: str | None = None
    map_index: int | None = None
    try_number: int | None = None

    @property
    def tags(self) -> list[tuple[str, tuple[str, ...]]]:
        """The tags those runs carry, each with its possible values; the rarest first.

        Raises:
            UnsupportedError: nothing is given, or a date without a time zone.
        """
        given = (
            ("run_id", self.dag_run),
            ("logical_date", self.logical_date),
            ("task_id", self.task),
            ("dag_id", self.dag),
            ("map_index", self.map_index),
            ("try_number", self.try_number),
        )
        found = [(key, _spellings(value)) for key, value in given if value is not None]
        if not found:
            raise UnsupportedError(
                "nothing says which task's runs to find", hint="give the dag, task or logical date"
            )
        return found

    def __str__(self) -> str:
        names = ("dag", "task", "logical_date", "dag_run", "map_index", "try_number")
        given = ((name, getattr(self, name)) for name in names)
        return ", ".join(f"{name} {value}" for name, value in given if value is not None)


def newest_try(wanted: TaskRuns, found: Iterable[RunSummary]) -> RunSummary:
    """Return the newest successful one of the tries of one task instance, else the newest.

    Args:
        wanted: what was asked for, to say so.
        found: runs of tasks, newest first.

    Raises:
        NotFoundError: there are none.
        AmbiguousError: they are of several task instances, which the hint lists.
    """
    instances: dict[tuple[str, ...], RunSummary] = {}
    for run in found:
        tags = dict(run.tags)
        instance = tuple(tags.get(key, "") for key in _INSTANCE)
        best = instances.setdefault(instance, run)
        if best.state != "complete" and run.state == "complete":
            instances[instance] = run
    if not instances:
        raise NotFoundError(
            f"no captured run of {wanted}",
            hint="row-lineage runs lists the runs; their tags have what Airflow calls them",
        )
    if len(instances) > 1:
        raise AmbiguousError(
            f"{len(instances)} task instances are {wanted}", hint=_listed(instances.values())
        )
    return next(iter(instances.values()))


def _spellings(value: str | int | datetime) -> tuple[str, ...]:
    """Return how a tag may have `value` written."""
    if not isinstance(value, datetime):
        return (str(value),)
    if value.tzinfo is None:
        raise UnsupportedError(
            f"the logical date {value} has no time zone", hint="give one, for example +00:00"
        )
    text = value.astimezone(UTC).isoformat()
    return text, text.replace("+00:00", "Z")


def _listed(runs: Iterable[RunSummary]) -> str:
    shown = []
    for run in runs:
        tags = dict(run.tags)
        facts = [f"{key} {tags[key]}" for key in (*_INSTANCE, "logical_date") if tags.get(key)]
        shown.append(f"run {run.id} ({', '.join(facts)})")
    more = ["..."] if len(shown) > _SHOWN else []
    return "it may be " + "; ".join(shown[:_SHOWN] + more)
