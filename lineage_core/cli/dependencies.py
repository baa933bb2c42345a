"""`row-lineage dependencies`: check functional dependencies of a dataset."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_core.cli.output import emit, options, target
from lineage_core.cli.parameters import limit
from lineage_core.cli.report import Report, Table, table
from lineage_core.cli.screen import counted
from lineage_core.cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from lineage_core.profile import Violations

_COLUMNS = {"dependency": "string", "violations": "int64", "rows": "int64"}


@click.command()
@click.argument("dataset")
@click.argument("texts", nargs=-1, required=True, metavar="DEPENDENCY...")
@click.option(
    "--method",
    type=click.Choice(["ug", "cd"]),
    default="ug",
    show_default=True,
    help="Tell the values of each column apart once, or group once for each dependency.",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "duckdb", "spark"]),
    default="auto",
    show_default=True,
    help="What reads the rows.",
)
@click.option(
    "--rows",
    callback=limit,
    metavar="N|all",
    default="0",
    show_default=True,
    help="Show so many of the values that violate each dependency.",
)
@options
@click.pass_obj
def dependencies(
    settings: Settings,
    dataset: str,
    texts: tuple[str, ...],
    method: str,
    engine: str,
    rows: int | None,
    format: str,
    output: Path | None,
) -> None:
    """Which functional dependencies does DATASET violate, and by how many values?

    DATASET is a Parquet file or folder, as it is now. A DEPENDENCY is written 'zip -> city', or
    'zip, street -> city'; other names than words in double quotes.
    """
    to = target(format, output)
    store = settings.open()
    done = count()
    with counted("checking") as advance:
        found = store.dependencies(
            dataset,
            texts,
            method=method,
            engine=engine,
            progress=lambda each: advance(next(done), len(texts), f"checking {each}"),
        )
    emit(_report(dataset, found, rows), to)


def _report(dataset: str, found: Sequence[Violations], rows: int | None) -> Report:
    lines = [(str(each.dependency), each.count, each.graph().num_rows) for each in found]
    summary = table(_COLUMNS, lines)
    values = [each.values().slice(0, rows) for each in found] if rows != 0 else []
    more = [Table(line[0], part) for line, part in zip(lines, values, strict=False)]

    def document() -> Mapping[str, object]:
        return {"dependencies": _document(summary, values)}

    flat = summary if not more else more[0].data if len(more) == 1 else None
    return Report((Table(f"Functional dependencies of {dataset}", summary), *more), document, flat)


def _document(summary: pa.Table, values: Sequence[pa.Table]) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = summary.to_pylist()
    for line, part in zip(lines, values, strict=False):
        line["values"] = part.to_pylist()
    return lines
