"""A Python task whose Spark writes are captured.

Everything an event needs is computed while the task runs and kept as plain data. Airflow's
OpenLineage listener calls the `get_openlineage_...` methods in a forked child, where Spark must not
be touched. What a task needs to run is imported when it runs: DAG files are parsed all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk.bases.decorator import is_async_callable

from row_lineage_provider import settings
from row_lineage_provider.injection import injected, wanted

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors.base import OperatorLineage
    from airflow.sdk import Context
    from pyspark.sql import SparkSession

    from lineage_core.capture.session import Capture
    from lineage_core.openlineage import RunLineage
    from lineage_core.store.manifest import RunRecord
    from row_lineage_provider.recording import TaskRun


class RowLineageCaptureOperator(PythonOperator):
    """Runs a function and captures all it writes with Spark; capturing never fails the task.

    The function may have a parameter `spark`, which gets a Spark session, and one called `run`,
    which gets the capture; the caller gives neither.

    Args:
        python_callable: the function; not `async`.
        store: path or URL of the lineage store (templated); by default the connection's, else the
            configuration's.
        row_lineage_conn_id: the connection that names the store; it need not exist.
        materialize: when intermediates are saved: `auto`, `inject`, `defer`, `never`.
        index: whether rid indexes are built of what it writes, in the same run.
        workload: the queries that these are for, with parameters for what varies; implies `index`.
        spark_master: master of the session that is started when none is active.
        spark_conf: Spark properties of that session, added to the configuration's.
    """

    template_fields: Sequence[str] = (*PythonOperator.template_fields, "store")

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        store: str | None = None,
        row_lineage_conn_id: str = settings.DEFAULT_CONN_ID,
        materialize: str | None = None,
        index: bool = False,
        workload: Sequence[str] | None = None,
        spark_master: str | None = None,
        spark_conf: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        if is_async_callable(python_callable):  # type: ignore[no-untyped-call]  # has no types
            raise TypeError(f"{python_callable.__name__} is async; Spark tasks are not")
        super().__init__(python_callable=injected(python_callable, {}), **kwargs)
        self.store = store
        self.row_lineage_conn_id = row_lineage_conn_id
        self.materialize = materialize
        self.index = index
        self.workload = workload
        self.spark_master = spark_master
        self.spark_conf = dict(spark_conf or {})
        self._task_run: TaskRun | None = None
        self._lineage: RunLineage | None = None

    def execute(self, context: Context) -> Any:
        """Run the function under capture, and keep what the events will say."""
        from row_lineage_provider.recording import TaskRun

        self._task_run = TaskRun.of(context)
        return super().execute(context)

    def execute_callable(self) -> Any:
        """Call the function with what it asked for, inside a capture."""
        from lineage_core.execute.session import spark_session
        from row_lineage_provider.recording import Recording

        task = self._task_run
        assert task is not None, "execute() comes first"
        spark = settings.spark_settings(self.spark_master, self.spark_conf)
        with spark_session(task.job, master=spark.master, conf=dict(spark.conf)) as session:
            recording = Recording(task, lambda: self._capture(session, task), self.log)
            try:
                with recording as run:
                    values = {"spark": session, "run": run}
                    asked = {name: values[name] for name in wanted(self.python_callable)}
                    self.python_callable = injected(self.python_callable, asked)
                    return super().execute_callable()
            finally:
                self._lineage = self._describe(recording.record)

    def _capture(self, spark: SparkSession, task: TaskRun) -> AbstractContextManager[Capture]:
        from row_lineage_provider.hooks.row_lineage import RowLineageHook

        store = RowLineageHook(self.row_lineage_conn_id, store=self.store).get_store()
        return store.capture(
            spark,
            job=task.job,
            run_id=task.run_id,
            tags=dict(task.tags),
            materialize=settings.materialize(self.materialize),
            index=self.index,
            workload=self.workload,
        )

    def _describe(self, record: RunRecord) -> RunLineage | None:
        if not _openlineage_is_active():
            return None
        try:
            from lineage_core.openlineage import describe

            mode = settings.materialize(self.materialize)
            return describe(record, store=self._store_url(), materialize=mode)
        except Exception as error:
            self.log.warning("The event has no row lineage (%s).", type(error).__name__)
            self.log.debug("Why it has none", exc_info=error)
            return None

    def _store_url(self) -> str:
        """Return the store's URL; empty when there is none, and so nothing was captured."""
        from lineage_core.datasets import canonical
        from lineage_core.errors import LineageError

        try:
            address = settings.store_address(self.store, self.row_lineage_conn_id)
            return canonical(address.store.partition("?")[0])
        except LineageError:
            return ""

    def get_openlineage_facets_on_start(self) -> OperatorLineage[Any, Any]:
        """Return nothing: what a function reads and writes is not known before it has run."""
        return _operator_lineage(None)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any]:
        """Return what was computed while the task ran."""
        return _operator_lineage(self._lineage)

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> OperatorLineage[Any, Any]:
        """Return what the task read and wrote before it failed."""
        return _operator_lineage(self._lineage)


def _openlineage_is_active() -> bool:
    try:
        from airflow.providers.openlineage.api import is_openlineage_active
    except ImportError:
        return False
    return bool(is_openlineage_active())


def _operator_lineage(lineage: RunLineage | None) -> OperatorLineage[Any, Any]:
    from airflow.providers.openlineage.extractors.base import OperatorLineage

    if lineage is None:
        return OperatorLineage()
    return OperatorLineage(
        inputs=list(lineage.inputs),
        outputs=list(lineage.outputs),
        run_facets=lineage.run_facets,
        job_facets=lineage.job_facets,
    )
