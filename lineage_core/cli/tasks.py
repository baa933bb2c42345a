"""Options that name a run by what Airflow calls it, wherever a run can be named."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from lineage_core.cli.parameters import moment

if TYPE_CHECKING:
    from lineage_core.lineage import LineageStore

_NAMES = ("dag", "task", "logical_date", "dag_run", "map_index")

_OPTIONS = (
    click.option("--dag", help="Take the run of this Airflow DAG, its newest successful try."),
    click.option("--task", help="Take the run of this Airflow task."),
    click.option("--logical-date", callback=moment, help="Of the DAG run (ISO 8601 time)."),
    click.option("--dag-run", help="Id of the DAG run, where the logical date does not tell."),
    click.option("--map-index", type=int, help="Number of the instance of a mapped task."),
)


@dataclass(frozen=True, slots=True)
class TaskName:
    """What the options say; nothing when none was given."""

    given: Mapping[str, Any]

    def run(self, store: LineageStore, run: str | None) -> str | None:
        """Return the id of the run meant by `run` or by the options; None when neither is given.

        Raises:
            NotFoundError: no captured run is called so.
            AmbiguousError: several task instances are.
        """
        if not self.given:
            return run
        if run is not None:
            raise click.UsageError("give either the run or what Airflow calls it")
        return store.find_run(**self.given)


def task_options(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """Give a command the options; they come as one parameter, `named`."""

    @functools.wraps(command)
    def gathered(*args: Any, **parameters: Any) -> int | None:
        values = {name: parameters.pop(name) for name in _NAMES}
        named = TaskName({name: value for name, value in values.items() if value is not None})
        return command(*args, named=named, **parameters)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered
