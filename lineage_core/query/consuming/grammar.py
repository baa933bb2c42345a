"""What a query may consist of: an allow-list, held against what the engine's own parser reads.

The text that is run is spelled by sqlglot and parsed by DuckDB, and only the second says what it
does. So DuckDB's syntax tree is looked at, and every node, function and relation of it has to be
known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import Any

from sqlglot import exp

from lineage_core.errors import PredicateError
from lineage_core.query.consuming.functions import FUNCTIONS

_NODES = re.compile(
    "SELECT_NODE|SET_OPERATION_NODE|CTE_NODE|STATEMENT_NODE"
    "|(ORDER|LIMIT|LIMIT_PERCENT|DISTINCT)_MODIFIER|ORDER_DEFAULT|ASCENDING|DESCENDING"
    "|BASE_TABLE|SUBQUERY|JOIN|EMPTY|EXPRESSION_LIST"
    "|COLUMN_REF|POSITIONAL_REFERENCE|STAR|VALUE_CONSTANT|VALUE_PARAMETER|FUNCTION|LAMBDA|TYPE"
    "|CASE_EXPR|WINDOW_[A-Z_]+|COMPARE_[A-Z_]+|CONJUNCTION_(AND|OR)"
    "|OPERATOR_(CAST|NOT|IS_NULL|IS_NOT_NULL|NULLIF|COALESCE|TRY)|ARRAY_(EXTRACT|SLICE|CONSTRUCTOR)"
    "|STRUCT_EXTRACT|GROUPING_FUNCTION|ARROW|COLLATE|INNER|LEFT|RIGHT|OUTER|SEMI|ANTI"
    "|ORDER_(ASCENDING|DESCENDING)"
)
"""Values of `type` in DuckDB's syntax tree."""

_CLOCK = {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}
"""What DuckDB takes for the clock where it finds no such column."""


def confirm(tree: exp.Query, relations: Set[str]) -> None:
    """Raise unless a query reads `relations` alone and calls only what `FUNCTIONS` has.

    Raises:
        PredicateError: it does not, or DuckDB does not parse it as one SELECT.
    """
    from lineage_core.query.engines.duckdb_confined import syntax

    found = syntax(tree)
    if found.get("error") or len(found.get("statements", ())) != 1:
        raise PredicateError(
            "the query is not one SELECT that DuckDB can parse", hint="mind the syntax of DuckDB"
        )
    for node in _nodes(found):
        _check(node, relations)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending += node.values()
        elif isinstance(node, list):
            pending += node


def _check(node: dict[str, Any], relations: Set[str]) -> None:
    kind = node.get("type")
    function = node.get("function_name")
    table = node.get("table_name")
    if function is not None and (function.lower() not in FUNCTIONS or _is_qualified(node)):
        raise PredicateError(
            f"a query cannot call {function}(...)",
            hint="functions of values, groups and windows are allowed; give others' as parameters",
        )
    if table is not None and (table not in relations or _is_qualified(node)):
        raise PredicateError(
            f"a query cannot read {table}", hint="read backward(...), forward(...)"
        )
    names = [name.lower() for name in node.get("column_names") or ()]
    if len(names) == 1 and names[0] in _CLOCK:
        raise PredicateError(
            f"a query cannot read the clock ({names[0]})", hint="give a time as a parameter"
        )
    if node.get("sample") or node.get("at_clause"):
        raise PredicateError("a sample is not allowed in a query", hint="read all rows")
    if isinstance(kind, str) and not _NODES.fullmatch(kind):
        what = kind.replace("_", " ").lower()
        raise PredicateError(f"{what} is not allowed in a query", hint="ask one plain SELECT")


def _is_qualified(node: dict[str, Any]) -> bool:
    return any(
        node.get(key) for key in ("schema", "schema_name", "catalog", "catalog_name", "database")
    )
