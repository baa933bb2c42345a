"""`row-lineage doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from lineage_core.cli.output import Format, emit, options, target
from lineage_core.cli.report import report, table
from lineage_core.cli.screen import progress
from lineage_core.cli.settings import Settings

_MARKS = {"ok": "ok", "warning": "warning", "failed": "FAILED"}


@click.command()
@click.option("--deep", is_flag=True, help="Also start Spark and run a Python UDF.")
@options
@click.pass_obj
def doctor(settings: Settings, deep: bool, format: str, output: Path | None) -> int:
    """Check that all is fit for use: ok, or what to do.

    Looks at Java, PySpark and its workers, native libraries, store, catalog and OpenLineage
    transport. The exit code is 0 when nothing failed, else 1.
    """
    from lineage_core.doctor import Subject, Verdict, examine

    to = target(format, output)
    with progress("examining"):
        checks = list(examine(Subject(settings.store, settings.catalog, deep)))
    if to.format is Format.TABLE and to.path is None:
        for check in checks:
            advice = f" -> {check.advice}" if check.advice else ""
            click.echo(f"{_MARKS[check.verdict]:8}{check.name:12}{check.found}{advice}")
    else:
        columns = dict.fromkeys(("name", "verdict", "found", "advice"), "string")
        rows = [(c.name, c.verdict.value, c.found, c.advice) for c in checks]
        emit(report("checks", "Checks", table(columns, rows)), to)
    return int(any(check.verdict is Verdict.FAILED for check in checks))
