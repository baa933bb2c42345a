"""The rows that a call stands for, as a relation for DuckDB.

A dataset may have been used in several states, by several runs. Their rows are united by the names
of the columns; a row of a file that two states share is in the relation once.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lineage_core.datasets import display
from lineage_core.errors import PredicateError, UnsupportedError
from lineage_core.query import sql
from lineage_core.query.answer import Precision, SourceAnswer
from lineage_core.query.columns import find_column
from lineage_core.query.compile import Sql
from lineage_core.query.consuming.columns import RID
from lineage_core.query.consuming.result import least
from lineage_core.query.protocol import value
from lineage_core.query.types import canonical
from lineage_core.snapshot import RID_SHIFT, DataFile, Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """The rows that a call stands for.

    Attributes:
        query: gives them, under the names of the dataset's columns.
        tables: the tables that it names.
        scanned: the snapshots whose files it reads.
        names: all columns that the dataset has, and the pseudo-column.
        has_rid: whether the pseudo-column is one of the query's.
        precision: how the rows relate to the true lineage.
        reasons: why they are not exactly it.
    """

    query: exp.Query
    tables: dict[str, pa.Table]
    scanned: tuple[Snapshot, ...]
    names: tuple[str, ...]
    has_rid: bool
    precision: Precision
    reasons: tuple[str, ...]


def relation(
    states: Sequence[SourceAnswer],
    names: Set[str] | None,
    *,
    with_rid: bool,
    only: pa.Int64Array | None = None,
) -> Relation:
    """Return the rows of one dataset in an answer.

    Args:
        states: the answers about it, at least one.
        names: names of the columns to have, in lower case, or others; all for None.
        with_rid: whether `rid` is one of the names.
        only: rids of the only rows to have, of the one state there is; all by default.

    Raises:
        PredicateError: the states do not have the same columns, or their rows cannot be told
            apart.
        UnsupportedError: no engine can read the rows.
    """
    snapshots = [state.snapshot for state in states]
    _check_columns(snapshots)
    columns = [
        column.name
        for column in snapshots[0].columns
        if names is None or column.name.lower() in names
    ]
    own = {column.name.lower() for column in snapshots[0].columns}
    with_rid = with_rid and RID not in own and snapshots[0].has_rids
    if with_rid and len(states) > 1:
        raise _cannot_unite(snapshots, "rids are of one state")
    _check_case(snapshots[0], columns)
    read = [
        _rows(state, columns, with_rid, rids)
        for state, rids in zip(states, [only] if only is not None else _once(states), strict=True)
    ]
    query, *others = (each[0] for each in read)
    for other in others:
        query = exp.union(query, other, distinct=False, copy=False)
    return Relation(
        query,
        {name: table for _, tables, _ in read for name, table in tables.items()},
        tuple(snapshot for _, _, scanned in read for snapshot in scanned),
        (*(column.name for column in snapshots[0].columns), *([RID] if with_rid else ())),
        with_rid,
        least(state.precision for state in states),
        told(states),
    )


def told(states: Sequence[SourceAnswer]) -> tuple[str, ...]:
    """Return why rows of a dataset are not exactly the lineage, each reason once."""
    reasons = (f"{display(state.dataset)}: {why}" for state in states for why in state.reasons)
    return tuple(dict.fromkeys(reasons))


_Rows: TypeAlias = tuple[exp.Query, dict[str, pa.Table], tuple[Snapshot, ...]]
"""A query, the tables it names, and the snapshots whose files it reads."""


def _rows(
    state: SourceAnswer, columns: Sequence[str], with_rid: bool, rids: pa.Int64Array | None
) -> _Rows:
    """Return the rows of one state: as a scan if DuckDB can read them, else as a table of them."""
    numbers = [find_column(state.snapshot, name) for name in columns]
    try:
        question = state.relation(numbers, with_rid=with_rid, rids=rids)
    except UnsupportedError:
        return _fetched(state, columns, with_rid, rids)
    selected: list[Sql] = [
        sql.as_(exp.column(value(number)), name)
        for number, name in zip(numbers, columns, strict=True)
    ]
    selected += [exp.column(RID)] if with_rid else []
    selected = selected or [_placeholder()]
    query = sql.select(selected, sql.named(question.query, "rows"))
    return query, question.tables, (state.snapshot,)


def _fetched(
    state: SourceAnswer, columns: Sequence[str], with_rid: bool, rids: pa.Int64Array | None
) -> _Rows:
    wanted = list(columns) or [column.name for column in state.snapshot.columns[:1]]
    table = state.to_arrow(wanted, with_rid=with_rid or rids is not None)
    if rids is not None:
        table = table.filter(pc.is_in(table.column(RID), value_set=rids))
    name = f"rows_{uuid4().hex}"
    selected: list[Sql] = [exp.column(column, quoted=True) for column in columns]
    selected += [exp.column(RID)] if with_rid else []
    return sql.select(selected or [_placeholder()], sql.table(name)), {name: table}, ()


def _placeholder() -> Sql:
    """Return a column for a relation of which none is used."""
    return sql.as_(exp.Literal.number(1), f"none_{uuid4().hex}")


def _once(states: Sequence[SourceAnswer]) -> list[pa.Int64Array | None]:
    """Return, of several states, the rids of each that are no row of a state before."""
    if len(states) == 1:
        return [None]
    if not all(state.snapshot.has_rids for state in states):
        paths = [file.path for state in states for file in state.snapshot.files]
        if len(set(paths)) < len(paths):
            raise _cannot_unite([state.snapshot for state in states], "its rows have no ids")
        return [None] * len(states)
    seen: dict[DataFile, np.ndarray[Any, np.dtype[np.int64]]] = {}
    return [_unseen(state, seen) for state in states]


def _unseen(
    state: SourceAnswer, seen: dict[DataFile, np.ndarray[Any, np.dtype[np.int64]]]
) -> pa.Int64Array:
    rids = state.rids().to_numpy()
    kept = []
    for number in np.unique(rids >> RID_SHIFT).tolist():
        file = replace(state.snapshot.files[number], modified=0)
        mine = rids[rids >> RID_SHIFT == number] - (number << RID_SHIFT)
        before = seen.get(file, np.empty(0, np.int64))
        kept.append(np.setdiff1d(mine, before, assume_unique=True) + (number << RID_SHIFT))
        seen[file] = np.union1d(before, mine)
    return pa.array(np.sort(np.concatenate(kept)) if kept else [], pa.int64())


def _check_columns(snapshots: Sequence[Snapshot]) -> None:
    shapes = {
        frozenset((column.name.lower(), canonical(column.type)) for column in snapshot.columns)
        for snapshot in snapshots
    }
    if len(shapes) > 1:
        raise _cannot_unite(snapshots, "their columns differ")


def _check_case(snapshot: Snapshot, columns: Sequence[str]) -> None:
    if len({name.lower() for name in columns}) < len(columns):
        raise PredicateError(
            f"{display(snapshot.dataset)} has columns that differ in case only",
            hint="SQL cannot tell them apart; name others, and not *",
        )


def _cannot_unite(snapshots: Sequence[Snapshot], why: str) -> PredicateError:
    return PredicateError(
        f"{display(snapshots[0].dataset)} was used in {len(snapshots)} states, and {why}",
        hint="ask about one run: run => 'its id'",
    )
