"""Small datasets and programs of the query tests, answered by Python loops over Python values."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path as LocalPath
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lineage_core as lc
from lineage_core.plan.expr import (
    TRUE,
    Anchor,
    And,
    Column,
    Compare,
    Comparison,
    Expr,
    IsNull,
    Literal,
    Not,
    conj,
    same,
)
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import Field
from lineage_core.query.engines.choice import Engines
from lineage_core.query.relations import Relations, bind
from lineage_core.snapshot import RID_SHIFT, ColumnType, Snapshot, take
from lineage_core.store.manifest import (
    Artifact,
    Materialize,
    OutputRecord,
    RunRecord,
    RunState,
)
from tests.query.truth import row_value, truth

Row = Mapping[str, Any]

ARROW = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(15,2)": pa.decimal128(15, 2),
    "decimal(38,6)": pa.decimal128(38, 6),
}


@dataclass(frozen=True)
class Table:
    """A dataset as written: its snapshot, and its rows by rid."""

    snapshot: Snapshot
    rows: Mapping[int, Row]


@dataclass(frozen=True)
class Lake:
    """Writes datasets below a folder."""

    root: LocalPath

    def write(
        self,
        name: str,
        columns: Mapping[str, str],
        files: Sequence[Sequence[Sequence[Any]]],
        *,
        partitions: Sequence[tuple[str | None, ...]] = (),
        partition_columns: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Table:
        """Write a dataset of one file per element of `files`, each a list of rows."""
        folder = self.root / name
        paths = []
        rows: dict[int, Row] = {}
        extra = dict(partition_columns or {})
        for number, content in enumerate(files):
            values = partitions[number] if partitions else ()
            parts = [f"{k}={quote(str(v), safe='')}" for k, v in zip(extra, values, strict=True)]
            path = folder.joinpath(*parts) / f"part-{number:03}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            arrays = [
                pa.array([row[i] for row in content], ARROW[type])
                for i, type in enumerate(columns.values())
            ]
            pq.write_table(pa.table(arrays, names=list(columns)), path, **options)
            paths.append((path.as_uri(), tuple(values)))
        types = [ColumnType(n, t) for n, t in {**columns, **extra}.items()]
        snapshot = take(folder.as_uri(), "parquet", types, paths, partition_columns=len(extra))
        order_of = {file.path: i for i, file in enumerate(snapshot.files)}
        for (path_uri, values), content in zip(paths, files, strict=True):
            for index, row in enumerate(content):
                typed = [
                    row_value(_scalar(text, type), type)
                    for text, type in zip(values, extra.values(), strict=True)
                ]
                whole = dict(zip([*columns, *extra], [*row, *typed], strict=True))
                rows[order_of[path_uri] << RID_SHIFT | index] = whole
        return Table(snapshot, rows)


def _scalar(text: str | None, type: str) -> Any:
    if text is None:
        return None
    return int(text) if type in ("integer", "long") else text


@pytest.fixture
def lake(tmp_path: LocalPath) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture(scope="session")
def lake_at() -> Callable[[LocalPath], Lake]:
    return Lake


@pytest.fixture(scope="session")
def oracle() -> Callable[[Expr, Mapping[int, Any], Mapping[int, Any]], Any]:
    return truth


@pytest.fixture(scope="session")
def engines() -> Engines:
    return Engines()


@dataclass(frozen=True)
class Built:
    """A program over tables, with the oracle's answers."""

    program: LineageProgram
    tables: tuple[Table, ...]
    relations: Relations

    def pairs(self, leaf: int) -> set[tuple[int, int]]:
        """Return the lineage relation of a source by nested loops."""
        found = {(rid, rid) for rid in self.tables[0].rows}
        for parent, step in zip(
            self.program.chain(leaf), self.program.chain(leaf)[1:], strict=False
        ):
            found = {
                (out, rid)
                for out, via in found
                for rid in self.tables[step].rows
                if self._holds(step, rid, parent, via)
            }
        return found

    def _holds(self, step: int, rid: int, parent: int, via: int) -> bool:
        row, anchor = self._row(step, rid), self._row(parent, via)
        return truth(self.program.steps[step].predicate, row, anchor) is True

    def _row(self, step: int, rid: int) -> dict[int, Any]:
        saved = self.program.steps[step].kind is StepKind.SAVED
        row = self.tables[step].rows[rid]
        lower = {name.lower(): value for name, value in row.items()}
        return {
            f.id: lower[f"c{f.id}" if saved else f.name.lower()]
            for f in self.program.steps[step].columns
        }


Build = Callable[[Sequence[Step], Sequence[Table]], Built]


def built(steps: Sequence[Step], tables: Sequence[Table]) -> Built:
    program = LineageProgram(tuple(steps))
    output = record(program, tables)
    return Built(program, tuple(tables), bind(output, lambda path: path))


def record(program: LineageProgram, tables: Sequence[Table]) -> OutputRecord:
    """Return the record of a write with `program`; each step stands for its table."""
    pairs = list(zip(program.steps, tables, strict=True))
    count = max((step.source for step in program.steps), default=-1) + 1
    inputs = {step.source: t.snapshot for step, t in pairs if step.kind is StepKind.SOURCE}
    artifacts = tuple(
        Artifact(number, table.snapshot, len(table.rows), Materialize.INJECT)
        for number, (step, table) in enumerate(pairs)
        if step.kind is StepKind.SAVED
    )
    return OutputRecord(
        dataset=tables[0].snapshot.dataset,
        mode="overwrite",
        snapshot=tables[0].snapshot,
        plan=None,
        program=program,
        inputs=tuple(inputs[i] for i in range(count)),
        artifacts=artifacts,
        analyzed="",
        optimized="",
        rows=len(tables[0].rows),
        timings=(),
    )


@pytest.fixture
def build() -> Build:
    return built


def commit(
    store: lc.LineageStore, *outputs: OutputRecord, uncaptured: str = "", minute: int = 0
) -> str:
    """Commit a run with `outputs`; runs of a later `minute` are newer."""
    run_id = str(uuid.uuid4())
    moved = []
    for output in outputs:
        artifacts = []
        for artifact in output.artifacts:
            files = []
            for file in artifact.snapshot.files:
                name = LocalPath(file.path.removeprefix("file://"))
                path = f"runs/{run_id}/{artifact.step}-{name.name}"
                store.artifacts.write(path, name.read_bytes())
                files.append(replace(file, path=path))
            snapshot = replace(artifact.snapshot, files=tuple(files))
            artifacts.append(replace(artifact, snapshot=snapshot))
        moved.append(replace(output, artifacts=tuple(artifacts)))
    moment = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)).isoformat()
    run = RunRecord(
        run_id, "job", moment, moment, RunState.COMPLETE, tuple(moved), uncaptured=uncaptured
    )
    store.artifacts.commit(run)
    store.catalog.add(run)
    return run_id


@pytest.fixture
def store(tmp_path: LocalPath) -> Iterator[lc.LineageStore]:
    opened = lc.open_store(str(tmp_path / "store"))
    yield opened
    opened.catalog.close()


@pytest.fixture
def commit_run() -> Callable[..., str]:
    return commit


@pytest.fixture
def record_of() -> Callable[[LineageProgram, Sequence[Table]], OutputRecord]:
    return record


def field(id: int, name: str, type: str) -> Field:
    return Field(id, name, type)


@pytest.fixture
def q4(lake: Lake) -> Built:
    """Like TPC-H Q4: orders with a late item, counted by priority; with a saved intermediate."""
    hostile = ["1-URGENT", 'it\'s "2"\\n${x}%_', "3\0NUL 🙈 é", None, ""]
    orders = lake.write(
        "orders",
        {"O_OrderKey": "long", "o_priority": "string", "o_date": "date"},
        [
            [(k, hostile[k % 5], date(2026, 1, 1 + k % 20)) for k in range(12)],
            [],
            [(3, hostile[3], date(2026, 1, 4)), (3, hostile[3], date(2026, 1, 4))],
            [(None, hostile[0], date(2026, 1, 2)), (99, hostile[1], None)],
        ],
    )
    items = lake.write(
        "items",
        {"l_orderkey": "long", "l_commit": "date", "l_receipt": "date"},
        [
            [(k % 9, date(2026, 1, 5), date(2026, 1, 5 + k % 2)) for k in range(20)],
            [(None, date(2026, 1, 1), date(2026, 1, 2)), (3, None, date(2026, 1, 2))],
        ],
    )
    late = {
        row["l_orderkey"]
        for row in items.rows.values()
        if row["l_commit"] and row["l_receipt"] and row["l_commit"] < row["l_receipt"]
    }
    kept = [
        (row["O_OrderKey"], row["o_priority"])
        for row in orders.rows.values()
        if row["O_OrderKey"] in late - {None} and row["o_date"] >= date(2026, 1, 2)
    ]
    saved = lake.write("saved", {"c1": "long", "c2": "string"}, [kept])
    groups = sorted({p for _, p in kept}, key=str)
    target = lake.write(
        "q4",
        {"priority": "string", "n": "long"},
        [[(p, sum(q == p for _, q in kept))] for p in groups],
    )
    long, text, day = "long", "string", "date"
    steps = [
        Step(StepKind.TARGET, -1, TRUE, (field(2, "priority", text), field(9, "n", long)), 0, "q4"),
        Step(
            StepKind.SAVED,
            0,
            same(Column(2, text), Anchor(2, text)),
            (field(1, "o_orderkey", long), field(2, "o_priority", text)),
            2,
            "Semi join",
        ),
        Step(
            StepKind.SOURCE,
            1,
            conj(
                [
                    same(Column(1, long), Anchor(1, long)),
                    same(Column(2, text), Anchor(2, text)),
                    Compare(Comparison.GE, Column(3, day), Literal("2026-01-02", day)),
                ]
            ),
            (field(1, "o_orderkey", long), field(2, "o_priority", text), field(3, "o_date", day)),
            3,
            "orders",
            0,
        ),
        Step(
            StepKind.SOURCE,
            1,
            conj(
                [
                    same(Column(4, long), Anchor(1, long)),
                    Compare(Comparison.LT, Column(5, day), Column(6, day)),
                ]
            ),
            (
                field(4, "l_orderkey", long),
                field(5, "l_commit", day),
                field(6, "l_receipt", day),
            ),
            4,
            "items",
            1,
        ),
    ]
    return built(steps, [target, saved, orders, items])


@pytest.fixture
def q6(lake: Lake) -> Built:
    """Like TPC-H Q6: one global aggregate; the source is unrelated to the row's values."""
    items = lake.write(
        "items",
        {"price": "decimal(10,2)", "discount": "double", "day": "date"},
        [
            [(Decimal(i) / 4, 0.01 * i, date(2026, 1, 1 + i)) for i in range(10)],
            [(None, math.nan, None), (Decimal("1.25"), math.nan, date(2026, 1, 9))],
        ],
    )
    target = lake.write("q6", {"revenue": "double"}, [[(1.5,)]])
    steps = [
        Step(StepKind.TARGET, -1, TRUE, (field(9, "revenue", "double"),), 0, "q6"),
        Step(
            StepKind.SOURCE,
            0,
            conj(
                [
                    Compare(
                        Comparison.GE, Column(1, "decimal(10,2)"), Literal("1.25", "decimal(10,2)")
                    ),
                    Compare(Comparison.GT, Column(2, "double"), Literal(0.05, "double")),
                    Not(IsNull(Column(3, "date"))),
                ]
            ),
            (
                field(1, "price", "decimal(10,2)"),
                field(2, "discount", "double"),
                field(3, "day", "date"),
            ),
            1,
            "items",
            0,
        ),
    ]
    return built(steps, [target, items])


@pytest.fixture
def empty(lake: Lake) -> Built:
    """A projection of nothing to nothing."""
    source = lake.write("source", {"a": "long"}, [[]])
    target = lake.write("target", {"a": "long"}, [])
    steps = [
        Step(StepKind.TARGET, -1, TRUE, (field(1, "a", "long"),), 0, "target"),
        Step(
            StepKind.SOURCE,
            0,
            same(Column(1, "long"), Anchor(1, "long")),
            (field(1, "a", "long"),),
            1,
            "source",
            0,
        ),
    ]
    return built(steps, [target, source])


@pytest.fixture
def values(lake: Lake) -> Built:
    """Rows copied, keys of every kind: partitions, NaN, -0.0, nulls, duplicates, timestamps."""
    moment = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    rows = [
        (0.0, 1.5, b"\x00\xff", moment, moment.replace(tzinfo=None), True),
        (-0.0, 1.5, b"\x00\xff", moment, moment.replace(tzinfo=None), True),
        (math.nan, math.nan, b"", None, None, False),
        (math.nan, math.nan, b"", None, None, False),
        (None, None, None, None, None, None),
        (
            math.inf,
            0.10000000149011612,
            b"'",
            moment + timedelta(microseconds=1),
            datetime(1900, 1, 1),
            None,
        ),
    ]
    columns = {
        "d": "double",
        "f": "float",
        "b": "binary",
        "t": "timestamp",
        "n": "timestamp_ntz",
        "flag": "boolean",
    }
    partitions: list[tuple[str | None, ...]] = [("x/y", "1"), (None, "2"), ("it's", None)]
    source = lake.write(
        "values",
        columns,
        [rows[:3], rows[2:], rows[:1]],
        partitions=partitions,
        partition_columns={"p": "string", "q": "integer"},
    )
    distinct = [rows[0], rows[2], rows[4], rows[5]]
    target = lake.write("copied", columns, [distinct])
    types = list(columns.items())
    fields = tuple(field(i, name, type) for i, (name, type) in enumerate(types))
    link = conj(same(Column(i, type), Anchor(i, type)) for i, (_, type) in enumerate(types))
    part = Compare(Comparison.SAME, Column(11, "integer"), Literal(2, "integer"))
    kept = Not(And((part, IsNull(Column(0, "double")))))
    steps = [
        Step(StepKind.TARGET, -1, TRUE, fields, 0, "copied"),
        Step(
            StepKind.SOURCE,
            0,
            conj([link, kept]),
            (*fields, field(11, "Q", "integer")),
            1,
            "values",
            0,
        ),
    ]
    return built(steps, [target, source])


@pytest.fixture(params=["q4", "q6", "empty", "values"])
def case(request: pytest.FixtureRequest) -> Built:
    found: Built = request.getfixturevalue(request.param)
    return found
