"""`backward`, `forward` and `explain` on a captured shop, in every format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    Run = Callable[..., Any]
    Shop = Any


def datasets(text: str, key: str = "sources") -> dict[str, tuple[int, str]]:
    """Return rows and precision by dataset, of an answer in JSON."""
    return {line["dataset"]: (line["rows"], line["precision"]) for line in json.loads(text)[key]}


@pytest.mark.parametrize(
    "selection",
    [
        ("--where", "country = 'DK'"),
        ("--row", '{"country": "DK"}'),
        ("--row", '{"country": "DK", "total": 35}'),
    ],
)
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_backward(selection: tuple[str, str], engine: str, shop: Shop, row_lineage: Run) -> None:
    ended = row_lineage("backward", "revenue", *selection, "--engine", engine, "--format=json")
    assert (ended.code, ended.err) == (0, "")
    assert datasets(ended.out) == {"orders": (2, "exact"), "lines": (3, "exact")}


def test_backward_by_rid_is_backward_by_row(shop: Shop, row_lineage: Run) -> None:
    swedish = ("orders", "--where", "id = 3")
    shown = row_lineage("forward", *swedish, "--rows=all", "--hops=1", "--format=json")
    (output,) = json.loads(shown.out)["outputs"]
    (row,) = output["lineage"]
    assert (row["country"], row["total"]) == ("SE", 7)
    ended = row_lineage("backward", "revenue", "--rids", str(row["rid"]), "--format=json")
    assert datasets(ended.out) == {"orders": (1, "exact"), "lines": (1, "exact")}


def test_hops(shop: Shop, row_lineage: Run) -> None:
    outermost = row_lineage("backward", "danish", "--format=json")
    assert datasets(outermost.out) == {"orders": (2, "exact"), "lines": (3, "exact")}
    nearest = row_lineage("backward", "danish", "--hops=1", "--format=json")
    assert datasets(nearest.out) == {"revenue": (1, "exact")}


def test_forward(shop: Shop, row_lineage: Run) -> None:
    ended = row_lineage("forward", "lines", "--where", "order_id = 4", "--hops=1", "--format=json")
    assert datasets(ended.out, "outputs") == {"revenue": (0, "exact")}
    ended = row_lineage("forward", "lines", "--where", "price = 5", "--hops=1", "--format=json")
    assert datasets(ended.out, "outputs") == {"revenue": (1, "exact")}


def test_a_table_for_people(shop: Shop, row_lineage: Run) -> None:
    ended = row_lineage("backward", "revenue", "--where", "country = 'DK'", "--rows", "1")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert any("orders" in line and "exact" in line for line in lines)
    assert sum(line.strip().startswith("Rows of ") for line in lines) == 2


def test_rows_of_one_dataset_as_csv(shop: Shop, row_lineage: Run) -> None:
    danish = ("revenue", "--where=country = 'DK'")
    ended = row_lineage("backward", *danish, "--rows=all", "--only=lines", "--format=csv")
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert sorted((row["order_id"], row["price"]) for row in rows) == [
        ("1", "10"),
        ("1", "20"),
        ("2", "5"),
    ]
    assert len({row["rid"] for row in rows}) == 3


def test_rows_of_one_dataset_as_parquet(shop: Shop, row_lineage: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    lines = ("--rows=2", "--only", shop.path("lines"))
    arguments = (*lines, "--format=parquet", "--output", str(path))
    assert row_lineage("backward", "revenue", "--where=country = 'DK'", *arguments).code == 0
    rows = pq.read_table(path)
    assert (rows.num_rows, rows.column_names) == (2, ["rid", "order_id", "price"])


def test_the_summary_as_csv(shop: Shop, row_lineage: Run) -> None:
    ended = row_lineage("backward", "revenue", "--format=csv")
    assert {row["dataset"] for row in csv.DictReader(io.StringIO(ended.out))} == {"orders", "lines"}


USED = {
    "lines": {"order_id": "join", "price": "aggregated"},
    "orders": {"id": "join", "country": "value, group"},
}


def test_columns_in_use(shop: Shop, row_lineage: Run) -> None:
    asked = ("backward", "revenue", "--where", "country = 'DK'", "--columns")
    sources = json.loads(row_lineage(*asked, "--format=json").out)["sources"]
    assert {
        s["dataset"]: {name: ", ".join(roles) for name, roles in s["columns"].items()}
        for s in sources
    } == USED
    ended = row_lineage(*asked)
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split(maxsplit=2) for line in ended.out.splitlines()]
    assert ["orders", "country", "value, group"] in [[w.strip() for w in line] for line in lines]
    rows = list(csv.DictReader(io.StringIO(row_lineage(*asked, "--format=csv").out)))
    assert len(rows) == 4
    assert {(r["dataset"], r["column"], r["roles"]) for r in rows} == {
        (dataset, name, roles) for dataset, used in USED.items() for name, roles in used.items()
    }


def test_columns_over_several_runs_are_those_of_the_last(shop: Shop, row_lineage: Run) -> None:
    outermost = row_lineage("backward", "danish", "--columns", "--only=lines", "--format=json")
    (lines,) = json.loads(outermost.out)["sources"]
    assert lines["columns"] == {"order_id": ["join"], "price": ["aggregated"]}
    nearest = row_lineage("backward", "danish", "--columns", "--hops=1", "--format=json")
    (revenue,) = json.loads(nearest.out)["sources"]
    assert revenue["columns"] == {"country": ["value", "filter"], "total": ["value"]}
    assert row_lineage("forward", "lines", "--columns").code == 2


def test_columns_and_rows_are_no_single_file(shop: Shop, row_lineage: Run) -> None:
    asked = ("backward", "revenue", "--columns", "--rows=1", "--only=lines")
    assert "2 tables do not fit one csv file" in row_lineage(*asked, "--format=csv").err
    shown = row_lineage(*asked)
    titles = [line.strip() for line in shown.out.splitlines()]
    assert "Columns in use" in titles and "Rows of lines" in titles


def test_explain_a_run(shop: Shop, row_lineage: Run) -> None:
    ended = row_lineage("explain", shop.first, "revenue", "--format=json")
    steps = json.loads(ended.out)["steps"]
    assert [step["kind"] for step in steps[:1]] == ["target"]
    assert {step["name"] for step in steps if step["kind"] == "source"} == {"orders", "lines"}
    assert {step["precision"] for step in steps} == {"exact"}
    assert any("country <=> revenue.country" in step["rows"] for step in steps)


def test_explain_a_query_runs_nothing(shop: Shop, row_lineage: Run, tmp_path: Path) -> None:
    ended = row_lineage(
        "--store",
        str(tmp_path / "none"),
        "explain",
        "--sql=SELECT country FROM o WHERE id > 1",
        f"--table=o={shop.path('orders')}",
        "--format=json",
    )
    assert (ended.code, list(tmp_path.iterdir())) == (0, [])
    target, source = json.loads(ended.out)["steps"]
    assert (target["kind"], source["kind"]) == ("target", "source")
    assert "id > 1" in source["rows"]
