"""What is handed to the listener: published forms, whole schemas, no value, no more than fits."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from lineage_core.openlineage import FACET_KEY, FACET_SCHEMA, PRODUCER, describe
from lineage_core.openlineage.summary import BUDGET
from lineage_core.plan.expr import TRUE, Call, Column, Frame, FrameUnit, Literal, WindowCall
from lineage_core.plan.relation import (
    Field,
    Join,
    JoinKind,
    Named,
    Opaque,
    Project,
    Scan,
    SortKey,
    Window,
)
from lineage_core.plan.traverse import nodes
from lineage_core.snapshot import ColumnType, Snapshot
from lineage_core.store.manifest import OutputRecord, RunRecord, RunState

Event = Callable[..., dict[str, Any]]
Record = Callable[..., RunRecord]

STORE = "s3://user:pa55@bucket/lineage?secret_key=k3y"


def facet_of(event: dict[str, Any]) -> dict[str, Any]:
    facet: dict[str, Any] = event["run"]["facets"][FACET_KEY]
    return facet


@pytest.fixture
def q4_event(q4: OutputRecord, record: Record, event: Event) -> dict[str, Any]:
    """The event of a captured Q4."""
    return event(describe(record(q4), store=STORE, materialize="inject"))


def test_inputs_have_schema_version_source_and_alias(q4_event: dict[str, Any]) -> None:
    orders, lines = q4_event["inputs"]
    assert (orders["namespace"], orders["name"]) == ("file", "/data/orders.parquet")
    assert (lines["namespace"], lines["name"]) == ("s3://bucket", "lineitem")
    assert [(f["name"], f["type"]) for f in orders["facets"]["schema"]["fields"]] == [
        ("o_orderkey", "long"),
        ("o_orderpriority", "string"),
        ("o_orderdate", "date"),
    ]
    assert len(orders["facets"]["version"]["datasetVersion"]) == 32
    assert lines["facets"]["dataSource"]["uri"] == "s3://bucket"
    assert orders["facets"]["symlinks"]["identifiers"][0]["name"] == "spark_catalog.default.orders"
    assert "symlinks" not in lines["facets"]


def test_the_output_has_column_lineage_and_statistics(q4_event: dict[str, Any]) -> None:
    (output,) = q4_event["outputs"]
    columns = output["facets"]["columnLineage"]
    assert columns["fields"] == {
        "o_orderpriority": {
            "inputFields": [
                {
                    "namespace": "file",
                    "name": "/data/orders.parquet",
                    "field": "o_orderpriority",
                    "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}],
                }
            ]
        }
    }
    influence = {
        (field["field"], how["type"], how["subtype"])
        for field in columns["dataset"]
        for how in field["transformations"]
    }
    assert ("l_commitdate", "INDIRECT", "FILTER") in influence
    assert ("o_orderpriority", "INDIRECT", "GROUP_BY") in influence
    statistics = output["outputFacets"]["outputStatistics"]
    assert (statistics["rowCount"], statistics["size"], statistics["fileCount"]) == (5, 1000, 1)


def test_windows_have_their_subtype_and_the_unknown_has_none(
    q4: OutputRecord, record: Record, event: Event
) -> None:
    assert q4.plan is not None
    orders, lines = (node for node in nodes(q4.plan) if isinstance(node, Scan))
    frame = Frame(FrameUnit.ROWS, None, Literal(0, "integer"))
    number = Named(50, "order_count", WindowCall("row_number", (), "integer", frame), "integer")
    numbered = Window(
        1, (Column(1, "long"),), (SortKey(Column(3, "date"), True, True),), (number,), orders
    )
    mapped = Opaque(2, "Map", "user code", (Field(60, "m", "long"),), (lines,))
    sent = event(
        describe(
            record(replace(q4, plan=Join(0, JoinKind.INNER, TRUE, numbered, mapped))), store="/l"
        )
    )
    columns = sent["outputs"][0]["facets"]["columnLineage"]
    windowed = columns["fields"]["order_count"]["inputFields"]
    assert {field["field"] for field in windowed} == {"o_orderkey", "o_orderdate"}
    for field in windowed:
        assert field["transformations"] == [{"type": "INDIRECT", "subtype": "WINDOW"}]
    assert "lineitem" not in json.dumps(columns)


def test_every_end_of_column_lineage_is_in_a_schema(q4_event: dict[str, Any]) -> None:
    """Marquez drops an edge unless it knows the column at both ends."""
    known = {
        (data["namespace"], data["name"], field["name"])
        for data in q4_event["inputs"]
        for field in data["facets"]["schema"]["fields"]
    }
    columns = q4_event["outputs"][0]["facets"]["columnLineage"]
    used = [f for value in columns["fields"].values() for f in value["inputFields"]]
    ends = {(f["namespace"], f["name"], f["field"]) for f in used + columns["dataset"]}
    assert ends <= known
    written = {f["name"] for f in q4_event["outputs"][0]["facets"]["schema"]["fields"]}
    assert set(columns["fields"]) <= written


def test_the_run_facet_points_to_the_manifest(q4_event: dict[str, Any]) -> None:
    facet = facet_of(q4_event)
    assert (facet["_producer"], facet["_schemaURL"]) == (PRODUCER, FACET_SCHEMA)
    assert facet["manifest"] == f"runs/{facet['runId']}/manifest.json"
    assert (facet["state"], facet["materialize"]) == ("captured", "inject")
    (output,) = facet["outputs"]
    assert (output["rows"], output["bytesSaved"], output["strategy"]) == (5, 1000, "direct")
    assert output["artifacts"][0]["files"] == ["runs/r/0/step-1/part-0.parquet"]
    assert output["snapshot"] == q4_event["outputs"][0]["facets"]["version"]["datasetVersion"]
    assert [s["precision"] for s in output["sources"]] == ["exact", "superset"]
    assert output["sources"][1]["reason"] == "Window (operator 5) compares with ? and ?"


def test_no_value_and_no_credential_is_in_the_event(q4_event: dict[str, Any], secret: str) -> None:
    text = json.dumps(q4_event)
    for value in (secret, "URGENT", "1993-07-01", "4711", "pa55", "user", "k3y"):
        assert value not in text
    assert facet_of(q4_event)["store"] == "s3://bucket/lineage"


def test_every_facet_of_ours_names_us(q4_event: dict[str, Any], published: ModuleType) -> None:
    """Airflow's provider makes itself the producer of whatever does not say who made it."""
    assert {facet["_producer"] for facet in published.facets(q4_event)} == {PRODUCER}


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"uncaptured": "SparkError: value 'Zoe' of Zoe"}, "uncaptured"),
        ({"uncaptured": "the store could not be opened", "state": RunState.FAILED}, "uncaptured"),
    ],
)
def test_an_uncaptured_run_says_so(
    record: Record, event: Event, changes: dict[str, Any], state: str
) -> None:
    facet = facet_of(event(describe(record(**changes), store="/lineage")))
    assert (facet["state"], facet["outputs"]) == (state, [])
    assert facet["reason"] in ("SparkError", "the store could not be opened")


def test_an_uncaptured_write_among_others(q4: OutputRecord, record: Record, event: Event) -> None:
    lost = replace(
        q4,
        dataset="file:///results/lost",
        snapshot=None,
        plan=None,
        program=None,
        inputs=(),
        artifacts=(),
        rows=-1,
        uncaptured="no Parquet: Zoe",
    )
    sent = event(describe(record(q4, lost), store="/lineage"))
    facet = facet_of(sent)
    assert (facet["state"], facet["reason"]) == ("partial", "1 of 2 outputs uncaptured")
    assert facet["outputs"][1] == {
        "dataset": {"namespace": "file", "name": "/results/lost"},
        "mode": "overwrite",
        "state": "uncaptured",
        "reason": "no Parquet",
    }
    assert [data["name"] for data in sent["outputs"]] == ["/results/q4", "/results/lost"]
    assert "rowCount" not in sent["outputs"][1]["outputFacets"]["outputStatistics"]


@pytest.mark.parametrize(
    ("modes", "rows"),
    [(("append", "append"), 10), (("append", "overwrite"), 5), (("overwrite", "append"), 10)],
)
def test_writes_to_one_dataset_are_one_output(
    q4: OutputRecord, record: Record, event: Event, modes: tuple[str, str], rows: int
) -> None:
    sent = event(describe(record(*(replace(q4, mode=mode) for mode in modes)), store="/l"))
    (output,) = sent["outputs"]
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == rows
    assert len(facet_of(sent)["outputs"]) == 2
    assert len(sent["inputs"]) == 2


def test_nested_types_are_nested_fields(q4: OutputRecord, record: Record, event: Event) -> None:
    struct = {"name": "f", "type": "long", "nullable": True, "metadata": {}}
    array = {"type": "array", "elementType": {"type": "struct", "fields": [struct]}}
    types = [
        json.dumps(array),
        json.dumps({"type": "map", "keyType": "string", "valueType": "long"}),
    ]
    columns = tuple(ColumnType(f"c{i}", text) for i, text in enumerate(types))
    assert q4.snapshot is not None
    nested = replace(q4, snapshot=replace(q4.snapshot, columns=columns))
    fields = event(describe(record(nested), store="/l"))["outputs"][0]["facets"]["schema"]["fields"]
    element = fields[0]["fields"][0]
    assert (fields[0]["type"], element["name"], element["type"]) == ("array", "_element", "struct")
    assert element["fields"][0]["name"] == "f"
    assert [(f["name"], f["type"]) for f in fields[1]["fields"]] == [
        ("key", "string"),
        ("value", "long"),
    ]


def wide(q4: OutputRecord, columns: int) -> OutputRecord:
    """A write of many columns, each made of two of as many source columns."""
    fields = tuple(Field(i, f"column_{i}", "long") for i in range(columns))
    named = tuple(
        Named(
            columns + i,
            f"column_{i}",
            Call("add", (Column(i, "long"), Column((i + 1) % columns, "long")), "long"),
            "long",
        )
        for i in range(columns)
    )
    types = tuple(ColumnType(field.name, field.type) for field in fields)
    source = Snapshot("file:///data/wide", "parquet", types, ())
    return replace(
        q4,
        plan=Project(0, named, Scan(1, 0, "wide", fields)),
        inputs=(source, *q4.inputs[1:]),
        snapshot=replace(q4.snapshot, columns=types) if q4.snapshot else None,
    )


def test_a_wide_output_keeps_the_budget_and_says_so(
    q4: OutputRecord, record: Record, event: Event
) -> None:
    sent = event(describe(record(wide(q4, 2000)), store="/l"))
    columns = sent["outputs"][0]["facets"]["columnLineage"]
    assert 50 < len(columns["fields"]) < 2000
    assert len(json.dumps(columns)) + len(json.dumps(facet_of(sent))) <= 64 * 1024
    assert "column lineage" in facet_of(sent)["truncated"]
    assert len(sent["inputs"][0]["facets"]["schema"]["fields"]) == 2000
    narrow = event(describe(record(wide(q4, 20)), store="/l"))
    assert len(narrow["outputs"][0]["facets"]["columnLineage"]["fields"]) == 20
    assert "truncated" not in facet_of(narrow)


def test_many_outputs_keep_the_budget_and_say_so(
    q4: OutputRecord, record: Record, event: Event
) -> None:
    many = [replace(q4, dataset=f"file:///results/{i:04}") for i in range(300)]
    facet = facet_of(event(describe(record(*many), store="/l")))
    assert len(json.dumps(facet)) <= BUDGET + 1024
    assert "all details of outputs" in facet["truncated"]
    few = facet_of(event(describe(record(*many[:5]), store="/l")))
    assert len(few["outputs"]) == 5
    assert "truncated" not in few and few["outputs"][4]["sources"][0]["predicates"]


def redactor(secret: str) -> Callable[[Any], Any]:
    from airflow.providers.openlineage.utils.utils import OpenLineageRedactor

    masker = OpenLineageRedactor()
    masker.sensitive_variables_fields = ["password", "token", "secret", "api_key", "passphrase"]
    masker.add_mask(secret)
    return lambda sent: masker.redact(sent, max_depth=20)


def test_redaction_leaves_columns_with_telling_names_alone(
    q4: OutputRecord, record: Record, event: Event
) -> None:
    """A column may be called `password`; its lineage is no secret, and Airflow must not drop it."""
    names = ("password", "token", "secret", "api_key", "passphrase")
    fields = tuple(Field(i, name, "string") for i, name in enumerate(names))
    named = tuple(Named(f.id, f.name, Column(f.id, f.type), f.type) for f in fields)
    types = tuple(ColumnType(name, "string") for name in names)
    assert q4.snapshot is not None
    output = replace(
        q4,
        plan=Project(0, named, Scan(1, 0, "t", fields)),
        inputs=(replace(q4.inputs[0], columns=types), q4.inputs[1]),
        snapshot=replace(q4.snapshot, columns=types),
    )
    lineage = describe(record(output), store="/lineage")
    assert redactor("unrelated")({"password": "x", "other": "x"}) == {
        "password": "***",
        "other": "x",
    }
    plain = event(lineage)
    masked = event(describe(record(output), store="/lineage"), redact=redactor("unrelated"))
    assert masked == plain
    assert set(masked["outputs"][0]["facets"]["columnLineage"]["fields"]) == set(names)


def test_redaction_still_masks_a_secret_but_never_the_manifest(
    q4: OutputRecord, record: Record, event: Event
) -> None:
    sent = event(describe(record(q4), store="/hidden/manifest"), redact=redactor("manifest"))
    facet = facet_of(sent)
    assert facet["store"] == "/hidden/***"
    assert facet["manifest"] == f"runs/{facet['runId']}/manifest.json"


def test_the_schema_is_stable_and_strict(q4_event: dict[str, Any], published: ModuleType) -> None:
    schema = json.loads(
        (Path(__file__).parents[2] / "docs/spec/row-lineage-run-facet-1-0-0.json").read_text()
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    assert f"{schema['$id']}#/$defs/RowLineageRunFacet" == FACET_SCHEMA
    for change in ({"state": "fine"}, {"literal": "Zoe"}, {"runId": None}, {"store": 1}):
        broken = json.loads(json.dumps(q4_event))
        facet_of(broken).update(change)
        with pytest.raises(jsonschema.ValidationError):
            published.validate_event(broken)


@pytest.mark.parametrize("path", ["eventTime", "run", "job", "producer"])
def test_the_published_schema_refuses_an_event_without(
    path: str, q4_event: dict[str, Any], published: ModuleType
) -> None:
    del q4_event[path]
    with pytest.raises(jsonschema.ValidationError):
        published.validate_event(q4_event)


def test_the_published_schema_refuses_what_is_not_published(
    q4_event: dict[str, Any], published: ModuleType
) -> None:
    schema = q4_event["outputs"][0]["facets"]["schema"]
    for change in ({"fields": [{"type": "long"}]}, {"_schemaURL": "https://example.com/x.json"}):
        broken = json.loads(json.dumps(q4_event))
        broken["outputs"][0]["facets"]["schema"] = schema | change
        with pytest.raises(jsonschema.ValidationError):
            published.validate_event(broken)


def test_describing_a_run_changes_nothing_in_it(q4: OutputRecord, record: Record) -> None:
    one, two = (describe(record(q4), store="/l") for _ in range(2))
    assert one == two
