"""`row-lineage runs`, `show` and `catalog rebuild`: what was captured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_core.cli.output import emit, options, target
from lineage_core.cli.report import Report, Table, report, table
from lineage_core.cli.screen import counted, progress
from lineage_core.cli.settings import Settings
from lineage_core.cli.tasks import TaskName, task_options
from lineage_core.datasets import display

if TYPE_CHECKING:
    from lineage_core.catalog import RunSummary
    from lineage_core.store.manifest import OutputRecord, RunRecord

_RUN_COLUMNS = {
    "run": "string",
    "job": "string",
    "started": "string",
    "state": "string",
    "outputs": "string",
    "saved_bytes": "int64",
    "uncaptured": "string",
}
_OUTPUT_COLUMNS = {
    "output": "string",
    "mode": "string",
    "rows": "int64",
    "sources": "string",
    "precision": "string",
    "saved_rows": "int64",
    "saved_bytes": "int64",
    "seconds": "float64",
    "uncaptured": "string",
}


@click.command()
@click.option("--job", help="Only runs of this job.")
@click.option("--dataset", help="Only runs that wrote or read this dataset.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@options
@click.pass_obj
def runs(
    settings: Settings,
    job: str | None,
    dataset: str | None,
    limit: int,
    format: str,
    output: Path | None,
) -> None:
    """List captured runs, newest first."""
    to = target(format, output)
    with progress("looking for runs"):
        found = settings.open().runs(job=job, dataset=dataset, limit=limit)
    rows = [_run_line(run) for run in found]
    emit(report("runs", "Captured runs", table(_RUN_COLUMNS, rows)), to)


@click.command()
@click.argument("run", required=False)
@task_options
@options
@click.pass_obj
def show(
    settings: Settings, run: str | None, named: TaskName, format: str, output: Path | None
) -> None:
    """Show what a run wrote, and how it was captured.

    RUN is its id, or the beginning of it; --dag, --task and --logical-date name it, too.
    """
    to = target(format, output)
    store = settings.open()
    with progress("reading the run"):
        found = named.run(store, run)
        if found is None:
            raise click.UsageError("give RUN, or --dag, --task and --logical-date")
        record = store.run(found)
    emit(describe_run(record), to)


@click.group()
def catalog() -> None:
    """Look after the catalog, the index of runs."""


@catalog.command()
@options
@click.pass_obj
def rebuild(settings: Settings, format: str, output: Path | None) -> None:
    """Make the catalog anew from the runs in the store."""
    to = target(format, output)
    store = settings.open()
    with counted("reading manifests") as advance:
        done = store.catalog.rebuild(store.artifacts, advance)
    rows = [(run, why) for run, why in done.skipped]
    skipped = table({"run": "string", "reason": "string"}, rows)
    title = f"{done.added} runs are in the catalog; {len(rows)} were left out"
    document = {"added": done.added, "skipped": skipped.to_pylist()}
    emit(Report((Table(title, skipped),), lambda: document, skipped), to)


def describe_run(record: RunRecord) -> Report:
    """Return the report of one run: a line for each output, and facts about the run."""
    outputs = table(_OUTPUT_COLUMNS, [_output_line(output) for output in record.outputs])
    facts = {
        "run": record.id,
        "job": record.job,
        "state": record.state.value,
        "started": record.started,
        "ended": record.ended,
        "uncaptured": record.uncaptured,
        "tags": dict(record.tags),
    }
    notes = [f"{name}: {fact}" for name, fact in facts.items() if fact and name != "tags"]
    notes += [f"{key}: {value}" for key, value in record.tags]
    return Report(
        (Table(f"Run {record.id}", outputs),),
        lambda: {**facts, "outputs": outputs.to_pylist()},
        outputs,
        tuple(notes),
    )


def _run_line(run: RunSummary) -> Sequence[object]:
    return (
        run.id,
        run.job,
        run.started.isoformat(timespec="seconds"),
        run.state,
        ", ".join(display(name) for name in run.outputs),
        run.artifact_bytes,
        run.uncaptured,
    )


def _output_line(output: OutputRecord) -> Sequence[object]:
    sizes = [file.size for saved in output.artifacts for file in saved.snapshot.files]
    return (
        display(output.dataset),
        output.mode,
        None if output.rows < 0 else output.rows,
        ", ".join(display(source.dataset) for source in output.inputs),
        _precision(output),
        sum(saved.rows for saved in output.artifacts),
        sum(sizes),
        round(sum(timing.seconds for timing in output.timings), 3),
        output.uncaptured,
    )


def _precision(output: OutputRecord) -> str:
    if output.program is None:
        return "unknown"
    steps = output.program.steps
    return "superset" if any(steps[i].superset for i in output.program.sources) else "exact"
