"""`row-lineage explain`: the lineage program of an output, or of SQL that was never run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_core.cli.answers import is_called
from lineage_core.cli.expressions import describe
from lineage_core.cli.output import emit, options, target
from lineage_core.cli.parameters import assignments
from lineage_core.cli.report import Report, report, table
from lineage_core.cli.screen import progress
from lineage_core.cli.settings import Settings
from lineage_core.cli.tasks import TaskName, task_options
from lineage_core.datasets import display
from lineage_core.errors import AmbiguousError, NotFoundError, UncapturedError
from lineage_core.plan.program import StepKind

if TYPE_CHECKING:
    from lineage_core.plan.program import LineageProgram, Step
    from lineage_core.store.manifest import OutputRecord, RunRecord

_COLUMNS = {
    "step": "int64",
    "kind": "string",
    "name": "string",
    "anchor": "int64",
    "rows": "string",
    "precision": "string",
    "reason": "string",
}


@click.command()
@click.argument("run", required=False)
@click.argument("output_dataset", metavar="[OUTPUT]", required=False)
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
    run: str | None,
    output_dataset: str | None,
    sql: str | None,
    tables: dict[str, str],
    named: TaskName,
    format: str,
    output: Path | None,
) -> None:
    """Show how rows of an output are traced.

    That is the lineage program of what RUN wrote to OUTPUT, or would be that of a query. Each step
    is a dataset or saved intermediate; its rows are those that satisfy a condition together with a
    row of an earlier step, its anchor. With --dag, --task and --logical-date, which name a run,
    the only argument is OUTPUT.
    """
    to = target(format, output)
    if named.given and sql is None and output_dataset is None:
        run, output_dataset = None, run
    if bool(run or named.given) == (sql is not None) or (tables and sql is None):
        raise click.UsageError("give either RUN [OUTPUT], or --sql QUERY with its --table options")
    with progress("explaining"):
        if sql is not None:
            found = _report(_of_query(settings, sql, tables), "the query")
        else:
            store = settings.open()
            chosen = choose_output(store.run(str(named.run(store, run))), output_dataset)
            if chosen.program is None:
                raise UncapturedError(f"{display(chosen.dataset)}: {chosen.uncaptured}")
            found = _report(chosen.program, display(chosen.dataset))
    emit(found, to)


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


def _of_query(settings: Settings, sql: str, tables: dict[str, str]) -> LineageProgram:
    from lineage_core.capture.statement import query

    return settings.open(new=True).explain(query(sql, tables))


def _report(program: LineageProgram, name: str) -> Report:
    rows = [_line(program.steps, number) for number in range(len(program.steps))]
    return report("steps", f"How rows of {name} are traced", table(_COLUMNS, rows))


def _line(steps: Sequence[Step], number: int) -> tuple[object, ...]:
    step = steps[number]
    anchor = {} if step.anchor < 0 else {f.id: f.name for f in steps[step.anchor].columns}
    rows = describe(step.predicate, {f.id: f.name for f in step.columns}, anchor)
    return (
        number,
        step.kind.value,
        step.name if step.kind is StepKind.SAVED else display(step.name),
        None if step.anchor < 0 else step.anchor,
        "the rows asked about" if step.anchor < 0 else rows,
        "superset" if step.superset else "exact",
        "; ".join(step.superset),
    )
