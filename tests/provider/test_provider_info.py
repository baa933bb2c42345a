"""What Airflow reads of the provider: of its published form, and true."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from airflow.sdk.providers_manager_runtime import ProvidersManagerTaskRuntime

from row_lineage_provider.provider_info import get_provider_info

DISTRIBUTION = "airflow-provider-row-lineage"
DAGS = Path(__file__).parents[2] / "dags"
HEAVY = ("pyspark", "z3", "duckdb", "pyarrow", "lineage_core.lineage")


def test_it_has_the_form_airflow_asks_for() -> None:
    schema = json.loads((files("airflow") / "provider_info.schema.json").read_text())
    jsonschema.Draft7Validator(schema).validate(get_provider_info())


def test_the_package_is_named_like_the_distribution() -> None:
    """Otherwise Airflow refuses the provider, and with it everything."""
    assert get_provider_info()["package-name"] == DISTRIBUTION
    (point,) = [
        p for p in entry_points(group="apache_airflow_provider") if "row_lineage" in p.value
    ]
    assert point.dist is not None and point.dist.name == DISTRIBUTION
    assert point.load() is get_provider_info


def named_classes(tree: Any) -> list[str]:
    if isinstance(tree, dict):
        own = [v for k, v in tree.items() if k.endswith(("class-name", "plugin-class"))]
        return own + [name for value in tree.values() for name in named_classes(value)]
    if isinstance(tree, list):
        return [name for value in tree for name in named_classes(value)]
    return []


def test_everything_it_names_is_there() -> None:
    info = get_provider_info()
    names = named_classes(info)
    assert len(names) == 3
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(module), attribute)
    for kind in ("operators", "hooks"):
        for module in info[kind][0]["python-modules"]:
            import_module(module)


def test_the_connection_type_is_the_hooks() -> None:
    from row_lineage_provider.hooks.row_lineage import RowLineageHook
    from row_lineage_provider.settings import DEFAULT_CONN_ID

    manager = ProvidersManagerTaskRuntime()  # type: ignore[no-untyped-call]  # Airflow gives it no types
    hook = manager.hooks["row_lineage"]
    assert hook is not None
    assert (hook.connection_type, hook.hook_name) == (RowLineageHook.conn_type, "Row Lineage")
    assert hook.connection_id_attribute_name == RowLineageHook.conn_name_attr
    assert RowLineageHook.default_conn_name == DEFAULT_CONN_ID == "row_lineage_default"


def test_airflow_finds_the_decorator_and_the_plugin() -> None:
    from airflow.sdk import task
    from airflow.sdk.plugins_manager import integrate_macros_plugins

    from row_lineage_provider.decorators.row_lineage import row_lineage_task
    from row_lineage_provider.run_id import lineage_run_id

    assert task.row_lineage is row_lineage_task
    integrate_macros_plugins()
    from airflow.sdk.execution_time import macros

    assert vars(macros)["row_lineage"].lineage_run_id is lineage_run_id


def loaded(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules, sep='\\n')"],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(done.stdout.split("\n"))


@pytest.mark.parametrize(
    "code",
    [
        "import row_lineage_provider",
        "import row_lineage_provider.decorators.row_lineage",
        "import row_lineage_provider.operators.query",
        "import row_lineage_provider.hooks.row_lineage",
        "from airflow.dag_processing.dagbag import DagBag\n"
        f"bag = DagBag({str(DAGS)!r})\n"
        "assert not bag.import_errors, bag.import_errors\n"
        "assert set(bag.dags) >= {'example_tpch', 'example_audit', 'example_linked_views'}",
    ],
)
def test_parsing_a_dag_loads_nothing_heavy(code: str) -> None:
    assert not loaded(code) & set(HEAVY)


def test_the_provider_adds_no_sqlalchemy_of_its_own() -> None:
    assert "sqlalchemy" not in loaded("import row_lineage_provider.provider_info")
    assert "airflow" not in loaded("import row_lineage_provider.provider_info")
