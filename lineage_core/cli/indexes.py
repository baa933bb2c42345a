"""`row-lineage index`: build the rid indexes of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from lineage_core.cli.output import emit, options, target
from lineage_core.cli.report import report, table
from lineage_core.cli.screen import following
from lineage_core.cli.settings import Settings
from lineage_core.cli.tasks import TaskName, task_options
from lineage_core.datasets import display

_COLUMNS = {
    "output": "string",
    "source": "string",
    "pairs": "int64",
    "backward_bytes": "int64",
    "forward_bytes": "int64",
}


@click.command()
@click.argument("run", required=False)
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
    named: TaskName,
    engine: str,
    format: str,
    output: Path | None,
) -> None:
    """Build the rid indexes of what a run wrote; questions use them from then on.

    RUN is its id, or the beginning of it; --dag, --task and --logical-date name it, too.
    """
    to = target(format, output)
    store = settings.open()
    told: list[str] = []
    with following("building indexes") as follow:
        found = named.run(store, run)
        if found is None:
            raise click.UsageError("give RUN, or --dag, --task and --logical-date")

        def note(line: str) -> None:
            told.append(line)
            follow(f"building indexes: {line}")

        made = store.index(found, engine=engine, progress=note)
    rows = [
        (
            *(display(record.dataset), display(entry.dataset)),
            *(entry.pairs, entry.backward.size, entry.forward.size),
        )
        for record in made
        for entry in record.entries
    ]
    written = report("indexes", "Indexes", table(_COLUMNS, rows))
    left_out = tuple(line for line in told if "left out" in line)
    emit(replace(written, notes=left_out), to)
