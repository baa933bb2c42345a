"""Captured runs to be queried: a table with nulls and duplicates, grouped in one and two steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lineage_core as lc
from lineage_core.plan.expr import TRUE, Anchor, Column, same
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import Field
from tests.query.conftest import commit, record

COLUMNS = {"k": "long", "mode": "string", "price": "decimal(10,2)"}


def by_key(target: Any, *sources: Any, why: tuple[str, ...] = ()) -> LineageProgram:
    """Return the program of an output row per `k`, made of all rows of the sources with that."""
    key = (Field(1, "k", "long"),)
    link = same(Column(1, "long"), Anchor(1, "long"))
    steps = [Step(StepKind.TARGET, -1, TRUE, key, 0, "out")]
    for number, source in enumerate(sources):
        name = source.snapshot.dataset
        steps.append(Step(StepKind.SOURCE, 0, link, key, number + 1, name, number, why))
    return LineageProgram(tuple(steps))


@pytest.fixture
def program() -> Callable[..., LineageProgram]:
    return by_key


class Shipping:
    """`lines` (three files) and `parts` by `k` make `out`; `out` makes `top`."""

    def __init__(self, lake: Any, store: lc.LineageStore, commit: Any, record: Any) -> None:
        modes = ["AIR", None, "RAIL", "AIR", 'it\'s "x"']
        rows = [(i % 6 if i % 7 else None, modes[i % 5], None) for i in range(40)]
        rows += [rows[3], rows[3]]
        self.lines = lake.write("lines", COLUMNS, [rows[:15], [], rows[15:]])
        self.parts = lake.write(
            "parts", {"k": "long", "rid": "string"}, [[(i % 6, f"r{i}") for i in range(9)]]
        )
        self.out = lake.write("out", {"k": "long", "n": "long"}, [[(k, k * 2) for k in range(6)]])
        self.top = lake.write("top", {"k": "long"}, [[(4,), (5,)]])
        self.store = store
        steps = by_key(self.out, self.lines, self.parts)
        commit(store, record(steps, [self.out, self.lines, self.parts]))
        commit(store, record(by_key(self.top, self.out), [self.top, self.out]), minute=1)

    def query(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query whose precision is exact."""
        found = self.store.query(sql, parameters)
        assert found.precision == "exact" and found.reasons == ()
        return [tuple(row.values()) for row in found.to_arrow().to_pylist()]


@pytest.fixture(scope="session")
def committing() -> tuple[Callable[..., str], Callable[..., Any], Callable[..., LineageProgram]]:
    """What commits runs, makes records of them, and programs."""
    return commit, record, by_key


@pytest.fixture
def shipping(lake: Any, store: lc.LineageStore, commit_run: Any, record_of: Any) -> Shipping:
    return Shipping(lake, store, commit_run, record_of)
