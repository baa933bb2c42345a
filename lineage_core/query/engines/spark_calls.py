"""Spark's own aggregate and window functions and generators, as Spark SQL.

A sum over part of the rows may overflow where that over all did not; `try_` makes it null.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import AggregateCall, Expr, WindowCall
from lineage_core.plan.functions import AGGREGATES, GENERATORS, POSITION, WINDOWS
from lineage_core.plan.relation import Generate, place
from lineage_core.query.compile import Clause, GroupFunction, Sql, call

_TRY = {"sum": "try_sum", "avg": "try_avg"}


def _function(name: str) -> GroupFunction:
    def build(expr: AggregateCall | WindowCall, args: Sequence[Sql], clause: Clause) -> Sql:
        given = [exp.Distinct(expressions=list(args))] if expr.distinct else args
        bare: Sql = call(name, *given)
        if isinstance(expr, WindowCall) and expr.ignore_nulls:
            bare = exp.IgnoreNulls(this=bare)
        return clause(bare)

    return build


AGGREGATE_FUNCTIONS = {name: _function(_TRY.get(name, name)) for name in AGGREGATES}

WINDOW_FUNCTIONS = {name: _function(name) for name in WINDOWS - {POSITION}}
WINDOW_FUNCTIONS[POSITION] = lambda expr, _, clause: _function("row_number")(expr, (), clause)


def distance(_: Expr, sql: Sql) -> Sql:
    """Return an order key as it is: Spark counts distances of each type."""
    return sql


def generate(
    node: Generate, args: Sequence[Sql], kept: exp.Select, made: Sequence[str]
) -> exp.Query:
    """Return the rows of `node`, by LATERAL VIEW."""
    name = getattr(node.generator, "name", "")
    if name not in GENERATORS:
        raise UnsupportedError(f"{place(node)} makes rows in a way that cannot be computed again")
    columns = [exp.to_identifier(column, quoted=True) for column in made]
    lateral = exp.Lateral(
        this=call(name, *args),
        view=True,
        outer=node.outer,
        alias=exp.TableAlias(this=exp.to_identifier("made"), columns=columns),
    )
    query = kept.select(*(exp.column(column, table="made") for column in made), copy=False)
    query.append("laterals", lateral)
    return query
