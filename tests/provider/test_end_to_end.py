"""The example DAGs, and one where everything goes wrong, in an Airflow of their own.

Tasks run in other processes, as `airflow dags test` runs them: real Spark, real store, and the real
listener, which forks for each event. What they leave behind is looked at here.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lineage_core.openlineage import FACET_KEY
from lineage_core.store import ArtifactStore
from lineage_core.store.manifest import RunRecord, RunState
from row_lineage_provider.embedded import CommandError, EmbeddedAirflow

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
LITERALS = ("1-URGENT", "URGENT", "BUILDING", "1993-07-01", "1995-03-15")

Event = dict[str, Any]


def load(path: Path) -> ModuleType:
    """Return a module of another test folder; tests are no package."""
    spec = spec_from_file_location(f"for_provider_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class World:
    """What the DAGs left behind.

    Attributes:
        folder: the folder of everything.
        tables: the TPC-H tables, scale factor 0.01.
        events: all events, as they were sent.
        text: the same, as text.
        log: what each DAG logged.
    """

    folder: Path
    tables: Path
    events: tuple[Event, ...]
    text: str
    log: dict[str, str]

    @property
    def store(self) -> ArtifactStore:
        return ArtifactStore(str(self.folder / "lineage"))

    def of(self, job: str) -> list[Event]:
        """Return the events of a job, in order."""
        return [event for event in self.events if event["job"]["name"] == job]

    def last(self, job: str) -> Event:
        return self.of(job)[-1]

    def record(self, job: str) -> RunRecord:
        """Return the manifest of a job's last run."""
        return self.store.load(self.last(job)["run"]["runId"])

    def report(self) -> tuple[Path, Any]:
        (path,) = (self.folder / "lineage").glob("reports/*/*/*/report.json")
        return path.parent, json.loads(path.read_text())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run the DAGs once."""
    folder = tmp_path_factory.mktemp("airflow")
    dags = folder / "dags"
    dags.mkdir()
    for file in (*(ROOT / "dags").glob("*.py"), HERE / "dags" / "broken.py"):
        shutil.copy(file, dags)
    tables = load(ROOT / "tests" / "tpch" / "data.py").generate(0.01)
    events = folder / "events.jsonl"
    airflow = EmbeddedAirflow(folder / "home", dags, folder / "lineage", events)
    airflow.migrate()
    conf = {"tables": str(tables), "results": str(folder / "results")}
    log = {"example_tpch": airflow.test("example_tpch", conf)}
    log["example_audit"] = airflow.test("example_audit", {"dataset": str(folder / "results/q4")})
    with pytest.raises(CommandError) as failed:
        airflow.test("broken", conf)
    log["broken"] = failed.value.output
    text = events.read_text()
    yield World(folder, tables, tuple(map(json.loads, text.splitlines())), text, log)


TASKS = (
    "example_tpch.q3",
    "example_tpch.q4",
    "example_audit.urgent_orders",
    "broken.capture_fails",
    "broken.no_store",
    "broken.session_stopped",
)


def facet(event: Event) -> Any:
    return event["run"]["facets"][FACET_KEY]


@pytest.mark.parametrize("job", TASKS)
def test_a_task_sends_one_start_and_one_complete(world: World, job: str) -> None:
    events = world.of(job)
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"]
    assert len({event["run"]["runId"] for event in events}) == 1


def test_a_task_that_fails_sends_one_start_and_one_fail(world: World) -> None:
    events = world.of("broken.function_fails")
    assert [event["eventType"] for event in events] == ["START", "FAIL"]


def test_all_events_have_the_published_form(world: World) -> None:
    published = load(ROOT / "tests" / "openlineage" / "published.py")
    assert len(world.events) >= 2 * (len(TASKS) + 3)
    for event in world.events:
        published.validate_event(event)


@pytest.mark.parametrize("literal", LITERALS)
def test_no_literal_is_in_any_event(world: World, literal: str) -> None:
    assert literal not in world.text


@pytest.mark.parametrize("job", ["example_tpch.q3", "example_tpch.q4"])
def test_the_event_and_the_manifest_are_of_one_run(world: World, job: str) -> None:
    event, record = world.last(job), world.record(job)
    assert (record.id, record.job) == (event["run"]["runId"], job)
    tags = dict(record.tags)
    assert f"{tags['dag_id']}.{tags['task_id']}" == job
    assert (tags["try_number"], tags["map_index"]) == ("1", "-1")
    assert tags["run_id"].startswith("manual__") and tags["logical_date"]
    told = facet(event)
    assert (told["runId"], told["state"]) == (record.id, "captured")
    assert (world.folder / "lineage" / told["manifest"]).is_file()
    assert told["store"] == f"file://{world.folder}/lineage"


def test_q4_as_others_see_it(world: World) -> None:
    event = world.last("example_tpch.q4")
    assert {data["name"] for data in event["inputs"]} == {
        f"{world.tables}/orders.parquet",
        f"{world.tables}/lineitem.parquet",
    }
    for data in event["inputs"]:
        stored = pq.read_schema(data["name"]).names
        assert [field["name"] for field in data["facets"]["schema"]["fields"]] == stored
    (output,) = event["outputs"]
    assert (output["namespace"], output["name"]) == ("file", f"{world.folder}/results/q4")
    rows = pq.read_table(output["name"])
    statistics = output["outputFacets"]["outputStatistics"]
    assert statistics["rowCount"] == rows.num_rows == 5
    files = [f for f in Path(output["name"]).iterdir() if f.suffix == ".parquet"]
    assert (statistics["fileCount"], statistics["size"]) == (
        len(files),
        sum(file.stat().st_size for file in files),
    )
    columns = output["facets"]["columnLineage"]
    assert [use["field"] for use in columns["fields"]["o_orderpriority"]["inputFields"]] == [
        "o_orderpriority"
    ]
    influence = {
        (use["field"], how["subtype"])
        for use in columns["dataset"]
        for how in use["transformations"]
    }
    assert {
        ("o_orderdate", "FILTER"),
        ("l_commitdate", "FILTER"),
        ("l_orderkey", "JOIN"),
        ("o_orderpriority", "GROUP_BY"),
    } <= influence
    (told,) = facet(event)["outputs"]
    assert {source["precision"] for source in told["sources"]} == {"exact"}


def test_q3_is_an_aggregate_of_three_tables(world: World) -> None:
    (output,) = world.last("example_tpch.q3")["outputs"]
    revenue = output["facets"]["columnLineage"]["fields"]["revenue"]["inputFields"]
    assert {use["field"] for use in revenue} == {"l_extendedprice", "l_discount"}
    assert {how["subtype"] for use in revenue for how in use["transformations"]} == {"AGGREGATION"}
    assert len(world.last("example_tpch.q3")["inputs"]) == 3


def test_the_report_is_what_the_oracle_says(world: World) -> None:
    """The oracle is lineage SQL written by hand for the tests of the core."""
    oracle = load(ROOT / "tests" / "tpch" / "oracle.py").oracle_lineage(4, world.tables)
    parts = {Path(part["dataset"]).stem: part for part in world.report()[1]["parts"]}
    assert set(parts) == set(oracle) == {"orders", "lineitem"}
    keys = {"orders": ["o_orderkey"], "lineitem": ["l_orderkey", "l_linenumber"]}
    for table, part in parts.items():
        pairs = oracle[table]
        rids = pairs.filter(pc.equal(pairs["o_orderpriority"], "1-URGENT"))["rid"]
        source = pq.read_table(world.tables / f"{table}.parquet", columns=keys[table])
        expected = source.take(rids).to_pylist()
        rows = pq.read_table(world.folder / "lineage" / part["file"])
        found = rows.select(keys[table]).to_pylist()
        assert sorted(map(repr, found)) == sorted(map(repr, expected))
        assert (part["precision"], part["rows"]) == ("exact", len(expected))
        assert expected


def test_the_question_stays_in_the_store(world: World) -> None:
    assert "1-URGENT" not in world.log["example_audit"]
    assert "1-URGENT" in world.report()[1]["question"]["where"]
    audited = {data["name"] for data in world.last("example_audit.urgent_orders")["inputs"]}
    assert audited == {
        f"{world.folder}/results/q4",
        f"{world.tables}/orders.parquet",
        f"{world.tables}/lineitem.parquet",
    }


def test_the_users_error_is_the_one_that_fails_the_task(world: World) -> None:
    event = world.last("broken.function_fails")
    assert "this is the user's own error" in event["run"]["facets"]["errorMessage"]["message"]
    assert "this is the user's own error" in world.log["broken"]
    assert world.record("broken.function_fails").state is RunState.FAILED
    assert [data["name"] for data in event["outputs"]] == [f"{world.folder}/results/function_fails"]
    assert facet(event)["state"] == "captured"


def test_a_broken_capture_is_told_and_breaks_nothing(world: World) -> None:
    event = world.last("broken.capture_fails")
    (output,) = facet(event)["outputs"]
    assert (facet(event)["state"], output["state"]) == ("uncaptured", "uncaptured")
    assert output["reason"] == "infer: RuntimeError"
    assert pq.read_table(world.folder / "results" / "capture_fails").num_rows > 0
    (written,) = world.record("broken.capture_fails").outputs
    assert written.uncaptured and not written.artifacts


def test_a_store_that_is_not_there_is_told_and_breaks_nothing(world: World) -> None:
    event = world.last("broken.no_store")
    assert facet(event)["state"] == "uncaptured"
    assert facet(event)["reason"].startswith("the capture could not be opened")
    assert pq.read_table(world.folder / "results" / "no_store").num_rows > 0
    assert event["run"]["runId"] not in world.store.runs()


def test_a_session_that_the_function_stops_is_no_trouble(world: World) -> None:
    assert facet(world.last("broken.session_stopped"))["state"] == "captured"
    assert world.record("broken.session_stopped").state is RunState.COMPLETE


def test_copies_of_a_mapped_task_are_runs_of_their_own(world: World) -> None:
    ids = {event["run"]["runId"] for event in world.of("broken.copies")}
    assert len(ids) == 2
    records = [world.store.load(run_id) for run_id in ids]
    assert {dict(record.tags)["map_index"] for record in records} == {"0", "1"}
    names = {Path(output.dataset).name for record in records for output in record.outputs}
    assert names == {"copy_1", "copy_2"}


def test_run_ids_are_those_airflow_gives(world: World) -> None:
    """Version 7, made of the logical date: so they were not made up by the capture."""
    for job in TASKS:
        run_id = uuid.UUID(world.last(job)["run"]["runId"])
        assert run_id.version == 7
    assert world.last("example_tpch.q4")["run"]["runId"] in world.store.runs()
