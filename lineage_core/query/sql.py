"""Builders of SQL trees; sqlglot's own copy what they are given, and parse every name.

A tree given to a builder belongs to what it returns, and must not be used again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from sqlglot import exp

from lineage_core.query.compile import Sql, balanced

T = TypeVar("T", bound=exp.Expr)


def fresh(expr: T) -> T:
    """Return a tree that is part of no other: itself if it is free, else a copy."""
    return expr if expr.parent is None else expr.copy()


def select(columns: Sequence[Sql], source: exp.Expr) -> exp.Select:
    """Return the query of `columns` of a relation; of a constant if there are none."""
    expressions = list(columns) or [exp.Literal.number(1)]
    return exp.Select(expressions=expressions, from_=exp.From(this=source))


def table(name: str, alias: str = "") -> exp.Table:
    """Return a relation by its name."""
    found = exp.Table(this=exp.to_identifier(name, quoted=True))
    if alias:
        found.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return found


def named(query: exp.Query, name: str) -> exp.Subquery:
    """Return a query as a relation called `name`."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)))


def as_(expr: Sql, name: str) -> exp.Alias:
    """Return a column called `name`."""
    return exp.Alias(this=expr, alias=exp.to_identifier(name, quoted=True))


def join(query: exp.Select, other: exp.Expr, on: Sql, kind: str) -> exp.Select:
    """Return `query` joined with a relation in the manner of `kind` (`inner`, `semi`)."""
    query.append("joins", exp.Join(this=other, on=on, kind=kind.upper()))
    return query


def where(query: exp.Select, conditions: Iterable[Sql]) -> exp.Select:
    """Return the rows of `query` for which all conditions hold."""
    found = list(conditions)
    return query.where(balanced(exp.And, found), copy=False) if found else query
