"""A captured run of TPC-H Q4, made by hand, and the published schemas."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Anchor,
    Column,
    Compare,
    Comparison,
    Literal,
    conj,
    conjuncts,
    same,
)
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import Aggregate, Field, Filter, Join, JoinKind, Named, Scan
from lineage_core.snapshot import ColumnType, DataFile, Snapshot
from lineage_core.store.manifest import (
    Artifact,
    Materialize,
    OutputRecord,
    RunRecord,
    RunState,
    Timing,
)

SECRET = "1-URGENT"
"""A value that is in the plan and must be in no event."""


def _snapshot(dataset: str, *columns: tuple[str, str], alias: str = "") -> Snapshot:
    file = DataFile(f"{dataset}/part-0.parquet", 1000, 0, "d" * 64)
    return Snapshot(
        dataset, "parquet", tuple(ColumnType(*column) for column in columns), (file,), alias=alias
    )


def _q4(output: str = "file:///results/q4") -> OutputRecord:
    key, priority, date = (
        Field(1, "o_orderkey", "long"),
        Field(2, "o_orderpriority", "string"),
        Field(3, "o_orderdate", "date"),
    )
    line, commit, receipt = (
        Field(11, "l_orderkey", "long"),
        Field(12, "l_commitdate", "date"),
        Field(13, "l_receiptdate", "date"),
    )
    count = Field(21, "order_count", "long")
    recent = conj(
        [
            Compare(Comparison.GE, Column(3, "date"), Literal("1993-07-01", "date")),
            Compare(Comparison.SAME, Column(2, "string"), Literal(SECRET, "string")),
        ]
    )
    late = Compare(Comparison.LT, Column(12, "date"), Column(13, "date"))
    matches = Compare(Comparison.EQ, Column(1, "long"), Column(11, "long"))
    orders = Filter(2, recent, Scan(3, 0, "orders", (key, priority, date)))
    lines = Filter(4, late, Scan(5, 1, "lineitem", (line, commit, receipt)))
    total = AggregateCall("count", (Literal(1, "integer"),), "long", False, None)
    plan = Aggregate(
        0,
        (Column(2, "string"),),
        (
            Named(2, "o_orderpriority", Column(2, "string"), "string"),
            Named(21, "order_count", total, "long"),
        ),
        Join(1, JoinKind.LEFT_SEMI, matches, orders, lines),
    )
    program = LineageProgram(
        (
            Step(StepKind.TARGET, -1, TRUE, (priority, count), 0, output),
            Step(
                StepKind.SOURCE,
                0,
                conj([same(Column(2, "string"), Anchor(2, "string")), *conjuncts(recent)]),
                (key, priority, date),
                3,
                "orders",
                source=0,
            ),
            Step(
                StepKind.SOURCE,
                1,
                conj([same(Column(11, "long"), Anchor(1, "long")), late]),
                (line, commit, receipt),
                5,
                "lineitem",
                source=1,
                superset=(f"Window (operator 5) compares with '{SECRET}' and 4711",),
            ),
        )
    )
    saved = _snapshot("runs/r/0/step-1", ("c1", "long"))
    return OutputRecord(
        dataset=output,
        mode="overwrite",
        snapshot=_snapshot(output, ("o_orderpriority", "string"), ("order_count", "long")),
        plan=plan,
        program=program,
        inputs=(
            _snapshot(
                "file:///data/orders.parquet",
                ("o_orderkey", "long"),
                ("o_orderpriority", "string"),
                ("o_orderdate", "date"),
                alias="spark_catalog.default.orders",
            ),
            _snapshot(
                "s3://bucket/lineitem",
                ("l_orderkey", "long"),
                ("l_commitdate", "date"),
                ("l_receiptdate", "date"),
            ),
        ),
        artifacts=(Artifact(1, saved, 42, Materialize.INJECT),),
        analyzed=f"Filter o_orderpriority = {SECRET}",
        optimized=f"Filter o_orderpriority = {SECRET}",
        rows=5,
        timings=(Timing("infer", 0.123456),),
    )


@pytest.fixture
def q4() -> OutputRecord:
    """The write of TPC-H Q4 with a literal that no event may hold."""
    return _q4()


@pytest.fixture
def secret() -> str:
    """That literal."""
    return SECRET


@pytest.fixture
def record() -> Callable[..., RunRecord]:
    """Build a run of the given writes."""

    def build(*outputs: OutputRecord, **changes: Any) -> RunRecord:
        fields: dict[str, Any] = {
            "id": "0195d2f0-0000-7000-8000-000000000001",
            "job": "dag.task",
            "started": "2026-01-01T00:00:00+00:00",
            "ended": "2026-01-01T00:00:01+00:00",
            "state": RunState.COMPLETE,
            "outputs": outputs,
        }
        return RunRecord(**(fields | changes))

    return build


@pytest.fixture(scope="session")
def published() -> ModuleType:
    """The module `published.py`: `validate_event`, `facet_schema`."""
    spec = spec_from_file_location(
        "openlineage_published", Path(__file__).with_name("published.py")
    )
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def event(published: ModuleType) -> Callable[..., dict[str, Any]]:
    """Turn a `RunLineage` into the JSON of a valid COMPLETE event, as the client would send it."""
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
    from openlineage.client.serde import Serde

    def build(lineage: Any, *, redact: Callable[[Any], Any] = lambda sent: sent) -> dict[str, Any]:
        run = Run("0195d2f0-0000-7000-8000-000000000001", facets=lineage.run_facets)
        job = Job("default", "dag.task", facets=lineage.job_facets)
        sent = RunEvent(
            eventTime="2026-01-01T00:00:01+00:00",
            producer="https://example.com/test",
            run=run,
            job=job,
            eventType=RunState.COMPLETE,
            inputs=list(lineage.inputs),
            outputs=list(lineage.outputs),
        )
        tree: dict[str, Any] = Serde.to_dict(redact(sent))
        published.validate_event(tree)
        return tree

    return build
