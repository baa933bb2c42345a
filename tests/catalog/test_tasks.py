"""Runs of Airflow tasks, by DAG, task, logical date, DAG run and map index, in every database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.dialects import sqlite

from lineage_core.catalog import Catalog, TaskRuns, open_catalog
from lineage_core.catalog.summaries import tagged
from lineage_core.errors import AmbiguousError, NotFoundError, UnsupportedError
from lineage_core.store.manifest import RunRecord, RunState

if TYPE_CHECKING:
    from tests.catalog.conftest import Maker

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = datetime(2026, 1, 2, tzinfo=UTC)


def task_run(
    make: Maker,
    n: int,
    task: str = "load",
    date: datetime | None = FIRST,
    *,
    dag: str = "shop",
    map_index: int = -1,
    try_number: int = 1,
    state: RunState = RunState.COMPLETE,
) -> RunRecord:
    """Return a run with the tags that the provider gives."""
    tags = {
        "dag_id": dag,
        "task_id": task,
        "run_id": f"scheduled__{date.isoformat()}" if date else "manual__x",
        "map_index": str(map_index),
        "try_number": str(try_number),
        "logical_date": date.isoformat() if date else "",
    }
    return make.run(n, make.output("file:///out"), tags=tuple(tags.items()), state=state)


@pytest.fixture
def shop(catalog: Catalog, make: Maker) -> Catalog:
    catalog.add(task_run(make, 1))
    catalog.add(task_run(make, 2, date=SECOND))
    catalog.add(task_run(make, 3, "report"))
    catalog.add(task_run(make, 4, dag="other"))
    catalog.add(task_run(make, 5, date=None))
    # What only looks like a task's tags: the same values under other keys.
    catalog.add(make.run(6, tags=(("task_id", "shop"), ("dag_id", "load"))))
    return catalog


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"dag": "shop", "task": "load", "logical_date": FIRST}, [1]),
        ({"dag": "shop", "task": "load", "logical_date": SECOND}, [2]),
        ({"dag": "shop", "task": "load"}, [5, 2, 1]),
        ({"dag": "shop", "logical_date": FIRST}, [3, 1]),
        ({"logical_date": FIRST}, [4, 3, 1]),
        ({"dag": "shop", "dag_run": "manual__x"}, [5]),
        ({"dag": "load", "task": "shop"}, [6]),
        ({"dag": "shop", "map_index": 0}, []),
        ({"dag": "sho"}, []),
        ({"dag": "sh%"}, []),
        ({"dag": "shop", "try_number": 2}, []),
    ],
)
def test_everything_given_holds(
    shop: Catalog, make: Maker, wanted: dict[str, Any], expected: list[int]
) -> None:
    found = shop.task_runs(TaskRuns(**wanted))
    assert [run.id for run in found] == [make.id(n) for n in expected]


def test_a_logical_date_is_a_moment_however_written(shop: Catalog, make: Maker) -> None:
    same = FIRST.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert same.isoformat() != FIRST.isoformat()
    assert shop.task_run(TaskRuns("shop", "load", same)).id == make.id(1)
    zulu = make.run(7, tags=(("dag_id", "z"), ("logical_date", "2026-01-01T00:00:00Z")))
    shop.add(zulu)
    assert shop.task_run(TaskRuns("z", logical_date=same)).id == zulu.id
    with pytest.raises(UnsupportedError, match="time zone"):
        shop.task_run(TaskRuns("shop", "load", FIRST.replace(tzinfo=None)))
    with pytest.raises(UnsupportedError, match="nothing says"):
        shop.task_runs(TaskRuns())


def test_the_newest_successful_try_wins(catalog: Catalog, make: Maker) -> None:
    wanted = TaskRuns("shop", "load", FIRST)
    catalog.add(task_run(make, 1, try_number=1, state=RunState.FAILED))
    assert catalog.task_run(wanted).id == make.id(1)
    catalog.add(task_run(make, 2, try_number=2))
    catalog.add(task_run(make, 3, try_number=3))
    catalog.add(task_run(make, 4, try_number=4, state=RunState.FAILED))
    assert catalog.task_run(wanted).id == make.id(3)
    assert catalog.task_run(TaskRuns("shop", "load", try_number=2)).id == make.id(2)


def test_several_task_instances_are_listed_and_not_chosen_from(shop: Catalog, make: Maker) -> None:
    with pytest.raises(AmbiguousError, match="2 task instances are dag shop, logical_date") as e:
        shop.task_run(TaskRuns("shop", logical_date=FIRST))
    assert make.id(1) in e.value.hint and "task_id report" in e.value.hint
    for index in range(12):
        shop.add(task_run(make, 20 + index, "mapped", map_index=index))
    with pytest.raises(AmbiguousError, match="12 task instances") as error:
        shop.task_run(TaskRuns("shop", "mapped", FIRST))
    assert "map_index 11" in error.value.hint and error.value.hint.endswith("...")
    assert shop.task_run(TaskRuns("shop", "mapped", FIRST, map_index=3)).id == make.id(23)
    with pytest.raises(NotFoundError, match="dag shop, task nothing"):
        shop.task_run(TaskRuns("shop", "nothing"))


def test_tasks_are_found_by_index(url: str, make: Maker) -> None:
    with open_catalog(url) as catalog:
        catalog.add(task_run(make, 1))
    query = tagged(TaskRuns("shop", "load", FIRST, map_index=-1).tags)
    engine = create_engine(url, poolclass=NullPool)
    if engine.dialect.name == "sqlite":
        sql = str(query.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))
        with engine.connect() as connection:
            plan = [str(row[3]) for row in connection.execute(text(f"EXPLAIN QUERY PLAN {sql}"))]
        assert len(plan) >= 4 and all(step.startswith("SEARCH") for step in plan), plan
        assert "ix_tags_key_value" in plan[0]
        return
    with engine.connect() as connection:
        # With one row any plan is a scan; what counts is that the index can be used at all.
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        compiled = query.compile(engine, compile_kwargs={"literal_binds": True})
        plan = [str(row[0]) for row in connection.execute(text(f"EXPLAIN {compiled}"))]
    assert not any("Seq Scan" in step for step in plan), plan
