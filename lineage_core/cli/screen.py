"""Consoles, and what they show while something goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 10_000
"""Columns where no terminal says how many it has: enough for a row to stay one line, for `grep`."""


def progress(doing: str) -> AbstractContextManager[object]:
    """Return a context manager that shows on a terminal that something goes on."""
    return console(sys.stderr).status(doing)


@contextmanager
def following(doing: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what goes on, which calls with a text change."""
    with console(sys.stderr).status(doing) as status:
        yield status.update


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
