"""The errors of row lineage: each says what happened, to which object, and what to do next.

One root, few classes. Each also inherits the built-in a caller would expect, and is composed from
data by a class method, so that messages stay uniform and tests can match on attributes instead of
text.
"""

from __future__ import annotations


class LineageError(Exception):
    """Root of everything raised on purpose by this project.

    Args:
        what: what happened, and to which object.
        hint: what to do next; shown on a line of its own.
    """

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(f"{what}\nHint: {hint}" if hint else what)
        self.what = what
        self.hint = hint


class NotFoundError(LineageError, LookupError):
    """A dataset, run, output, column or artifact that was asked for does not exist."""


class AmbiguousError(LineageError, LookupError):
    """A name or reference matches more than one run, output or dataset."""


class ChangedError(LineageError, RuntimeError):
    """A snapshot's file was changed, truncated or removed since it was recorded."""


class UnsupportedError(LineageError, NotImplementedError):
    """An operator, type, format or expression that this version refuses to guess at."""


class PredicateError(LineageError, ValueError):
    """A `where` that does not parse, names an unknown column or uses something not allowed."""


class UncapturedError(LineageError, RuntimeError):
    """The run that wrote a dataset is known, but its lineage was not captured; says why."""


class CorruptError(LineageError, ValueError):
    """A manifest, program or artifact in the store has not the form or digest it must have."""


class MissingExtraError(LineageError, ImportError):
    """An optional dependency is not installed; the hint is the command that installs it."""

    @classmethod
    def of(cls, extra: str, purpose: str) -> MissingExtraError:
        return cls(
            f"{purpose} needs the optional extra {extra!r}",
            hint=f"pip install 'airflow-provider-row-lineage[{extra}]'",
        )
