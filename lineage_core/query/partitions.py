"""The partition values of a snapshot's files, as constants; never read from paths again."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlglot import exp

from lineage_core.errors import CorruptError, UnsupportedError
from lineage_core.plan.expr import DataType, Literal, Scalar
from lineage_core.query.compile import Dialect, Sql, literal
from lineage_core.query.protocol import FILE, value
from lineage_core.query.types import FLOATS, INTEGERS, canonical, decimal_of
from lineage_core.snapshot import Snapshot


def partitions(snapshot: Snapshot, columns: tuple[int, ...], dialect: Dialect) -> exp.Select:
    """Return, a row per file, its number `file` and those of `columns` that are partition columns.

    Raises:
        UnsupportedError: a column's type has no text form that means the same everywhere.
        CorruptError: a recorded value is not of its column's type.
    """
    first = len(snapshot.columns) - snapshot.partition_columns
    wanted = [column for column in columns if column >= first]
    rows = []
    for number, file in enumerate(snapshot.files):
        if len(file.partition) != snapshot.partition_columns:
            raise CorruptError(f"{file.path} is recorded without its partition values")
        values: list[Sql] = [literal(Literal(number, "long"), dialect)]
        for column in wanted:
            text = file.partition[column - first]
            name, type = snapshot.columns[column].name, snapshot.columns[column].type
            values.append(
                literal(_typed(text, canonical(type), f"{snapshot.dataset}: {name}"), dialect)
            )
        rows.append(exp.Tuple(expressions=values))
    names = [exp.to_identifier(name) for name in (FILE, *(value(column) for column in wanted))]
    alias = exp.TableAlias(this=exp.to_identifier("v"), columns=names)
    return exp.select("*").from_(exp.Values(expressions=rows, alias=alias))


def _typed(text: str | None, type: DataType, what: str) -> Literal:
    try:
        return Literal(None if text is None else _scalar(text, type), type)
    except ValueError:
        raise CorruptError(
            f"partition column {what} has a recorded value that is no {type}"
        ) from None
    except KeyError:
        raise UnsupportedError(
            f"partition column {what} of type {type} cannot be compared"
        ) from None


def _scalar(text: str, type: DataType) -> Scalar:
    if type in INTEGERS:
        return int(text)
    if type in FLOATS:
        return float(text)
    if type == "boolean":
        return _truth(text)
    if type in ("string", "date") or decimal_of(type) is not None:
        return text
    if type == "timestamp_ntz":
        return (datetime.fromisoformat(text) - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    raise KeyError(type)


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"
