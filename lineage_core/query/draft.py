"""A SELECT in the making: operators are added to it for as long as one SELECT can hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from lineage_core.query.compile import Sql, balanced
from lineage_core.query.sql import as_, fresh, select

_NO_COLUMN = "one"


@dataclass(frozen=True, slots=True)
class Order:
    """One key of the order of the rows: a column, by id."""

    id: int
    ascending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """The rows of a FROM clause for which `conditions` are true.

    Attributes:
        table: the first relation of the FROM clause.
        columns: the SQL of each column by id, in terms of the FROM clause.
        joins: what follows `table` in the FROM clause.
        conditions: the conjuncts of the WHERE clause.
        order: the order of the rows; its columns are among `columns`. Empty if there is none.
        depth: how deep derived tables nest in the FROM clause.
    """

    table: exp.Table | exp.Subquery
    columns: Mapping[int, Sql]
    joins: tuple[exp.Join, ...] = ()
    conditions: tuple[Sql, ...] = ()
    order: tuple[Order, ...] = ()
    depth: int = 0

    def offers(self, ids: Iterable[int]) -> bool:
        """Whether all columns `ids` are there as they are, without being computed."""
        return all(isinstance(self.columns[id], exp.Column) for id in ids)

    @property
    def is_table(self) -> bool:
        """Whether the rows are those of `table`, and nothing is computed."""
        return not self.joins and not self.conditions and self.offers(self.columns)

    def select(self, columns: Mapping[str, Sql]) -> exp.Select:
        """Return the SELECT of `columns`, by the names they get; of a constant if there are
        none."""
        named = [as_(fresh(column), name) for name, column in columns.items()]
        one = as_(exp.Literal.number(1), _NO_COLUMN)
        query = select(named or [one], fresh(self.table))
        for join in self.joins:
            query.append("joins", fresh(join))
        if self.conditions:
            condition = balanced(exp.And, [fresh(each) for each in self.conditions])
            query = query.where(condition, copy=False)
        return query

    def ordered(self, query: exp.Select) -> exp.Select:
        """Return `query`, a SELECT of this draft, in its order."""
        keys = [
            ordered(fresh(self.columns[key.id]), key.ascending, key.nulls_first)
            for key in self.order
        ]
        return query.order_by(*keys, copy=False) if keys else query


def ordered(sql: Sql, ascending: bool, nulls_first: bool) -> exp.Ordered:
    """Return one key of an ORDER BY clause."""
    return exp.Ordered(this=sql, desc=not ascending, nulls_first=nulls_first)
