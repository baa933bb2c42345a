"""The id under which a task's lineage is kept: the task's OpenLineage run id.

So an event of the official OpenLineage provider and a run in the lineage store are about the same
thing when their ids are equal. The id exists before the task runs, and without OpenLineage too.
"""

from __future__ import annotations

import uuid
from typing import Any


def lineage_run_id(task_instance: Any) -> str:
    """Return the run id of a task instance: one try of one task, or of one of its mapped copies."""
    try:
        from airflow.providers.openlineage.plugins import macros
    except ImportError:
        return _own_id(task_instance)
    return str(macros.lineage_run_id(task_instance))


def _own_id(task_instance: Any) -> str:
    # Without the OpenLineage provider there is no event to agree with: any stable id will do.
    key = (
        task_instance.dag_id,
        task_instance.task_id,
        task_instance.run_id,
        task_instance.try_number,
        task_instance.map_index,
    )
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "row-lineage:" + "/".join(map(str, key))))
