"""`row-lineage run`: a plain PySpark script under capture."""

from __future__ import annotations

import sys
import traceback
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_core.cli.history import describe_run
from lineage_core.cli.output import write_tables
from lineage_core.cli.settings import Settings
from lineage_core.errors import LineageError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lineage_core.capture.script import ScriptError
    from lineage_core.capture.session import Capture
    from lineage_core.lineage import LineageStore


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--job", help="Name of the job.  [default: the script's name]")
@click.option(
    "--materialize",
    type=click.Choice(["auto", "inject", "defer", "never"]),
    default="auto",
    show_default=True,
    help="When to save the intermediates that answers need.",
)
@click.option("--index", is_flag=True, help="Build rid indexes of what it writes, in the same run.")
@click.option(
    "--workload",
    multiple=True,
    metavar="SQL",
    help="Build just what this query needs, of which parameters vary. May be repeated.",
)
@click.argument("script", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def run(
    settings: Settings,
    job: str | None,
    materialize: str,
    index: bool,
    workload: tuple[str, ...],
    script: Path,
    arguments: tuple[str, ...],
) -> int:
    """Run a PySpark script as it is, under capture.

    The lineage of what SCRIPT writes is captured. Its standard output stays its own; which run it
    was is said on the standard error. The exit code is the script's.
    """
    try:
        from lineage_core.capture.script import ScriptError, run_script
    except ImportError:
        raise MissingExtraError.of("spark", "running a PySpark script") from None

    store = settings.open(new=True)
    store.catalog.revision()  # what cannot take a run says so before the script has done anything
    name = script.stem if job is None else job

    def begin(spark: SparkSession) -> AbstractContextManager[Capture]:
        return store.capture(
            spark, job=name, materialize=materialize, index=index, workload=workload or None
        )

    captures: list[Capture] = []
    try:
        code = run_script(script, arguments, begin, captures)
    except ScriptError as error:
        _show_script_error(error, script)
        code = 1
    sys.stdout.flush()
    _tell(store, captures)
    return code


def _tell(store: LineageStore, captures: list[Capture]) -> None:
    """Say on the standard error what was captured; the script's own end is not changed by this."""
    if not captures:
        click.echo("Nothing was captured: SparkSession.builder made no session", err=True)
    for capture in captures:
        try:
            found = describe_run(store.run(capture.id))
        except LineageError as error:
            click.echo(f"Run {capture.id} was not captured: {error}", err=True)
        else:
            write_tables(found, sys.stderr)


def _show_script_error(error: ScriptError, script: Path) -> None:
    """Print the traceback that the script would have had by itself."""
    cause = error.__cause__
    assert cause is not None
    trace = cause.__traceback__
    own = str(script)
    while trace is not None and trace.tb_frame.f_code.co_filename != own:
        trace = trace.tb_next
    traceback.print_exception(type(cause), cause, trace)
