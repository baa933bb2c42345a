"""What a command found, before anybody has said how to write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage_core.cli.trees import Forest

if TYPE_CHECKING:
    import pyarrow as pa


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
        trees: what people see above them.
    """

    tables: tuple[Table, ...]
    document: Callable[[], Mapping[str, Any]]
    flat: pa.Table | None
    notes: tuple[str, ...] = ()
    trees: tuple[Forest, ...] = ()


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
