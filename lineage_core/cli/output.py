"""How commands answer: a table for people, JSON, CSV or Parquet for programs.

What a command found is a `Report`. Values of rows come from users' data, so they are printed as
text only, never as terminal codes or markup.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from lineage_core.errors import UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

_WIDTH = 10_000
"""Columns where no terminal says how many it has: enough for a row to stay one line, for `grep`."""


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


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title."""

    title: str
    data: pa.Table


@dataclass(frozen=True, slots=True)
class Report:
    """What a command found.

    Attributes:
        tables: what people see.
        document: makes the JSON document; its values are those that Arrow gives.
        flat: the one table that CSV and Parquet hold; None when it takes several.
        notes: lines that people see below the tables.
    """

    tables: tuple[Table, ...]
    document: Callable[[], Mapping[str, Any]]
    flat: pa.Table | None
    notes: tuple[str, ...] = ()


def report(key: str, title: str, data: pa.Table) -> Report:
    """Return the report that is one table, `key` in the JSON document."""
    return Report((Table(title, data),), lambda: {key: data.to_pylist()}, data)


def table(columns: Mapping[str, str], rows: Sequence[Sequence[object]]) -> pa.Table:
    """Return rows as an Arrow table; `columns` maps names to Arrow types (`string`, `int64`)."""
    import pyarrow as pa

    values = zip(*rows, strict=True) if rows else ([] for _ in columns)
    arrays = [
        pa.array(list(column), pa.type_for_alias(kind))
        for column, kind in zip(values, columns.values(), strict=True)
    ]
    return pa.table(arrays, names=list(columns))


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
            text = json.dumps(_plain(found.document()), indent=2, ensure_ascii=False)
            with _opened(to.path) as file:
                file.write(f"{text}\n")
        case Format.TABLE:
            with _opened(to.path) as file:
                write_tables(found, file)


def progress(doing: str) -> AbstractContextManager[object]:
    """Return a context manager that shows on a terminal that something goes on."""
    return console(sys.stderr).status(doing)


@contextmanager
def counted(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Show on a terminal how far something is, as told by calls with what is done and the total."""
    from rich.progress import Progress

    with Progress(console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def console(file: IO[str]) -> Console:
    """Return a console on `file` that cuts nothing off, and takes no text for markup."""
    from rich.console import Console

    width = None if file.isatty() else _WIDTH
    return Console(file=file, width=width, markup=False, emoji=False, highlight=False)


def _flat(found: Report, format: Format) -> pa.Table:
    if found.flat is None:
        raise UnsupportedError(
            f"rows of {len(found.tables) - 1} datasets do not fit one {format} table",
            hint="choose one of them with --only DATASET, or take --format json",
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
            writer.writerow([_text(value) for value in row])


def write_tables(found: Report, file: IO[str]) -> None:
    """Write a report for people."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    out = console(file)
    for part in found.tables:
        grid = Grid(title=Text(part.title), title_justify="left", box=SIMPLE_HEAD)
        grid.pad_edge = grid.show_edge = False
        for field in part.data.schema:
            right = str(field.type).startswith(("int", "uint", "float", "double", "decimal"))
            name = Text(_printable(field.name))
            grid.add_column(name, justify="right" if right else "left", overflow="fold")
        for row in part.data.to_pylist():
            grid.add_row(*(Text(_printable(_text(value))) for value in row.values()))
        out.print(grid, end="\n\n")
    for note in found.notes:
        out.print(note, soft_wrap=True)


def _printable(text: str) -> str:
    """Return `text` with what a terminal would obey written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _text(value: object) -> str:
    plain = _plain(value)
    if plain is None:
        return ""
    if isinstance(plain, str):
        return plain
    return json.dumps(plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Return `value` as JSON can hold it."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case bytes():
            return value.hex()
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal() | timedelta():
            return str(value)
    return str(value)
