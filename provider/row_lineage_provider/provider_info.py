"""What Airflow reads about this provider when it starts; must import nothing."""

from __future__ import annotations

from typing import Any

INTEGRATION = "Row Lineage"


def get_provider_info() -> dict[str, Any]:
    """Return the provider's description, of the form of Airflow's `provider_info.schema.json`."""
    return {
        "package-name": "airflow-provider-row-lineage",
        "name": INTEGRATION,
        "description": "Row-level lineage of Spark tasks: capture it, and ask about it.",
        "integrations": [{"integration-name": INTEGRATION, "tags": ["lineage"]}],
        "operators": [
            {
                "integration-name": INTEGRATION,
                "python-modules": [
                    "row_lineage_provider.operators.capture",
                    "row_lineage_provider.operators.index",
                    "row_lineage_provider.operators.query",
                ],
            }
        ],
        "hooks": [
            {
                "integration-name": INTEGRATION,
                "python-modules": ["row_lineage_provider.hooks.row_lineage"],
            }
        ],
        "connection-types": [_connection_type()],
        "task-decorators": [
            {
                "name": "row_lineage",
                "class-name": "row_lineage_provider.decorators.row_lineage.row_lineage_task",
            }
        ],
        "plugins": [
            {
                "name": "row_lineage",
                "plugin-class": "row_lineage_provider.plugin.RowLineagePlugin",
            }
        ],
        "config": {"row_lineage": {"description": "Row lineage.", "options": _options()}},
    }


def _connection_type() -> dict[str, Any]:
    return {
        "connection-type": "row_lineage",
        "hook-name": INTEGRATION,
        "hook-class-name": "row_lineage_provider.hooks.row_lineage.RowLineageHook",
        "ui-field-behaviour": {
            "hidden-fields": ["host", "port", "schema", "login", "password", "extra"],
            "relabeling": {},
        },
        "conn-fields": {
            "store": {
                "label": "Store URL",
                "description": "Where lineage is kept: a folder or an object store's URL",
                "schema": {"type": ["string", "null"]},
            },
            "catalog": {
                "label": "Catalog URL",
                "description": "The catalog's SQLAlchemy URL; empty: SQLite inside the store",
                "schema": {"type": ["string", "null"], "format": "password"},
            },
        },
    }


def _options() -> dict[str, dict[str, Any]]:
    return {
        "store": _option(
            "Where lineage is kept, unless the decorator or the connection says so: a folder or an "
            "object store's URL. Default: row_lineage/ under AIRFLOW_HOME.",
            example="s3://lineage/prod",
        ),
        "catalog": _option(
            "The SQLAlchemy URL of that store's catalog. Default: SQLite inside the store.",
            example="postgresql+psycopg://airflow@db/lineage",
            sensitive=True,
        ),
        "materialize": _option(
            "When intermediate results that lineage needs are saved: auto, inject, defer, never.",
            default="auto",
        ),
        "spark_master": _option(
            "The master of the Spark session a task is given when none is running.",
            default="local[*]",
        ),
        "spark_conf": _option(
            "Spark properties of that session, as a JSON object of strings.",
            example='{"spark.driver.memory": "4g"}',
        ),
    }


def _option(
    description: str, *, default: str = "", example: str | None = None, sensitive: bool = False
) -> dict[str, Any]:
    return {
        "description": description,
        "version_added": "0.1.0",
        "type": "string",
        "example": example,
        "default": default,
        "sensitive": sensitive,
    }
