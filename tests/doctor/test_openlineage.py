"""The doctor on OpenLineage: which transport counts, and whether its host is there."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_core.doctor import Check, Subject, Verdict
from lineage_core.doctor.openlineage import openlineage


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No configuration of the machine; the client's own changes of the environment are undone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    before = dict(os.environ)
    yield
    for name in set(os.environ) - set(before):
        del os.environ[name]


@pytest.fixture
def port() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def examine() -> list[Check]:
    return list(openlineage(Subject("unused")))


def test_nothing_configured_is_a_warning() -> None:
    (check,) = examine()
    assert (check.verdict, "OPENLINEAGE_URL" in check.advice) == (Verdict.WARNING, True)


def test_a_host_that_is_there(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{port}")
    (check,) = examine()
    assert (check.verdict, f"127.0.0.1:{port}" in check.found) == (Verdict.OK, True)


def test_a_host_that_is_not(closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{closed_port}")
    (check,) = examine()
    assert (check.verdict, "refused" in check.found) == (Verdict.FAILED, True)


def test_async_http_under_airflow(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap 3: every event is lost although the log says that it was sent."""
    setting = json.dumps({"type": "async_http", "url": f"http://127.0.0.1:{port}"})
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__TRANSPORT", setting)
    (check,) = examine()
    assert (check.verdict, "type http" in check.advice) == (Verdict.FAILED, True)


def test_airflow_cfg_counts(tmp_path: Path, port: int, closed_port: int) -> None:
    parts = [
        {"type": "http", "url": f"http://127.0.0.1:{port}"},
        {"type": "http", "url": f"http://127.0.0.1:{closed_port}"},
        {"type": "file", "log_file_path": str(tmp_path / "events.json")},
    ]
    setting = json.dumps({"type": "composite", "transports": parts})
    (tmp_path / "airflow.cfg").write_text(f"[openlineage]\ntransport = {setting}\n")
    assert [check.verdict for check in examine()] == [Verdict.OK, Verdict.FAILED, Verdict.OK]


@pytest.mark.parametrize("setting", ["{not json", '["http"]', '{"type": "no.such.Transport"}'])
def test_a_configuration_that_is_refused(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__TRANSPORT", setting)
    (check,) = examine()
    assert (check.verdict, "refused" in check.found) == (Verdict.FAILED, True)


def test_no_key_is_shown(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", f"http://someone:hunter2@127.0.0.1:{port}")
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "hunter3")
    assert "hunter" not in str(examine())
