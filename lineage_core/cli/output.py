"""How commands answer: a table for people, JSON, CSV or Parquet for programs.

What a command found is a `Report`. Its values come from users' data, so they are printed as text
only, never as terminal codes or markup.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from lineage_core.cli.report import Report
from lineage_core.cli.screen import console
from lineage_core.cli.trees import draw
from lineage_core.cli.values import plain, printable, text
from lineage_core.errors import UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa


class Format(StrEnum):
    """How to write a report."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class Target:
    """Where and how to write a report; `path` None is the standard output."""

    format: Format
    path: Path | None


def options(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """Give a command the options `--format` and `--output`, as parameters `format` and `output`."""
    command = click.option(
        "--output",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        help="Write to this file instead of the standard output.",
    )(command)
    return click.option(
        "--format",
        type=click.Choice([format.value for format in Format]),
        default=Format.TABLE.value,
        show_default=True,
        help="How to write the answer; parquet needs --output.",
    )(command)


def target(format: str, output: Path | None) -> Target:
    """Return the target that the two options mean; raise `click.UsageError` when they mean none."""
    if format == Format.PARQUET and output is None:
        raise click.UsageError("--format parquet needs --output FILE")
    return Target(Format(format), output)


def emit(found: Report, to: Target) -> None:
    """Write a report.

    Raises:
        UnsupportedError: a format of one table was asked for, and the report takes several.
    """
    match to.format:
        case Format.PARQUET:
            import pyarrow.parquet as pq

            pq.write_table(_flat(found, to.format), to.path)
        case Format.CSV:
            flat = _flat(found, to.format)
            with _opened(to.path) as file:
                _write_csv(flat, file)
        case Format.JSON:
            document = json.dumps(plain(found.document()), indent=2, ensure_ascii=False)
            with _opened(to.path) as file:
                file.write(f"{document}\n")
        case Format.TABLE:
            with _opened(to.path) as file:
                write_tables(found, file)


def _flat(found: Report, format: Format) -> pa.Table:
    if found.flat is None:
        raise UnsupportedError(
            f"{len(found.tables) - 1} tables do not fit one {format} file",
            hint="ask for one of them, with --only DATASET for rows, or take --format json",
        )
    return found.flat


@contextmanager
def _opened(path: Path | None) -> Iterator[IO[str]]:
    if path is None:
        yield sys.stdout
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        yield file


def _write_csv(data: pa.Table, file: IO[str]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(data.column_names)
    for batch in data.to_batches():
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            writer.writerow([text(value) for value in row])


def write_tables(found: Report, file: IO[str]) -> None:
    """Write a report for people."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    out = console(file)
    for forest in found.trees:
        out.print(Text(printable(forest.title), style="italic"), end="\n\n", soft_wrap=True)
        for tree in forest.trees:
            out.print(draw(tree))
            out.print()
    for part in found.tables:
        grid = Grid(title=Text(part.title), title_justify="left", box=SIMPLE_HEAD)
        grid.pad_edge = grid.show_edge = False
        for field in part.data.schema:
            right = str(field.type).startswith(("int", "uint", "float", "double", "decimal"))
            name = Text(printable(field.name))
            grid.add_column(name, justify="right" if right else "left", overflow="fold")
        for row in part.data.to_pylist():
            grid.add_row(*(Text(printable(text(value))) for value in row.values()))
        out.print(grid, end="\n\n")
    for note in found.notes:
        out.print(note, soft_wrap=True)
