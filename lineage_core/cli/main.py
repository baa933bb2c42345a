"""The command group, and how a command ends.

Exit codes: 0 the answer is there; 1 something broke, or the doctor found something; 2 what was
asked cannot be answered, which one message on the standard error explains.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

from lineage_core.cli.ask import backward, forward, linked
from lineage_core.cli.backfill import backfill
from lineage_core.cli.capture import run
from lineage_core.cli.crossfilter import crossfilter
from lineage_core.cli.dependencies import dependencies
from lineage_core.cli.health import doctor
from lineage_core.cli.history import catalog, runs, show
from lineage_core.cli.indexes import index
from lineage_core.cli.plans import explain
from lineage_core.cli.query import query
from lineage_core.cli.settings import Settings
from lineage_core.errors import LineageError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--store",
    envvar="ROW_LINEAGE_STORE",
    show_envvar=True,
    default="lineage",
    show_default=True,
    help="Path or URL of the store.",
)
@click.option(
    "--catalog",
    envvar="ROW_LINEAGE_CATALOG",
    show_envvar=True,
    help="SQLAlchemy URL of the catalog; without it, the one inside the store.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="airflow-provider-row-lineage", prog_name="row-lineage")
@click.pass_context
def cli(context: click.Context, store: str, catalog: str | None, debug: bool) -> None:
    """Ask which source rows produced an output row, and what a source row influenced."""
    context.obj = Settings(store, catalog)


_COMMANDS = (
    *(run, backfill, index, runs, show, explain),
    *(backward, forward, linked, query, crossfilter, dependencies),
    *(doctor, catalog),
)

for _command in _COMMANDS:
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(_exit_code(list(sys.argv[1:] if arguments is None else arguments)))


def _exit_code(arguments: list[str]) -> int:
    try:
        with cli.make_context("row-lineage", arguments) as context:
            code = _invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except BrokenPipeError:
        # The reader (`head`) has had enough; the interpreter must not flush again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _invoke(context: click.Context) -> int:
    try:
        code = cli.invoke(context)
        return code if isinstance(code, int) else 0
    except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        return 130
    except LineageError as error:
        return _complain(context, error, str(error), 2)
    except Exception as error:
        message = f"{_summary(error)}\nHint: row-lineage --debug ... shows where"
        return _complain(context, error, message, 1)


def _complain(context: click.Context, error: Exception, message: str, code: int) -> int:
    if context.params["debug"]:
        traceback.print_exception(error)
    click.echo(f"Error: {message}", err=True)
    return code


def _summary(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
