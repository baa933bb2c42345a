"""Small tables on disk, and a store to capture into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from lineage_core.capture import Capture
from lineage_core.catalog import Catalog, open_catalog
from lineage_core.plan.expr import (
    AggregateCall,
    And,
    Call,
    Column,
    Compare,
    Expr,
    IsIn,
    IsNull,
    Literal,
    Not,
    Or,
    Unknown,
    WindowCall,
)
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Field,
    Filter,
    Generate,
    Join,
    Limit,
    Offset,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    Union,
    Values,
    Window,
    children,
)
from lineage_core.store import ArtifactStore

ORDERS = pa.table(
    {
        "o_id": pa.array(range(8), pa.int64()),
        "o_cust": pa.array([0, 0, 1, 1, 2, 2, 3, None], pa.int64()),
        "o_price": pa.array([float(i) * 10 for i in range(8)], pa.float64()),
        "o_status": pa.array(["a", "b", "a", "b", "a", "b", "a", None]),
    }
)
CUSTOMERS = pa.table(
    {
        "c_id": pa.array(range(4), pa.int64()),
        "c_name": pa.array(["Ann", "Bob", "Cid", "Dora"]),
    }
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the tables `orders` and `customers`, whose name has to be quoted in URIs."""
    root = tmp_path / "my data"
    for name, table in (("orders", ORDERS), ("customers", CUSTOMERS)):
        (root / name).mkdir(parents=True)
        pq.write_table(table, root / name / "part-0.parquet")
    return root


@pytest.fixture
def tables(spark: SparkSession, folder: Path) -> Iterator[SparkSession]:
    """The session, with the tables as temporary views."""
    for name in ("orders", "customers"):
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    yield spark
    for name in ("orders", "customers"):
        spark.catalog.dropTempView(name)


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(str(tmp_path / "the store"))


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with open_catalog(f"sqlite:///{tmp_path / 'catalog.db'}") as opened:
        yield opened


@pytest.fixture
def capture(spark: SparkSession, store: ArtifactStore, catalog: Catalog) -> Callable[..., Capture]:
    """Starts captures of the session into the store."""

    def start(**options: Any) -> Capture:
        return Capture(store, catalog, options.pop("spark", spark), job="test", **options)

    return start


@pytest.fixture
def table(spark: SparkSession) -> Iterator[Callable[[str], str]]:
    """Gives names of tables that are dropped at the end."""
    names: list[str] = []

    def named(name: str) -> str:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        names.append(name)
        return name

    yield named
    for name in names:
        spark.sql(f"DROP TABLE IF EXISTS {name}")


def text(expr: Expr) -> str:
    """Return an expression in one line, types left out."""
    match expr:
        case Column(id):
            return f"#{id}"
        case Literal(value):
            return repr(value)
        case Compare(op, left, right):
            return f"({text(left)} {op.value} {text(right)})"
        case IsNull(arg):
            return f"null?({text(arg)})"
        case IsIn(arg, values):
            return f"({text(arg)} in {[v.value for v in values]})"
        case Not(arg):
            return f"not {text(arg)}"
        case And(args) | Or(args):
            return f" {type(expr).__name__} ".join(text(arg) for arg in args)
        case Call(name, args) | Unknown(name, args):
            return f"{name}({', '.join(map(text, args))})"
        case AggregateCall() | WindowCall():
            return of_rows(expr)
        case _:
            raise AssertionError(expr)


def of_rows(call: AggregateCall | WindowCall) -> str:
    """Return a function of several rows in one line."""
    match call:
        case AggregateCall(name, args, _, distinct, condition):
            inner = ("distinct " if distinct else "") + ", ".join(map(text, args))
            return f"{name}[{inner}]" + (f" if {text(condition)}" if condition else "")
        case WindowCall(name, args, _, frame):
            bounds = ("*" if b is None else str(b.value) for b in (frame.lower, frame.upper))
            skips = " skip nulls" if call.ignore_nulls else ""
            where = f" if {text(call.filter)}" if call.filter else ""
            inner = ", ".join(map(text, args))
            return f"{name}({inner}) over {frame.unit.value} {'..'.join(bounds)}{skips}{where}"


def listed(parts: Iterable[str]) -> str:
    return f"[{', '.join(parts)}]"


def fields(columns: Iterable[Field]) -> str:
    return listed(f"#{c.id} {c.name}" for c in columns)


def ordering(keys: Iterable[SortKey]) -> str:
    ways = {True: "asc", False: "desc"}
    return listed(f"{text(k.expr)} {ways[k.ascending]} {k.nulls_first}" for k in keys)


def indented(plan: Plan, depth: int = 0) -> list[str]:
    """Return a plan as indented lines."""
    found = [f"{'  ' * depth}{plan.at} {described(plan)}"]
    for child in children(plan):
        found += indented(child, depth + 1)
    return found


def described(plan: Plan) -> str:
    match plan:
        case Scan():
            return f"Scan {plan.source} {Path(plan.name).name} {fields(plan.columns)}"
        case Values():
            return f"Values {len(plan.columns)}"
        case Join():
            exists = f" #{plan.exists.id}" if plan.exists else ""
            return f"Join {plan.kind.value} {text(plan.condition)}{exists}"
        case Union():
            taken = (listed(f"#{id}" for id in ids) for ids in plan.taken)
            return f"Union {fields(plan.columns)} of {' '.join(taken)}"
        case Opaque():
            return f"Opaque {plan.name}: {plan.why}"
        case _:
            return of_one_input(plan)


def of_one_input(plan: Plan) -> str:
    match plan:
        case Filter():
            return f"Filter {text(plan.condition)}"
        case Project():
            return f"Project {listed(f'#{c.id} {c.name} = {text(c.expr)}' for c in plan.columns)}"
        case Expand():
            rows = (listed(map(text, values)) for values in plan.projections)
            return f"Expand {fields(plan.columns)} of {' '.join(rows)}"
        case Generate():
            outer = "outer " if plan.outer else ""
            kept, made = fields(plan.kept), fields(plan.generated)
            return f"Generate {outer}{text(plan.generator)} {kept} {made}"
        case Window():
            columns = listed(f"#{c.id} {text(c.expr)}" for c in plan.columns)
            return f"Window {listed(map(text, plan.partition))} {ordering(plan.order)} {columns}"
        case Aggregate():
            columns = listed(f"#{c.id} {text(c.expr)}" for c in plan.columns)
            return f"Aggregate {listed(map(text, plan.keys))} {columns}"
        case Sort():
            return f"Sort {ordering(plan.keys)} {plan.everywhere}"
        case Limit():
            return f"Limit {plan.count}"
        case Offset():
            return f"Offset {plan.count}"
        case _:
            raise AssertionError(plan)


@pytest.fixture
def lines() -> Callable[[Plan], list[str]]:
    """Renders a plan as indented lines."""
    return indented
