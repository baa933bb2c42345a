"""Where the store is: author, connection, configuration, Airflow's home, in this order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.configuration import AIRFLOW_HOME

from lineage_core.errors import NotFoundError, UnsupportedError
from row_lineage_provider import settings
from row_lineage_provider.hooks.row_lineage import RowLineageHook
from row_lineage_provider.settings import StoreAddress, store_address

PASSWORD = "correct-horse-battery"


def connect(
    monkeypatch: pytest.MonkeyPatch, name: str = "ROW_LINEAGE_DEFAULT", **extra: Any
) -> None:
    connection = {"conn_type": "row_lineage", "extra": extra}
    monkeypatch.setenv(f"AIRFLOW_CONN_{name}", json.dumps(connection))


def configure(monkeypatch: pytest.MonkeyPatch, **options: str) -> None:
    for name, value in options.items():
        monkeypatch.setenv(f"AIRFLOW__ROW_LINEAGE__{name.upper()}", value)


def test_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert store_address() == StoreAddress(f"{AIRFLOW_HOME}/row_lineage")
    configure(monkeypatch, store="s3://configured", catalog="sqlite:///configured")
    assert store_address() == StoreAddress("s3://configured", "sqlite:///configured")
    connect(monkeypatch, store="s3://connected")
    assert store_address() == StoreAddress("s3://connected")
    assert store_address("s3://asked") == StoreAddress("s3://asked")
    connect(monkeypatch, "OTHER", store="s3://other", catalog="sqlite:///other")
    assert store_address(conn_id="other") == StoreAddress("s3://other", "sqlite:///other")
    assert store_address(conn_id="none") == StoreAddress("s3://configured", "sqlite:///configured")


def test_a_catalog_without_a_store_goes_with_the_default_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure(monkeypatch, catalog="sqlite:///configured")
    assert store_address() == StoreAddress(f"{AIRFLOW_HOME}/row_lineage", "sqlite:///configured")


def test_a_connection_without_a_store_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect(monkeypatch, catalog=f"postgresql://u:{PASSWORD}@db/c")
    with pytest.raises(NotFoundError, match="row_lineage_default") as raised:
        store_address()
    assert PASSWORD not in str(raised.value)


def test_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.spark_settings() == settings.SparkSettings("local[*]", ())
    configure(monkeypatch, spark_master="local[3]", spark_conf='{"b": "1", "a": "2"}')
    assert settings.spark_settings().conf == (("a", "2"), ("b", "1"))
    asked = settings.spark_settings("local[1]", {"b": "9"})
    assert asked == settings.SparkSettings("local[1]", (("a", "2"), ("b", "9")))
    assert (settings.materialize(), settings.materialize("never")) == ("auto", "never")


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', "true"])
def test_spark_properties_that_are_none(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    configure(monkeypatch, spark_conf=text)
    with pytest.raises(UnsupportedError, match="spark_conf"):
        settings.spark_settings()


def test_a_password_does_not_show(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    """Neither in what is printed of an address, nor in a log, nor in the test of a connection."""
    catalog = f"postgresql+psycopg://lineage:{PASSWORD}@127.0.0.1:1/none"
    connect(monkeypatch, store=str(tmp_path), catalog=catalog)
    assert PASSWORD not in repr(store_address())
    hook = RowLineageHook()
    assert hook.test_connection()[0] is False
    assert PASSWORD not in hook.test_connection()[1]
    from airflow.sdk._shared.secrets_masker import redact

    assert redact(f"could not connect to {catalog}") == f"could not connect to {catalog}".replace(
        PASSWORD, "***"
    )
    assert PASSWORD not in capsys.readouterr().out


def test_the_hook_opens_the_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    connect(monkeypatch, store=str(tmp_path / "lineage"))
    assert RowLineageHook().get_store().url == f"file://{tmp_path}/lineage"
    assert RowLineageHook().get_conn().url == f"file://{tmp_path}/lineage"
    assert RowLineageHook(store=str(tmp_path / "other")).get_store().url.endswith("/other")
    assert RowLineageHook().test_connection() == (
        True,
        "the lineage store and its catalog can be read",
    )
