"""The Airflow plugin: what templates may ask about a task's lineage."""

from __future__ import annotations

from airflow.sdk.plugins_manager import AirflowPlugin

from row_lineage_provider.run_id import lineage_run_id


class RowLineagePlugin(AirflowPlugin):
    """Gives templates `{{ macros.row_lineage.lineage_run_id(ti) }}`."""

    name = "row_lineage"
    macros = [lineage_run_id]  # noqa: RUF012 - Airflow appends to a list
