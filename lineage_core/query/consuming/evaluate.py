"""Evaluate a lineage-consuming query: its relations are scans, cut down to the rows of answers.

DuckDB runs the query over the files of the snapshots, each semi-joined with the rids that the
lineage question gave: it skips row groups and columns as in any query. Rows that have no rids, or
that DuckDB does not read as Spark does, are fetched and put in as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from lineage_core.datasets import display
from lineage_core.errors import PredicateError
from lineage_core.index.record import Direction
from lineage_core.query.answer import Answer, SourceAnswer
from lineage_core.query.columns import close_matches
from lineage_core.query.consuming.call import Asked, filled
from lineage_core.query.consuming.columns import RID, used, without_rid
from lineage_core.query.consuming.prepared import prepare
from lineage_core.query.consuming.relation import Relation, relation, told
from lineage_core.query.consuming.result import Result, result
from lineage_core.query.consuming.text import Consuming
from lineage_core.snapshot import Snapshot

Ask = Callable[[Asked], Answer]
"""Asks a lineage question."""

_UNKNOWN_COLUMN = re.compile(
    r'Referenced column "(.*?)" not found|does not have a column named "(.*?)"'
    r'|Column "(.*?)" in EXCLUDE list not found|column "(.*?)" does not exist'
)


def evaluate(query: Consuming, given: Mapping[str, Any] | Sequence[Any], ask: Ask) -> Result:
    """Return the rows of a query.

    Args:
        given: values of the parameters: by name, or in order of `$1`, `$2`, ...
        ask: asks a lineage question.

    Raises:
        PredicateError: a parameter has no value, a value no parameter, or the query does not fit
            the columns it reads.
        ChangedError: a file that the rows are read from is not what it was.
    """
    values = _values(query, given)
    wanted = used(query.tree)
    found: dict[str, Relation] = {}
    for name, call in query.calls.items():
        columns = None if name in wanted.whole else wanted.names
        states = _answered(filled(call, values), ask)
        ready = prepare(query, states, lambda tree, tables: _run(tree, tables, (), values, ()))
        table = ready.table() if ready is not None else None
        if table is not None:
            (state,) = states
            return result(table, [state.precision], told(states))
        only = ready.rids() if ready is not None else None
        found[name] = relation(states, columns, with_rid=RID in wanted.names, only=only)
    tree = query.tree.copy()
    without_rid(tree, {name for name, each in found.items() if each.has_rid})
    _define(tree, {name: each.query for name, each in found.items()})
    read = list(found.values())
    reasons = [reason for each in read for reason in each.reasons]
    tables = {name: table for each in read for name, table in each.tables.items()}
    snapshots = [snapshot for each in read for snapshot in each.scanned]
    names = [name for each in read for name in each.names]
    rows = _run(tree, tables, snapshots, values, names)
    return result(rows, [each.precision for each in read], reasons)


def _values(query: Consuming, given: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    if isinstance(given, Mapping):
        values = {str(name): value for name, value in given.items()}
    elif isinstance(given, str | bytes):
        raise PredicateError("parameters are a list or a dict", hint="parameters=[value]")
    else:
        values = {str(number): value for number, value in enumerate(given, 1)}
    missing = [name for name in query.parameters if name not in values]
    if missing:
        raise PredicateError(
            f"the query has no value for its parameter {', '.join(f'${name}' for name in missing)}",
            hint="parameters={'name': value} for $name, parameters=[value, ...] for $1 and ?",
        )
    unused = [name for name in values if name not in query.parameters]
    if unused:
        has = ", ".join(f"${name}" for name in query.parameters) or "none"
        raise PredicateError(
            f"the query has no parameter {', '.join(f'${name}' for name in unused)}",
            hint=f"its parameters: {has}",
        )
    return values


def _answered(asked: Asked, ask: Ask) -> tuple[SourceAnswer, ...]:
    answer, going = ask(asked), asked.direction
    found = answer.sources if going is Direction.BACKWARD else answer.outputs
    if asked.other is not None:
        found = answer.states(asked.other)
    names = sorted({display(each.dataset) for each in found})
    if len(names) == 1:
        return found
    what = f"{len(names)} datasets" if names else "no dataset"
    called = f" called {asked.other!r}" if asked.other is not None else ""
    raise PredicateError(
        f"{going}({asked.dataset!r}, ...) leads to {what}{called}",
        hint=f"name one as the second argument: {', '.join(names)}"
        if names
        else "row-lineage runs shows what was read and written",
    )


def _define(tree: exp.Query, queries: Mapping[str, exp.Query]) -> None:
    """Say in a query what the relations that stand for its calls are."""
    with_ = tree.args.get("with_") or exp.With()
    # Not computed as they stand: what the query asks of them is pushed down into the scans.
    defined = [
        exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)), materialized=False)
        for name, query in queries.items()
    ]
    with_.set("expressions", [*defined, *with_.expressions])
    if with_.expressions:
        tree.set("with_", with_)


def _run(
    tree: exp.Query,
    tables: Mapping[str, pa.Table],
    snapshots: Sequence[Snapshot],
    values: Mapping[str, Any],
    columns: Sequence[str],
) -> pa.Table:
    """Return the rows of a query over tables and the files of snapshots.

    Args:
        values: the parameters' values, of which it may use some.
        columns: names of all columns that it could mean, for messages.
    """
    from lineage_core.query.engines.duckdb_confined import Refusal, run

    names: dict[str, str] = {}
    for node in tree.find_all(exp.Placeholder):
        node.set("this", names.setdefault(node.name, f"p{len(names)}"))
    bound = {short: values[name] for name, short in names.items()}
    try:
        return run(tree, tables, snapshots, bound)
    except Refusal as refusal:
        raise _refused(refusal.kind, refusal.message, tree, columns, values) from None


def _refused(
    kind: str, message: str, tree: exp.Query, columns: Sequence[str], values: Mapping[str, Any]
) -> PredicateError:
    found = _UNKNOWN_COLUMN.search(message)
    if found is not None:
        name = next(group for group in found.groups() if group is not None)
        hint = close_matches(name, sorted(set(columns))) if columns else ""
        return PredicateError(f"the query's relations have no column {name!r}", hint=hint)
    secrets = [node.name for node in tree.find_all(exp.Literal) if node.is_string]
    secrets += [value for value in values.values() if isinstance(value, str)]
    told = message and not any(secret in message for secret in secrets if secret)
    return PredicateError(
        f"DuckDB cannot evaluate the query ({kind}{f': {message}' if told else ''})",
        hint="mind the types of its columns and parameters, and the SQL of DuckDB",
    )
