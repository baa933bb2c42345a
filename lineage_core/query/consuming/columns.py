"""Which columns of its lineage relations a query uses.

Any name in the text that a column has counts as a use of it: too many are no harm, as DuckDB reads
none that it does not need. A relation in a SELECT with a star is used whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

RID = "rid"


@dataclass(frozen=True, slots=True)
class Used:
    """The names that a query contains, in lower case, and the relations that it uses whole."""

    names: frozenset[str]
    whole: frozenset[str]


def used(tree: exp.Query) -> Used:
    """Return what a query uses of the relations it names."""
    names = frozenset(node.name.lower() for node in tree.find_all(exp.Identifier))
    whole: set[str] = set()
    for select in tree.find_all(exp.Select):
        starred = _has_star(select)
        alone = {column.name.lower() for column in select.find_all(exp.Column)}
        for table in relations(select):
            renamed = table.args["alias"].args.get("columns")
            if starred or renamed or table.alias.lower() in alone:
                whole.add(table.name)
    return Used(names, frozenset(whole))


def relations(select: exp.Select) -> Iterator[exp.Table]:
    """Return the relations that a SELECT reads itself, not in a subquery."""
    for table in select.find_all(exp.Table):
        if table.find_ancestor(exp.Select) is select:
            yield table


def without_rid(tree: exp.Query, numbered: set[str]) -> None:
    """Leave the pseudo-column `rid` of the relations `numbered` out of the stars of a query."""
    for select in tree.find_all(exp.Select):
        having = [table.alias for table in relations(select) if table.name in numbered]
        for star in list(select.find_all(exp.Star)):
            if star.find_ancestor(exp.Select) is select and not isinstance(star.parent, exp.Count):
                _exclude(star, having)


def _exclude(star: exp.Star, aliases: list[str]) -> None:
    left_out: list[exp.Expr] = list(star.args.get("except_") or [])
    if isinstance(star.parent, exp.Column):
        table = star.parent.table.lower()
        if table in (alias.lower() for alias in aliases):
            left_out.append(exp.to_identifier(RID, quoted=True))
    else:
        left_out += [exp.column(RID, table=alias, quoted=True) for alias in aliases]
    star.set("except_", left_out)


def _has_star(select: exp.Select) -> bool:
    natural = any(join.method == "NATURAL" for join in select.args.get("joins") or ())
    return natural or any(
        star.find_ancestor(exp.Select) is select and not isinstance(star.parent, exp.Count)
        for star in select.find_all(exp.Star)
    )
