"""`row-lineage backward` and `row-lineage forward`: one question either way, one form of answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from lineage_core.cli.answers import Shown, answered, fetch
from lineage_core.cli.output import Target, emit, options, target
from lineage_core.cli.parameters import limit, moment, rids, rows
from lineage_core.cli.screen import progress
from lineage_core.cli.settings import Settings
from lineage_core.cli.tasks import TaskName, task_options

if TYPE_CHECKING:
    from lineage_core.lineage import LineageStore

_QUESTION = (
    click.option("--where", help="SQL condition on columns of DATASET that selects its rows."),
    click.option("--rids", callback=rids, help="Row ids that select its rows: 3,17."),
    click.option(
        "--row",
        "given",
        multiple=True,
        callback=rows,
        metavar="JSON",
        help='Columns of a row that is selected: {"id": 7}. May be repeated.',
    ),
    click.option("--as-of", callback=moment, help="Ask about the state then (ISO 8601 time)."),
    click.option("--run", help="Run to ask about: its id, or the beginning of it."),
    click.option("--hops", type=click.IntRange(min=1), help="Runs to go through.  [default: all]"),
    click.option(
        "--engine",
        type=click.Choice(["auto", "duckdb", "spark"]),
        default="auto",
        show_default=True,
        help="What evaluates the question.",
    ),
    click.option(
        "--strategy",
        type=click.Choice(["auto", "saved", "iterative", "replay", "index"]),
        default="auto",
        show_default=True,
        help="How to do without what was not saved.",
    ),
    click.option("--only", metavar="DATASET", help="Show nothing but this part of the answer."),
    click.option(
        "--rows",
        callback=limit,
        metavar="N|all",
        default="0",
        show_default=True,
        help="Show so many rows of every dataset of the answer.",
    ),
)


def _question(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """Give a command the options of a question; each comes as the parameter of its name."""
    command = task_options(options(command))
    for option in reversed(_QUESTION):
        command = option(command)
    return command


@click.command()
@click.argument("dataset")
@_question
@click.option(
    "--columns", is_flag=True, help="Show which columns of its sources were used, and how."
)
@click.pass_obj
def backward(settings: Settings, /, dataset: str, **parameters: Any) -> None:
    """Which rows of its sources produced these rows of DATASET?"""
    store, to, shown, arguments = _split(settings, parameters)
    with progress("asking where the rows came from"):
        answer = store.backward(dataset, **arguments)
        found = fetch(answer.sources, shown)
    emit(answered("sources", f"Where rows of {dataset} came from", found), to)


@click.command()
@click.argument("dataset")
@_question
@click.pass_obj
def forward(settings: Settings, /, dataset: str, **parameters: Any) -> None:
    """Which rows of outputs did these rows of DATASET influence?"""
    store, to, shown, arguments = _split(settings, parameters)
    with progress("asking what the rows influenced"):
        answer = store.forward(dataset, **arguments)
        found = fetch(answer.outputs, shown)
    emit(answered("outputs", f"What rows of {dataset} influenced", found), to)


@click.command()
@click.argument("dataset")
@click.argument("to")
@_question
@click.pass_obj
def linked(settings: Settings, /, dataset: str, to: str, **parameters: Any) -> None:
    """Which rows of TO share source rows with these rows of DATASET?"""
    store, to_where, shown, arguments = _split(settings, parameters)
    with progress("asking what shares source rows"):
        answer = store.linked(dataset, to, **arguments)
        found = fetch(answer.outputs, shown)
    emit(answered("outputs", f"What rows of {dataset} share sources with", found), to_where)


def _split(
    settings: Settings, parameters: dict[str, Any]
) -> tuple[LineageStore, Target, Shown, Mapping[str, Any]]:
    """Return the store, where to answer, what to show, and what to ask."""
    to = target(parameters.pop("format"), parameters.pop("output"))
    columns = parameters.pop("columns", False)
    shown = Shown(parameters.pop("only"), parameters.pop("rows"), columns)
    parameters["rows"] = parameters.pop("given")
    named: TaskName = parameters.pop("named")
    store = settings.open()
    parameters["run"] = named.run(store, parameters["run"])
    return store, to, shown, parameters
