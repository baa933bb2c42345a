"""A question about row lineage as a task."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from row_lineage_provider.report import Question, folder_of, write_report
from row_lineage_provider.settings import DEFAULT_CONN_ID

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors.base import OperatorLineage
    from airflow.sdk import Context

    from lineage_core.lineage import LineageStore


class RowLineageQueryOperator(BaseOperator):
    """Asks where rows came from, or what they influenced, and writes a report to the lineage store.

    The report holds counts, precision and the rows themselves; XCom gets its path and the counts.
    An answer that may hold too many rows says so (`superset`); a question that cannot be answered
    fails the task. All arguments but the connection are templated. Mind that Airflow shows them as
    rendered to whoever may see the task, except for values that it knows as secrets.

    Args:
        dataset: path, URI or OpenLineage `namespace/name` of the dataset that `where` is about.
        where: a SQL predicate that selects its rows.
        rows: instead of `where`: the rows themselves, as dicts.
        rids: instead of `where`: their row ids.
        direction: `backward` to the sources, or `forward` to the outputs.
        run: id of the run that wrote (forward: read) it; by default the newest.
        as_of: a moment, ISO 8601: the newest run before it.
        hops: how many runs to follow; by default all.
        strategy: `auto`, `saved`, `iterative`, `replay` or `index`.
        engine: `auto`, `duckdb` or `spark`.
        store: path or URL of the lineage store; by default the connection's, else the
            configuration's.
        row_lineage_conn_id: the connection that names the store; it need not exist.
    """

    template_fields: Sequence[str] = (
        "dataset",
        "where",
        "rows",
        "rids",
        "direction",
        "run",
        "as_of",
        "hops",
        "strategy",
        "engine",
        "store",
    )

    def __init__(
        self,
        *,
        dataset: str,
        where: str | None = None,
        rows: Sequence[dict[str, Any]] | None = None,
        rids: Sequence[int] | None = None,
        direction: str = "backward",
        run: str | None = None,
        as_of: str | None = None,
        hops: int | str | None = None,
        strategy: str = "auto",
        engine: str = "auto",
        store: str | None = None,
        row_lineage_conn_id: str = DEFAULT_CONN_ID,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.dataset = dataset
        self.where = where
        self.rows = rows
        self.rids = rids
        self.direction = direction
        self.run = run
        self.as_of = as_of
        self.hops = hops
        self.strategy = strategy
        self.engine = engine
        self.store = store
        self.row_lineage_conn_id = row_lineage_conn_id
        self._datasets: tuple[str, ...] = ()

    def execute(self, context: Context) -> dict[str, Any]:
        """Ask, write the report, and return its digest.

        Raises:
            LineageError: the question cannot be answered.
        """
        from row_lineage_provider.hooks.row_lineage import RowLineageHook

        question = self._question()
        self._datasets = (question.dataset,)
        store = RowLineageHook(self.row_lineage_conn_id, store=self.store).get_store()
        folder = _folder(context)
        asked = time.time()
        found = _ask(store, question)
        report = write_report(store.artifacts, folder, question, asked, found)
        for part in report.parts:
            self.log.info("%s: %d rows, %s", part.dataset, part.rows, part.precision)
        self.log.info("The report is %s/report.json in the lineage store.", folder)
        self._datasets += tuple(part.dataset for part in report.parts)
        return report.digest()

    def get_openlineage_facets_on_start(self) -> OperatorLineage[Any, Any]:
        """Return nothing: templates are not rendered and nothing is found yet."""
        from airflow.providers.openlineage.extractors.base import OperatorLineage

        return OperatorLineage()

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any]:
        """Return which datasets were asked about and found rows of."""
        from airflow.providers.openlineage.extractors.base import OperatorLineage
        from openlineage.client.event_v2 import InputDataset

        from lineage_core.datasets import canonical, openlineage_name

        names = dict.fromkeys(openlineage_name(canonical(name)) for name in self._datasets)
        return OperatorLineage(inputs=[InputDataset(*name) for name in names])

    def _question(self) -> Question:
        # A template that renders to nothing means that nothing was given.
        return Question(
            direction=self.direction,
            dataset=self.dataset,
            where=self.where or None,
            rows=None if self.rows is None else tuple(self.rows),
            rids=None if self.rids is None else tuple(self.rids),
            run=self.run or None,
            as_of=self.as_of or None,
            hops=int(self.hops) if self.hops else None,
            strategy=self.strategy,
            engine=self.engine,
        )


def _ask(store: LineageStore, question: Question) -> Iterable[Any]:
    from lineage_core.errors import PredicateError
    from lineage_core.openlineage.shapes import masked

    try:
        return _answer(store, question)
    except PredicateError as error:
        # Its words go to the log and to the event, where the values of a predicate must not be.
        raise PredicateError(masked(error.what), hint=masked(error.hint)) from None


def _answer(store: LineageStore, question: Question) -> Iterable[Any]:
    match question.direction:
        case "backward":
            return store.backward(question.dataset, **question.arguments()).sources
        case "forward":
            return store.forward(question.dataset, **question.arguments()).outputs
        case other:
            from lineage_core.errors import UnsupportedError

            raise UnsupportedError(f"there is no direction {other!r}", hint="backward or forward")


def _folder(context: Context) -> str:
    task = context["ti"]
    copy = () if task.map_index is None or task.map_index < 0 else (task.map_index,)
    return folder_of(task.dag_id, task.task_id, task.run_id, *copy)
