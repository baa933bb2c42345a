"""`row-lineage backfill`: a past pipeline as a run, without executing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_core.cli.history import describe_run
from lineage_core.cli.output import Format, Target, emit
from lineage_core.cli.parameters import assignments, moment
from lineage_core.cli.screen import progress
from lineage_core.cli.settings import Settings
from lineage_core.errors import LineageError, MissingExtraError, NotFoundError, PredicateError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMATS = [Format.TABLE.value, Format.JSON.value, Format.CSV.value]


@click.command()
@click.argument("function", metavar="[MODULE:FUNCTION]", required=False)
@click.option("--job", required=True, help="Name of the job.")
@click.option(
    "--sql",
    "script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the query that gave the output, instead of a function.",
)
@click.option(
    "--source",
    "tables",
    callback=assignments,
    metavar="NAME=PATH",
    multiple=True,
    help="A table of the query and its Parquet files; may be repeated.",
)
@click.option("--output", metavar="PATH", help="Folder of what the query gave.")
@click.option(
    "--at", callback=moment, help="When it was (ISO 8601 time).  [default: the output's files']"
)
@click.option(
    "--tag",
    "tags",
    callback=assignments,
    metavar="KEY=VALUE",
    multiple=True,
    help="A fact to find the run by; may be repeated.",
)
@click.option("--run-id", help="UUID of the run.  [default: a new one]")
@click.option(
    "--sources-unchanged",
    is_flag=True,
    help="The sources are what they were, although their files are younger than the output.",
)
@click.option(
    "--format",
    type=click.Choice(_FORMATS),
    default=Format.TABLE.value,
    show_default=True,
    help="How to write which run was recorded.",
)
@click.pass_obj
def backfill(
    settings: Settings,
    function: str | None,
    job: str,
    script: Path | None,
    tables: dict[str, str],
    output: str | None,
    at: datetime | None,
    tags: dict[str, str],
    run_id: str | None,
    sources_unchanged: bool,
    format: str,
) -> None:
    """Record a past pipeline as a run, without executing it.

    What it wrote has to be there still, and its sources as they were. The query is either SQL, with
    its tables, or a Python function: it takes a SparkSession and returns a DataFrame, or a dict of
    output path to DataFrame, and writes nothing.
    """
    _check(function, script, tables, output)
    with progress("recording"):
        spark = _session()
        if script is not None:
            outputs = _of_sql(spark, script, tables, str(output))
        else:
            outputs = _of_function(spark, str(function), output)
        done = settings.open(new=True).backfill(
            spark,
            job=job,
            outputs=outputs,
            at=at,
            tags=tags,
            run_id=run_id,
            sources_unchanged=sources_unchanged,
        )
    emit(describe_run(done), Target(Format(format), None))


def _check(
    function: str | None, script: Path | None, tables: dict[str, str], output: str | None
) -> None:
    if (function is None) == (script is None):
        raise click.UsageError("give either MODULE:FUNCTION, or --sql FILE")
    if script is not None and output is None:
        raise click.UsageError("--sql needs the --output that the query gave")
    if script is None and tables:
        raise click.UsageError("--source names tables of --sql; a function reads its own")


def _session() -> SparkSession:
    try:
        from lineage_core.capture.statement import session
    except ImportError:
        raise MissingExtraError.of("spark", "recording a past pipeline") from None
    return session()


def _of_sql(
    spark: SparkSession, script: Path, tables: Mapping[str, str], output: str
) -> dict[str, DataFrame | str]:
    from lineage_core.capture.statement import name

    sql = _text(script)
    name(spark, tables)
    return {output: sql}


def _text(script: Path) -> str:
    try:
        return script.read_text(encoding="utf-8-sig")  # Spark reads no byte order mark
    except UnicodeDecodeError as error:
        raise PredicateError(
            f"the file {script} is not UTF-8 text: byte {error.start + 1} of it is not",
            hint="save the query in UTF-8",
        ) from None


def _of_function(
    spark: SparkSession, function: str, output: str | None
) -> dict[str, DataFrame | str]:
    from lineage_core.capture.backfill import call

    given = call(_load(function), spark)
    if isinstance(given, Mapping):
        if output is not None:
            raise click.UsageError("the function names its outputs itself; leave out --output")
        return dict(given)
    if output is None:
        raise click.UsageError("the function gives one DataFrame; give its --output")
    return {output: given}


def _load(text: str) -> Callable[..., object]:
    module, _, name = text.partition(":")
    sys.path.insert(0, "")  # as `python -m` does: modules of the working directory
    try:
        found: object = getattr(import_module(module), name)
    except LineageError:
        raise
    except (ImportError, AttributeError, ValueError) as error:
        raise NotFoundError(
            f"there is no function {text!r}: {error}",
            hint="name a module that can be imported from here and its function: jobs.daily:build",
        ) from error
    finally:
        sys.path.remove("")
    if not callable(found):
        raise NotFoundError(f"{text!r} is not a function", hint="give MODULE:FUNCTION")
    return found
