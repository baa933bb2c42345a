"""Pairs of rids that rode along with the rows of a captured write (Smoke's *inject*).

What was saved is the written rows, each with the rids it was made of. A row of the output is told
by its values, as everywhere; so output rows that are equal share their lineage, as the program has
it. The rids have codes in place of file numbers (`execute.rids`).
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lineage_core.datasets import canonical
from lineage_core.errors import UnsupportedError
from lineage_core.plan.expr import Anchor, Column, conj, same
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import rid_id
from lineage_core.query import sql
from lineage_core.query.chain import Chain, Path
from lineage_core.query.columns import find_column
from lineage_core.query.compile import Sql, call
from lineage_core.query.evaluate import IN_RID, OUT_RID, Question
from lineage_core.query.protocol import Engine, value
from lineage_core.query.reader import Reader
from lineage_core.query.relations import Relations, bind
from lineage_core.query.selection import EVERYTHING
from lineage_core.query.spool import Spooled
from lineage_core.snapshot import RID_SHIFT, Snapshot
from lineage_core.store.carried import Carried
from lineage_core.store.filesystem import ArtifactStore
from lineage_core.store.manifest import OutputRecord

_ROWS, _CODES, _CODE, _FILE = "carried", "codes", "code", "file"


def relations_of(carried: Carried, output: OutputRecord, store: ArtifactStore) -> Relations:
    """Return a program that relates the output, step 0, to what was carried along, step 1."""
    assert output.program is not None
    columns = carried.columns
    row = conj(same(Column(f.id, f.type), Anchor(f.id, f.type)) for f in columns)
    saved = Step(StepKind.SAVED, 0, row, columns, 0, "the written rows")
    program = LineageProgram((output.program.target, saved))
    artifact = replace(carried.artifact, step=1)
    return bind(replace(output, artifacts=(artifact,)), store.uri, program)


def check(relations: Relations, rows: int, saved: int, reader: Reader) -> None:
    """Raise `UnsupportedError` unless every written row is one of those carried, and vice versa.

    Files may hold other values than were written: times cut to what a format can hold.
    """
    for steps, expected in (((0, 1), saved), ((1, 0), rows)):
        if reader.count(Path(relations, steps, EVERYTHING)) != expected:
            raise UnsupportedError("the files do not hold the rows as they were written")


def pairs_of(
    carried: Carried, relations: Relations, at: int, source: Snapshot, reader: Reader
) -> Spooled:
    """Return the pairs of the output and the rows that the scan at `at` read of `source`.

    Raises:
        UnsupportedError: it has files that are not known to have been read.
    """
    number = {canonical(file.path): i for i, file in enumerate(source.files)}
    if len(number) < len(source.files):
        raise UnsupportedError("a file was read twice, and what was carried does not tell as which")
    codes = {code: number[path] for code, path in carried.files[at].items() if path in number}
    path = Path(relations, (0, 1), EVERYTHING)
    table = pa.table(
        {
            _CODE: pa.array(codes.keys(), pa.int64()),
            _FILE: pa.array(codes.values(), pa.int64()),
        }
    )
    found = reader.put_aside(path, lambda engine: _question(path, at, table, engine))
    if found.dataset().count_rows(filter=pc.field(IN_RID).is_null()):
        raise UnsupportedError("rows were read of files that are none of the source's")
    return found


def _question(path: Path, at: int, codes: pa.Table, engine: Engine) -> Question:
    chain = Chain(path, engine, {0})
    snapshot = path.relations.snapshots[1]
    name = f"c{rid_id(at)}"
    column = find_column(snapshot, name)
    chain.needed[1].add(column)
    several = snapshot.columns[column].type != "long"
    rid: Sql = exp.column(value(column), table="s1")
    if several:
        rid = call("unnest" if engine.dialect.engine == "duckdb" else "explode", rid)
    rows = chain.joined((0, 1), [sql.as_(chain.rid(0), OUT_RID), sql.as_(rid, IN_RID)])
    return Question(_decoded(rows), chain.tables | {_CODES: codes})


def _decoded(rows: exp.Select) -> exp.Select:
    """Return pairs with the numbers of files in place of their codes; null where there is none."""
    out, rid = (exp.column(name, table=_ROWS) for name in (OUT_RID, IN_RID))
    shift = exp.Literal.number(1 << RID_SHIFT)
    code = exp.IntDiv(this=rid, expression=shift)
    place = exp.Mod(this=rid.copy(), expression=shift.copy())
    file = exp.Mul(this=exp.column(_FILE, table=_CODES), expression=shift.copy())
    columns = [sql.as_(out, OUT_RID), sql.as_(exp.Add(this=file, expression=place), IN_RID)]
    query = sql.select(columns, sql.named(rows, _ROWS))
    on = exp.EQ(this=exp.column(_CODE, table=_CODES), expression=code)
    query = sql.join(query, sql.table(_CODES, _CODES), on, "left")
    return sql.where(query, [exp.not_(exp.Is(this=rid.copy(), expression=exp.null()))])
