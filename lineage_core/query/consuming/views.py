"""Views of an index: of some of the rows, partitioned by their values, or added up (Smoke 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from lineage_core.query import sql
from lineage_core.query.chain import Path
from lineage_core.query.columns import find_column
from lineage_core.query.consuming.columns import RID
from lineage_core.query.consuming.workload import sql_of
from lineage_core.query.engines.duckdb import DuckDBEngine
from lineage_core.query.evaluate import Question
from lineage_core.query.protocol import Given, value
from lineage_core.query.reader import Reader
from lineage_core.query.relations import Relations
from lineage_core.query.selection import EVERYTHING
from lineage_core.snapshot import Snapshot

NUMBER, KEY = "number", "key"
"""Columns of views: of the values of partitions, their number; of sums, the row looked up."""

_ROWS, _PAIRS, _VALUES, _GIVEN = "rows", "pairs", "partitions", "given"


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """Evaluates views of the pairs of rows looked up (`k`) and rows found (`v`).

    Attributes:
        engine: evaluates them.
        reader: reads the rows that are found.
        relations: what they are a step of.
        step: that step.
        pairs: the pairs, and the names of the columns that are `k` and `v`.
    """

    engine: DuckDBEngine
    reader: Reader
    relations: Relations
    step: int
    pairs: tuple[Given, str, str]

    @property
    def _snapshot(self) -> Snapshot:
        return self.relations.snapshots[self.step]

    def values(self, where: Sequence[exp.Expr], by: Sequence[exp.Expr]) -> pa.Table:
        """Return the values of the expressions `by`, as `v<i>`, with their `number`."""
        question, resolved = self._rows([*where, *by])
        columns = [sql.as_(resolved[e].copy(), f"v{i}") for i, e in enumerate(_texts(by))]
        names = [column.alias for column in columns]
        spelled = self._spelled(question, resolved, by)
        columns += [sql.as_(column.copy(), f"t{i}") for i, column in enumerate(spelled)]
        query = sql.select(columns, sql.named(question.query, _ROWS)).distinct(copy=False)
        query = _holding(query, where, resolved)
        order = _nulls_first(column.alias for column in columns)
        table = self.engine.run(query.order_by(*order), question.tables).select(names)
        return table.append_column(NUMBER, pa.array(range(len(table)), pa.int64()))

    def partitioned(
        self, where: Sequence[exp.Expr], by: Sequence[exp.Expr], values: pa.Table | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield, in order, each pair: `k`, the number of the values of `by` if any, `v`."""
        if not (where or by):
            query = self._pairs(distinct=False).order_by(exp.column("k"), exp.column("v"))
            return self.engine.stream(query, {_GIVEN: self.pairs[0]})
        question, resolved = self._rows([*where, *by])
        names = ["k", "v"] if values is None else ["k", "n", "v"]
        columns = [sql.as_(exp.column("k", table=_PAIRS), "k")]
        if values is not None:
            columns.append(sql.as_(exp.column(NUMBER, table=_VALUES), "n"))
        columns.append(sql.as_(exp.column("v", table=_PAIRS), "v"))
        query = self._joined(columns, question, distinct=False)
        if values is not None:
            places = {text: exp.column(f"v{i}", table=_VALUES) for i, text in enumerate(_texts(by))}
            mine = [resolved[text].copy() for text in places]
            mine += self._spelled(question, resolved, by)
            theirs: list[exp.Expr] = [place.copy() for place in places.values()]
            theirs += self._spelled(question, resolved, by, places)
            same = [
                exp.NullSafeEQ(this=one, expression=other)
                for one, other in zip(mine, theirs, strict=True)
            ]
            on = exp.and_(*same, copy=False)
            query = sql.join(query, sql.table(_VALUES, _VALUES), on, "inner")
        query = _holding(query, where, resolved)
        tables = self._tables(question) | ({_VALUES: values} if values is not None else {})
        return self.engine.stream(query.order_by(*map(exp.column, names)), tables)

    def sums(
        self, where: Sequence[exp.Expr], by: Sequence[exp.Expr], of: Sequence[exp.Expr]
    ) -> Iterator[pa.RecordBatch]:
        """Yield, in order, aggregates by row looked up and group: `key`, `d<i>`, `a<i>`."""
        question, resolved = self._rows([*where, *by, *of])
        columns = [sql.as_(exp.column("k", table=_PAIRS), KEY)]
        columns += [sql.as_(resolved[text].copy(), f"d{i}") for i, text in enumerate(_texts(by))]
        keys = [exp.column(column.alias) for column in columns]
        columns += [sql.as_(resolved[text].copy(), f"a{i}") for i, text in enumerate(_texts(of))]
        query = self._joined(columns, question, distinct=True)
        query = _holding(query, where, resolved)
        spelled = self._spelled(question, resolved, by)
        groups = [exp.Literal.number(i + 1) for i in range(len(keys))]
        query = query.group_by(*groups, *spelled, copy=False)
        order = [*_nulls_first(key.name for key in keys), *(each.copy() for each in spelled)]
        return self.engine.stream(query.order_by(*order), self._tables(question))

    def disjoint(self, where: Sequence[exp.Expr]) -> bool:
        """Whether no row was found for two rows looked up."""
        question, resolved = self._rows(where)
        found = exp.column("v", table=_PAIRS)
        distinct = exp.Count(this=exp.Distinct(expressions=[found]))
        once = exp.EQ(this=exp.Count(this=exp.Star()), expression=distinct)
        query = self._joined([sql.as_(once, "once")], question, distinct=True)
        query = _holding(query, where, resolved)
        return bool(self.engine.run(query, self._tables(question)).column(0)[0].as_py())

    def _spelled(
        self,
        question: Question,
        resolved: Mapping[str, exp.Expr],
        by: Sequence[exp.Expr],
        given: Mapping[str, exp.Expr] | None = None,
    ) -> list[exp.Expr]:
        """Return the texts of the expressions `by` of which equal values may differ: -0.0 and 0.0.

        Args:
            given: what the expressions stand in, by their texts; by default they are computed.
        """
        texts = _texts(by)
        columns = [sql.as_(resolved[text].copy(), f"v{i}") for i, text in enumerate(texts)]
        if not columns:
            return []
        query = sql.select(columns, sql.named(question.query.copy(), _ROWS)).limit(0, copy=False)
        types = self.engine.run(query, question.tables).schema.types
        found = given or resolved
        return [
            exp.cast(found[text].copy(), "VARCHAR")
            for text, type in zip(texts, types, strict=True)
            if _is_loose(type) or resolved[text].find(exp.Collate)
        ]

    def _rows(self, trees: Sequence[exp.Expr]) -> tuple[Question, Mapping[str, exp.Expr]]:
        """Return the rows that are found, and expressions over them, by their texts."""
        own = {column.name.lower() for column in self._snapshot.columns}
        names = {column.name for tree in trees for column in tree.find_all(exp.Column)}
        stored = names if RID in own else names - {RID}
        places = {name: find_column(self._snapshot, name) for name in stored}

        def resolve(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column):
                return node
            name = value(places[node.name]) if node.name in places else RID
            return exp.column(name, table=_ROWS)

        path = Path(self.relations, (self.step,), EVERYTHING)
        question = self.reader.relation(path, tuple(sorted(set(places.values()))), rids=True)
        return question, {tree.sql("duckdb"): tree.copy().transform(resolve) for tree in trees}

    def _joined(
        self, columns: Sequence[exp.Expr], question: Question, *, distinct: bool
    ) -> exp.Select:
        query = sql.select(list(columns), sql.named(self._pairs(distinct=distinct), _PAIRS))
        rid = exp.column(RID, table=_ROWS)
        on = exp.EQ(this=exp.column("v", table=_PAIRS), expression=rid)
        return sql.join(query, sql.named(question.query, _ROWS), on, "inner")

    def _pairs(self, *, distinct: bool) -> exp.Select:
        """Return the pairs `k`, `v`, none of them null."""
        ends = [exp.column(name, table=_GIVEN) for name in self.pairs[1:]]
        columns = [
            sql.as_(exp.cast(end, "BIGINT"), name) for end, name in zip(ends, "kv", strict=True)
        ]
        query = sql.select(columns, sql.table(_GIVEN, _GIVEN))
        null = [exp.Is(this=end.copy(), expression=exp.null()) for end in ends]
        query = sql.where(query, map(exp.not_, null))
        return query.distinct(copy=False) if distinct else query

    def _tables(self, question: Question) -> dict[str, Given]:
        return question.tables | {_GIVEN: self.pairs[0]}


def _is_loose(type: pa.DataType) -> bool:
    """Whether values of a type may be equal and yet not the same."""
    tests = (pa.types.is_floating, pa.types.is_interval, pa.types.is_nested)
    return any(test(type) for test in tests)


def _holding(
    query: exp.Select, where: Sequence[exp.Expr], resolved: Mapping[str, exp.Expr]
) -> exp.Select:
    return sql.where(query, [exp.paren(resolved[text].copy()) for text in _texts(where)])


def _nulls_first(names: Iterable[str]) -> list[exp.Expr]:
    return [exp.Ordered(this=exp.column(name), nulls_first=True) for name in names]


def _texts(trees: Sequence[exp.Expr]) -> tuple[str, ...]:
    return sql_of(trees)
