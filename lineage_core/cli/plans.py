"""`row-lineage explain`: how an output, or SQL that was never run, is traced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_core.cli.answers import is_called
from lineage_core.cli.explain import Explained, explained
from lineage_core.cli.output import emit, options, target
from lineage_core.cli.parameters import assignments
from lineage_core.cli.screen import progress
from lineage_core.cli.settings import Settings
from lineage_core.cli.tasks import TaskName, task_options
from lineage_core.datasets import display
from lineage_core.errors import AmbiguousError, NotFoundError, UncapturedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lineage_core.lineage import LineageStore
    from lineage_core.plan.relation import Plan
    from lineage_core.store.manifest import OutputRecord, RunRecord


@click.command()
@click.argument("subject", metavar="[DATASET_OR_RUN]", required=False)
@click.argument("output_dataset", metavar="[OUTPUT]", required=False)
@click.option("--run", help="Run to explain: its id, or the beginning of it.")
@click.option(
    "--strategy",
    type=click.Choice(["saved", "replay", "iterative"]),
    help="How to do without what was not saved.  [default: saved; replay for a query]",
)
@click.option("--sql", help="A query to explain instead, without running it.")
@click.option(
    "--table",
    "tables",
    callback=assignments,
    metavar="NAME=PATH",
    multiple=True,
    help="A table of the query and its Parquet files; may be repeated.",
)
@task_options
@options
@click.pass_obj
def explain(
    settings: Settings,
    subject: str | None,
    output_dataset: str | None,
    run: str | None,
    strategy: str | None,
    sql: str | None,
    tables: dict[str, str],
    named: TaskName,
    format: str,
    output: Path | None,
) -> None:
    """Show how rows of an output are traced.

    The plan that wrote it, as a tree: beside each source which of its rows are lineage, beside each
    intermediate how it is had, and why there. DATASET_OR_RUN is an output, explained by its newest
    run, or a run and which of its outputs. With --run, or --dag, --task and --logical-date, which
    name a run, the only argument is the output.
    """
    to = target(format, output)
    given = bool(subject or run or named.given)
    if given == (sql is not None) or (tables and sql is None):
        raise click.UsageError(
            "give either DATASET_OR_RUN [OUTPUT], or --sql QUERY with its --table options"
        )
    if output_dataset is not None and (run or named.given):
        raise click.UsageError("the run is named twice; the only argument is the output")
    with progress("explaining"):
        if sql is not None:
            found = _of_query(sql, tables, strategy)
        else:
            store = settings.open()
            if run or named.given:
                subject, output_dataset = named.run(store, run), subject
                chosen, run = _of_run(store, str(subject), output_dataset)
            else:
                chosen, run = _find(store, str(subject), output_dataset)
            found = _of_output(chosen, run, strategy or "saved")
    emit(explained(found), to)


def choose_output(record: RunRecord, name: str | None) -> OutputRecord:
    """Return the output of a run that `name` means; without a name, its only one.

    Raises:
        NotFoundError: the run has no such output.
        AmbiguousError: the run has several, or wrote this one several times.
    """
    names = ", ".join(display(output.dataset) for output in record.outputs) or "nothing"
    found = [o for o in record.outputs if is_called(o.dataset, name)]
    if not found:
        raise NotFoundError(f"run {record.id} has no output {name or ''}", hint=f"it wrote {names}")
    if len(found) > 1:
        hint = f"name one of {names}"
        raise AmbiguousError(f"run {record.id} has {len(found)} such outputs", hint=hint)
    return found[0]


def _find(store: LineageStore, subject: str, name: str | None) -> tuple[OutputRecord, str]:
    """Return what a run wrote, or the newest write of a dataset, and the id of the run."""
    try:
        return _of_run(store, subject, name)
    except NotFoundError as no_run:
        if name is not None:
            raise
        try:
            ref = store.catalog.writer(subject)
        except NotFoundError as no_dataset:
            raise no_dataset from no_run
    return store.run(ref.run_id).outputs[ref.index], ref.run_id


def _of_run(store: LineageStore, run: str, name: str | None) -> tuple[OutputRecord, str]:
    record = store.run(run)
    return choose_output(record, name), record.id


def _of_output(output: OutputRecord, run: str, strategy: str) -> Explained:
    if output.program is None or output.plan is None:
        raise UncapturedError(f"{display(output.dataset)}: {output.uncaptured}")
    if strategy == "saved":
        program, artifacts = output.program, output.artifacts
        return Explained(output.plan, program, strategy, artifacts=artifacts, run=run)
    formats = {number: source.format for number, source in enumerate(output.inputs)}
    return replace(_inferred(output.plan, formats, strategy, output.dataset), run=run)


def _of_query(sql: str, tables: Mapping[str, str], strategy: str | None) -> Explained:
    from lineage_core.capture import read_dataframe
    from lineage_core.capture.statement import query

    if strategy == "saved":
        raise click.UsageError("nothing is saved of a query that was not run; leave out --strategy")
    captured = read_dataframe(query(sql, tables))
    formats = {number: source.format for number, source in enumerate(captured.sources)}
    return _inferred(captured.plan, formats, strategy or "replay", "the query")


def _inferred(plan: Plan, formats: Mapping[int, str], strategy: str, name: str) -> Explained:
    """Return the program that answers of a strategy are evaluated by, where no rows tie."""
    from lineage_core.infer import infer, link
    from lineage_core.plan.ties import decidable, numbering

    if strategy == "iterative":
        program, links = link(plan, infer(plan, ways=(), formats=formats, name=name))
        return Explained(plan, program, strategy, links)
    decided = decidable(plan) | numbering(plan)
    program = infer(plan, formats=formats, decided=decided, name=name)
    return Explained(plan, program, strategy)
