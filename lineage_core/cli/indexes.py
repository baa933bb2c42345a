"""`row-lineage index`: build the rid indexes of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_core.cli.output import emit, options, target
from lineage_core.cli.report import report, table
from lineage_core.cli.screen import counted
from lineage_core.cli.settings import Settings
from lineage_core.cli.tasks import TaskName, task_options
from lineage_core.datasets import display
from lineage_core.index.record import Direction, IndexEntry

if TYPE_CHECKING:
    from lineage_core.query.writing import Building

_COLUMNS = {
    "output": "string",
    "source": "string",
    "pairs": "int64",
    "backward_bytes": "int64",
    "forward_bytes": "int64",
    "workload_bytes": "int64",
}


@click.command()
@click.argument("run", required=False)
@click.option(
    "--dataset", help="Build them of this dataset only; without RUN, of its newest state."
)
@click.option(
    "--workload",
    multiple=True,
    metavar="SQL",
    help="Build just what this query needs, of which parameters vary. May be repeated.",
)
@task_options
@click.option(
    "--engine",
    type=click.Choice(["auto", "duckdb", "spark"]),
    default="auto",
    show_default=True,
    help="What evaluates the lineage programs.",
)
@options
@click.pass_obj
def index(
    settings: Settings,
    run: str | None,
    dataset: str | None,
    workload: tuple[str, ...],
    named: TaskName,
    engine: str,
    format: str,
    output: Path | None,
) -> None:
    """Build the rid indexes of what a run wrote; questions use them from then on.

    RUN is its id, or the beginning of it; --dag, --task and --logical-date name it, too. Without
    one, what the newest state of --dataset is made of gets those that it does not have yet.
    """
    to = target(format, output)
    store = settings.open()
    left_out: list[str] = []
    with counted("building indexes") as advance:
        found = named.run(store, run)
        if found is None and dataset is None:
            raise click.UsageError("give RUN, --dataset, or --dag, --task and --logical-date")

        def note(state: Building) -> None:
            advance(state.done, state.total or None, f"indexing {state.source}")
            if state.left_out:
                left_out.append(f"{state.source} is left out: {state.left_out}")

        made = store.index(
            dataset, run=found, workload=workload or None, engine=engine, progress=note
        )
    rows = [
        (display(record.dataset), display(entry.dataset), entry.pairs, *_bytes(entry))
        for record in made
        for entry in record.entries
    ]
    written = report("indexes", "Indexes", table(_COLUMNS, rows))
    emit(replace(written, notes=tuple(left_out)), to)


def _bytes(entry: IndexEntry) -> list[int | None]:
    parts = [entry.part(direction) for direction in Direction]
    plain = [part.size if part is not None else None for part in parts]
    return [*plain, entry.size - sum(size or 0 for size in plain)]
