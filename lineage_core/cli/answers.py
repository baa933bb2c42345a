"""Making a report of an answer: a line for each of its datasets, and rows of those asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from lineage_core.cli.report import Report, Table, table
from lineage_core.datasets import display
from lineage_core.errors import NotFoundError, UncapturedError, UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa

    from lineage_core.query.answer import SourceAnswer
    from lineage_core.query.roles import UsedColumn

_SUMMARY = {"dataset": "string", "rows": "int64", "precision": "string", "reason": "string"}
_COLUMNS = {"dataset": "string", "column": "string", "roles": "string"}


@dataclass(frozen=True, slots=True)
class Shown:
    """What to show of an answer.

    Attributes:
        only: the dataset to show; None shows all.
        limit: rows to show of each dataset; None shows all, 0 none.
        columns: whether to show which columns of each dataset were used.
    """

    only: str | None
    limit: int | None
    columns: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """What is shown of one dataset: its line of the summary, and what else was asked for."""

    dataset: str
    count: int | None
    precision: str
    reason: str
    rows: pa.Table | None
    columns: Sequence[UsedColumn] | None

    @property
    def line(self) -> Mapping[str, Any]:
        values = (self.dataset, self.count, self.precision, self.reason)
        return dict(zip(_SUMMARY, values, strict=True))


def fetch(answers: Sequence[SourceAnswer], shown: Shown) -> list[Part]:
    """Count and read what is to be shown.

    Raises:
        NotFoundError: the only dataset to show is not part of the answer.
    """
    chosen = [answer for answer in answers if is_called(answer.dataset, shown.only)]
    if shown.only is not None and not chosen:
        names = ", ".join(display(answer.dataset) for answer in answers)
        raise NotFoundError(
            f"{shown.only!r} is not part of the answer", hint=f"it is about {names or 'no dataset'}"
        )
    return [_part(answer, shown) for answer in chosen]


def answered(key: str, title: str, found: Sequence[Part]) -> Report:
    """Return the report of an answer; `key` is the list of its datasets in the JSON document."""
    summary = table(_SUMMARY, [tuple(part.line.values()) for part in found])
    more = [Table(f"Rows of {part.dataset}", part.rows) for part in found if part.rows is not None]
    if any(part.columns is not None for part in found):
        more.insert(0, Table("Columns in use", _used(found)))
    flat = summary if not more else more[0].data if len(more) == 1 else None
    document = partial(_document, key, found)
    notes = () if found else ("No dataset: these rows lead to none that a captured run knows.",)
    return Report((Table(title, summary), *more), document, flat, notes)


def is_called(dataset: str, name: str | None) -> bool:
    """Whether `name` means the dataset: its name or the last segments of it; None means any."""
    if name is None or name in (dataset, display(dataset)):
        return True
    return dataset.endswith(f"/{name.strip('/')}")


def _part(answer: SourceAnswer, shown: Shown) -> Part:
    count = _count(answer)
    rows = None
    if shown.limit != 0 and count is not None:
        rows = answer.to_arrow(with_rid=answer.snapshot.has_rids).slice(0, shown.limit)
    columns = answer.columns if shown.columns else None
    name = display(answer.dataset)
    return Part(name, count, answer.precision.value, answer.reason, rows, columns)


def _used(found: Sequence[Part]) -> pa.Table:
    lines = [
        (part.dataset, column.name, ", ".join(column.roles))
        for part in found
        for column in part.columns or ()
    ]
    return table(_COLUMNS, lines)


def _count(answer: SourceAnswer) -> int | None:
    """Return how many rows there are; None where that is part of what is unknown."""
    try:
        return answer.count()
    except (UncapturedError, UnsupportedError):
        if answer.precision.value == "unknown":
            return None
        raise


def _document(key: str, found: Sequence[Part]) -> Mapping[str, Any]:
    lines = [dict(part.line) for part in found]
    for line, part in zip(lines, found, strict=True):
        if part.columns is not None:
            line["columns"] = {column.name: list(column.roles) for column in part.columns}
        if part.rows is not None:
            line["lineage"] = part.rows.to_pylist()
    return {key: lines}
