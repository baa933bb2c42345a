"""Evaluate a lineage program: each question about it is one chain of joins (DESIGN 4.3).

`reached` keeps the rows of a path's last step only (semi-joins), `pairs` the rids of both its ends
(joins). The rows of a computed step are found first, by `found`, and the path goes on from them:
they are computed once for all that hangs from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

from lineage_core.plan.relation import Scan
from lineage_core.query import sql
from lineage_core.query.chain import ORIGIN, PRIOR, SCANNED, Chain, Path, alias, scanned, star
from lineage_core.query.compile import Sql
from lineage_core.query.plans import compile_plan
from lineage_core.query.protocol import Engine, Given, value
from lineage_core.query.relations import Computed

RID = "rid"
OUT_RID = "out_rid"
IN_RID = "in_rid"

_COMPUTED = "computed"
"""Relation of a query: the rows of a computed step, as far as the rows it is for need them."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A query, and the tables it names besides the engine's own."""

    query: exp.Select
    tables: dict[str, Given]


def reached(path: Path, engine: Engine, columns: tuple[int, ...], *, rids: bool) -> Question:
    """Return the rows of the path's last step, each once: its `rid` if asked, then `columns`."""
    last = path.steps[-1]
    chain = Chain(path, engine, {last} if rids else set())
    chain.needed[last].update(columns)
    query = chain.start()
    for before, step in pairwise(path.steps):
        source = sql.select([star(step)], chain.scan(step))
        query = sql.join(source, sql.named(query, alias(before)), chain.link(before, step), "semi")
        query = sql.where(query, chain.alone(step))
    wanted: list[Sql] = [sql.as_(chain.rid(last), RID)] if rids else []
    wanted += [exp.column(value(column), table=alias(last)) for column in columns]
    return Question(sql.select(wanted, sql.named(query, alias(last))), chain.tables)


def pairs(path: Path, engine: Engine) -> Question:
    """Return the distinct pairs (`out_rid`, `in_rid`) of the relation between the path's ends."""
    first, last = path.steps[0], path.steps[-1]
    names = (OUT_RID, IN_RID) if path.goes_down else (IN_RID, OUT_RID)
    chain = Chain(path, engine, {first, last})
    ends = zip((first, last), names, strict=True)
    rids = [sql.as_(chain.rid(end), name) for end, name in ends]
    query = chain.joined(path.steps, rids)
    if not chain.pairs_once():
        query = query.distinct(copy=False)
    return Question(query, chain.tables)


def found(path: Path, engine: Engine, *, origin: bool) -> Question:
    """Return the rows of the path's last step, which is computed: its columns, as `k<i>`.

    With `origin`, each with the rid of the row of the path's first step that it was found for.
    """
    first, before, last = path.steps[0], path.steps[-2], path.steps[-1]
    chain = Chain(path, engine, {first} if origin else set())
    columns = range(len(path.relations.program.steps[last].columns))
    chain.needed[last].update(columns)
    prior: list[Sql] = [sql.as_(chain.rid(first), ORIGIN)] if origin else []
    prior += chain.kept(before)
    wanted: list[Sql] = [exp.column(ORIGIN, table=alias(before))] if origin else []
    wanted += [exp.column(value(column), table=alias(last)) for column in columns]
    query = sql.select(wanted, sql.table(PRIOR, alias(before)))
    rows = sql.table(_COMPUTED, alias(last))
    query = sql.join(query, rows, chain.link(before, last), "inner")
    query = sql.where(query, chain.alone(last)).distinct(copy=False)
    start, computed = chain.joined(path.steps[:-1], prior), chain.computed(last)
    query = query.with_(PRIOR, as_=start, copy=False)
    once = engine.dialect.materializes
    query = query.with_(_COMPUTED, as_=computed, materialized=once or None, copy=False)
    return Question(query, chain.tables)


def counted(question: Question) -> Question:
    """Return the question how many rows `question` has."""
    rows = sql.named(question.query, "counted")
    return Question(sql.select([exp.Count(this=exp.Star())], rows), question.tables)


def computed_query(computed: Computed, engine: Engine) -> exp.Select:
    """Return the rows of a plan over whole scans; a column is called `column_name` of its id."""

    def leaf(scan: Scan) -> exp.Select:
        snapshot, ordinals = computed.scans[scan.at], computed.ordinals[scan.at]
        base = engine.scan(snapshot, tuple(sorted(set(ordinals.values()))), rids=False)
        return sql.select(scanned(scan, ordinals), sql.named(base, SCANNED))

    return compile_plan(computed.plan, leaf, engine.dialect)
