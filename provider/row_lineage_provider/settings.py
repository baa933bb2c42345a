"""What the deployment says about row lineage: Airflow's configuration and connection, as data.

This is the only place that reads configuration, and it does so while a task runs, never on import.
The store of a task is, first match wins: what the task's author wrote, the connection,
`[row_lineage] store`, the folder `row_lineage` in Airflow's home. A catalog goes with the place its
store was named in.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

SECTION = "row_lineage"
DEFAULT_CONN_ID = "row_lineage_default"
DEFAULT_FOLDER = "row_lineage"


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """Where lineage is kept.

    Attributes:
        store: path or URL of the store.
        catalog: SQLAlchemy URL of its catalog; None for SQLite inside the store. It may hold a
            password, so it does not show in `repr`.
    """

    store: str
    catalog: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """The Spark session a task is given when none is running.

    Attributes:
        master: Spark's master URL.
        conf: Spark properties.
    """

    master: str
    conf: tuple[tuple[str, str], ...]


def store_address(store: str | None = None, conn_id: str = DEFAULT_CONN_ID) -> StoreAddress:
    """Return where the lineage of a task is kept.

    Args:
        store: the store the task's author asked for, if any.
        conn_id: the connection to ask next; that it does not exist is no error.

    Raises:
        NotFoundError: the connection is there and names no store.
    """
    if store:
        return StoreAddress(store)
    found = _from_connection(conn_id)
    if found is not None:
        return found
    return StoreAddress(_option("store") or _default_store(), _option("catalog") or None)


def spark_settings(
    master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSettings:
    """Return the Spark session to open; `conf` is added to what the configuration says.

    Raises:
        UnsupportedError: `[row_lineage] spark_conf` is not a JSON object of strings.
    """
    properties = _properties(_option("spark_conf")) | dict(conf or {})
    return SparkSettings(
        master or _option("spark_master") or "local[*]", tuple(sorted(properties.items()))
    )


def materialize(mode: str | None = None) -> str:
    """Return when intermediates are saved: `mode` if given, else what the configuration says."""
    return mode or _option("materialize") or "auto"


def _from_connection(conn_id: str) -> StoreAddress | None:
    from airflow.sdk import Connection
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        extra = Connection.get(conn_id).extra_dejson
    except AirflowNotFoundException:
        return None
    if not extra.get("store"):
        from lineage_core.errors import NotFoundError

        raise NotFoundError(
            f"connection {conn_id!r} names no store", hint="fill in its field `store`, or delete it"
        )
    return StoreAddress(str(extra["store"]), extra.get("catalog") or None)


def _option(name: str) -> str:
    from airflow.sdk.configuration import conf

    return str(conf.get(SECTION, name, fallback="") or "").strip()


def _properties(text: str) -> dict[str, str]:
    try:
        tree = json.loads(text or "{}")
    except ValueError:
        tree = None
    if not isinstance(tree, dict) or not all(isinstance(value, str) for value in tree.values()):
        from lineage_core.errors import UnsupportedError

        raise UnsupportedError(
            f"[{SECTION}] spark_conf is not a JSON object of strings",
            hint='write it like {"spark.driver.memory": "4g"}',
        )
    return tree


def _default_store() -> str:
    from airflow.configuration import AIRFLOW_HOME

    return os.path.join(AIRFLOW_HOME, DEFAULT_FOLDER)
