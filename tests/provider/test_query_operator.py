"""A question as a task: what reaches the store, what the report holds, what others get to see."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lineage_core.errors import NotFoundError, PredicateError, UnsupportedError
from lineage_core.store import ArtifactStore
from row_lineage_provider.operators.query import RowLineageQueryOperator
from row_lineage_provider.report import folder_of

WHERE = "name = 'Zoe' AND ssn = 4711"
FOLDER = "reports/shop/revenue/manual__2026-01-02T03%3A04%3A05%2B00%3A00"


@dataclass
class FakeStore:
    """Answers every question with the same two sources."""

    artifacts: ArtifactStore
    asked: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    error: Exception | None = None

    def backward(self, dataset: str, **arguments: Any) -> Any:
        if self.error is not None:
            raise self.error
        self.asked.append(("backward", dataset, arguments))
        return SimpleNamespace(sources=self._found())

    def forward(self, dataset: str, **arguments: Any) -> Any:
        self.asked.append(("forward", dataset, arguments))
        return SimpleNamespace(outputs=self._found()[:1])

    def _found(self) -> list[Any]:
        people = pa.table({"name": ["Zoe", "Zoe"], "ssn": [4711, 4711]})
        return [
            SimpleNamespace(
                dataset="file:///people", precision="exact", reason="", to_arrow=lambda: people
            ),
            SimpleNamespace(
                dataset="s3://b/cities",
                precision="superset",
                reason="Window (operator 3)",
                to_arrow=lambda: people.slice(0, 0),
            ),
        ]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeStore:
    """The store that operators open."""
    fake = FakeStore(ArtifactStore(str(tmp_path / "lineage")))
    monkeypatch.setattr("lineage_core.lineage.open_store", lambda *_, **__: fake)
    return fake


def operator(**arguments: Any) -> RowLineageQueryOperator:
    return RowLineageQueryOperator(task_id="revenue", **{"dataset": "/out", **arguments})


def test_the_report(asked: FakeStore, context: Callable[..., Any], tmp_path: Path) -> None:
    digest = operator(where=WHERE).execute(context())
    folder = tmp_path / "lineage" / FOLDER
    report = json.loads((folder / "report.json").read_text())
    assert report["question"]["where"] == WHERE
    assert [(p["dataset"], p["rows"], p["precision"], p["reason"]) for p in report["parts"]] == [
        ("file:///people", 2, "exact", ""),
        ("s3://b/cities", 0, "superset", "Window (operator 3)"),
    ]
    assert pq.read_table(tmp_path / "lineage" / report["parts"][0]["file"]).num_rows == 2
    assert pq.read_schema(folder / "source-1.parquet").names == ["name", "ssn"]
    assert digest["report"] == f"{FOLDER}/report.json"


def test_others_get_counts_only(
    asked: FakeStore, context: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    task = operator(where=WHERE)
    digest = task.execute(context())
    assert digest["sources"] == [
        {"dataset": "file:///people", "rows": 2, "precision": "exact"},
        {"dataset": "s3://b/cities", "rows": 0, "precision": "superset"},
    ]
    seen = json.dumps(digest) + capsys.readouterr().out
    assert "Zoe" not in seen and "4711" not in seen
    lineage = task.get_openlineage_facets_on_complete(None)
    assert [(d.namespace, d.name) for d in lineage.inputs] == [
        ("file", "/out"),
        ("file", "/people"),
        ("s3://b", "cities"),
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"where": WHERE}, {"where": WHERE}),
        ({"rids": [1, 2], "hops": "1"}, {"rids": [1, 2], "hops": 1}),
        ({"rows": [{"a": 1}], "run": "r"}, {"rows": [{"a": 1}], "run": "r"}),
        ({"where": "", "run": "", "as_of": "", "hops": ""}, {}),
        ({"engine": "spark"}, {"engine": "spark"}),
    ],
)
def test_what_the_store_is_asked(
    asked: FakeStore,
    context: Callable[..., Any],
    given: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    operator(**given).execute(context())
    assert asked.asked == [("backward", "/out", {"strategy": "auto", "engine": "auto", **expected})]


def test_as_of_is_a_moment(asked: FakeStore, context: Callable[..., Any]) -> None:
    operator(as_of="2026-01-01T00:00:00+00:00").execute(context())
    assert asked.asked[0][2]["as_of"].isoformat() == "2026-01-01T00:00:00+00:00"


def test_forward_and_nothing_else(asked: FakeStore, context: Callable[..., Any]) -> None:
    digest = operator(direction="forward").execute(context())
    assert asked.asked[0][0] == "forward"
    assert len(digest["sources"]) == 1
    with pytest.raises(UnsupportedError, match="sideways"):
        operator(direction="sideways").execute(context())


def test_copies_of_a_mapped_task_have_reports_of_their_own(
    asked: FakeStore, context: Callable[..., Any]
) -> None:
    found = {operator().execute(context(map_index=i))["report"] for i in (0, 1)}
    assert found == {f"{FOLDER}/0/report.json", f"{FOLDER}/1/report.json"}


def test_a_second_try_replaces_the_report(asked: FakeStore, context: Callable[..., Any]) -> None:
    first = operator().execute(context())
    assert operator().execute(context(try_number=2)) == first


def test_it_fails_closed(asked: FakeStore, context: Callable[..., Any], tmp_path: Path) -> None:
    asked.error = NotFoundError("no run wrote /out")
    with pytest.raises(NotFoundError, match="no run wrote /out"):
        operator().execute(context())
    assert not (tmp_path / "lineage" / "reports").exists()


def test_a_predicate_that_is_wrong_is_not_quoted(
    asked: FakeStore, context: Callable[..., Any]
) -> None:
    """The message of a failed task is logged, and sent with the event."""
    asked.error = PredicateError("unexpected 'Zoe' at 4711", hint="did you mean 'Zoe'?")
    with pytest.raises(PredicateError) as raised:
        operator(where=WHERE).execute(context())
    assert str(raised.value) == "unexpected ? at ?\nHint: did you mean ??"
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("part", ["../..", "..", ".", "a/b", "%2e"])
def test_no_name_leaves_the_folder_of_reports(part: str, tmp_path: Path) -> None:
    folder = folder_of("dag", part, "run")
    ArtifactStore(str(tmp_path / "store")).write(f"{folder}/x", b"")
    (found,) = (tmp_path / "store").rglob("x")
    assert found.relative_to(tmp_path / "store").parts[:2] == ("reports", "dag")
    assert len(found.relative_to(tmp_path / "store").parts) == 5


def test_all_of_a_question_is_templated(context: Callable[..., Any]) -> None:
    task = operator(where="a = {{ params.tables }}", run="{{ params.run or '' }}")
    task.render_template_fields({"params": {"tables": 7, "run": None}})
    assert (task.where, task.run) == ("a = 7", "")
