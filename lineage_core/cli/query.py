"""`row-lineage query`: a SELECT over the rows of lineage answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from lineage_core.cli.output import emit, options, target
from lineage_core.cli.parameters import assignments
from lineage_core.cli.report import report
from lineage_core.cli.screen import progress
from lineage_core.cli.settings import Settings


@click.command()
@click.argument("sql")
@click.option(
    "--param",
    "parameters",
    multiple=True,
    callback=assignments,
    metavar="NAME=VALUE",
    help="Value of $NAME in SQL: a JSON value, or else text. May be repeated.",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "duckdb", "spark"]),
    default="auto",
    show_default=True,
    help="What evaluates the lineage questions in it.",
)
@options
@click.pass_obj
def query(
    settings: Settings,
    sql: str,
    parameters: dict[str, str],
    engine: str,
    format: str,
    output: Path | None,
) -> None:
    """Select from rows that other rows came from, or went into.

    SQL is one SELECT of DuckDB's; it reads backward('OUTPUT', 'SOURCE', where => '...') and
    forward('SOURCE', 'OUTPUT', ...). --param 1=... gives the value of the first ?.
    """
    to = target(format, output)
    store = settings.open()
    given = {name: _value(text) for name, text in parameters.items()}
    with progress("asking what the query reads"):
        found = store.query(sql, given, engine=engine)
    told = f"Precision: {found.precision}" + (f" ({found.reason})" if found.reasons else "")
    written = report("rows", "Rows", found.to_arrow())

    def document() -> dict[str, Any]:
        exactness = {"precision": found.precision.value, "reasons": list(found.reasons)}
        return {**exactness, **written.document()}

    emit(replace(written, document=document, notes=(told,)), to)


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
