"""Consoles, and what they show while something goes on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 10_000
"""Columns where no terminal says how many it has: enough for a row to stay one line, for `grep`."""


def progress(doing: str) -> AbstractContextManager[object]:
    """Return a context manager that shows on a terminal that something goes on."""
    return console(sys.stderr).status(doing)


class Advance(Protocol):
    """Tells how far something is."""

    def __call__(self, done: int, total: int | None, doing: str | None = None) -> None:
        """Show what is done of a total, None where that is not known; and what goes on now."""


@contextmanager
def counted(doing: str) -> Iterator[Advance]:
    """Show on a terminal how far something is, as told by calls."""
    from rich.progress import Progress

    with Progress(console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task(doing, total=None)

        def advance(done: int, total: int | None, doing: str | None = None) -> None:
            bar.update(task, completed=done, total=total, description=doing)

        yield advance


def console(file: IO[str]) -> Console:
    """Return a console on `file` that cuts nothing off, and takes no text for markup."""
    from rich.console import Console

    width = None if file.isatty() else _WIDTH
    return Console(file=file, width=width, markup=False, emoji=False, highlight=False)
