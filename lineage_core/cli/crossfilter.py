"""`row-lineage crossfilter`: what selections in some views of a dataset show in the others."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_core.cli.answers import is_called
from lineage_core.cli.output import emit, options, target
from lineage_core.cli.parameters import limit
from lineage_core.cli.report import Report, Table
from lineage_core.cli.screen import counted
from lineage_core.cli.settings import Settings
from lineage_core.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa


@click.command()
@click.argument("views", nargs=-1, required=True, metavar="VIEW...")
@click.option(
    "--brush",
    "brushes",
    nargs=2,
    multiple=True,
    metavar="VIEW CONDITION",
    help="Select the rows of VIEW for which an SQL condition holds. May be repeated.",
)
@click.option("--source", metavar="DATASET", help="What the views have in common, if several.")
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="COLUMN",
    help="Add up a column of the source, too. May be repeated.",
)
@click.option("--only", metavar="VIEW", help="Show nothing but this view.")
@click.option(
    "--rows",
    callback=limit,
    metavar="N|all",
    default="20",
    show_default=True,
    help="Show so many rows of each view, those that most was selected of first.",
)
@options
@click.pass_obj
def crossfilter(
    settings: Settings,
    views: tuple[str, ...],
    brushes: tuple[tuple[str, str], ...],
    source: str | None,
    measures: tuple[str, ...],
    only: str | None,
    rows: int | None,
    format: str,
    output: Path | None,
) -> None:
    """What do selections in some views of a dataset show in the others?

    Each VIEW is a dataset that a captured run wrote, such as a group-by, and is indexed. `brushed`
    counts the rows of their common source that went into all that is selected in other views.
    """
    to = target(format, output)
    selected = dict(brushes)
    if len(selected) < len(brushes):
        raise click.UsageError("--brush: give one condition a view; join them with AND or OR")
    store = settings.open()
    done = count()
    with counted("unpacking indexes") as advance:
        opened = store.crossfilter(
            views,
            source=source,
            measures=measures,
            progress=lambda name: advance(next(done), len(views), f"unpacking {name}"),
        )
        shown = opened.brush(selected)
    notes = [f"{name} may count too many: {why}" for name, why in _blurred(opened.reasons)]
    emit(_report(_chosen(shown, only), rows, tuple(notes)), to)


def _chosen(shown: Mapping[str, pa.Table], only: str | None) -> Mapping[str, pa.Table]:
    found = {name: table for name, table in shown.items() if is_called(name, only)}
    if not found:
        raise NotFoundError(f"{only!r} is none of the views", hint=f"they are {', '.join(shown)}")
    return found


def _blurred(reasons: Mapping[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(name, "; ".join(why)) for name, why in reasons.items() if why]


def _report(shown: Mapping[str, pa.Table], rows: int | None, notes: tuple[str, ...]) -> Report:
    cut = {
        name: table.sort_by([("brushed", "descending")]).slice(0, rows)
        for name, table in shown.items()
    }
    tables = tuple(Table(name, table) for name, table in cut.items())

    def document() -> Mapping[str, object]:
        return {"views": [{"view": n, "rows": table.to_pylist()} for n, table in cut.items()]}

    return Report(tables, document, tables[0].data if len(tables) == 1 else None, notes)
