"""Building the rid indexes of a run as a task (Smoke's *defer*)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from row_lineage_provider.settings import DEFAULT_CONN_ID

if TYPE_CHECKING:
    from airflow.sdk import Context

    from lineage_core.query.indexing import Building


class BuildLineageIndexOperator(BaseOperator):
    """Builds the rid indexes of what a captured run wrote; questions about it use them afterwards.

    XCom gets what was built: for each output and source how many pairs of rows are related, and
    the bytes both indexes take. All arguments but the connection are templated;
    `{{ macros.row_lineage.lineage_run_id(...) }}` gives the run of a task.

    Args:
        run: id of the run, or its beginning.
        engine: evaluates the lineage programs: `auto`, `duckdb` or `spark`.
        store: path or URL of the lineage store; by default the connection's, else the
            configuration's.
        row_lineage_conn_id: the connection that names the store; it need not exist.
    """

    template_fields: Sequence[str] = ("run", "engine", "store")

    def __init__(
        self,
        *,
        run: str,
        engine: str = "auto",
        store: str | None = None,
        row_lineage_conn_id: str = DEFAULT_CONN_ID,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.run = run
        self.engine = engine
        self.store = store
        self.row_lineage_conn_id = row_lineage_conn_id

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Build the indexes, and return what was built.

        Raises:
            LineageError: the run is not known, or cannot be indexed.
        """
        from row_lineage_provider.hooks.row_lineage import RowLineageHook

        store = RowLineageHook(self.row_lineage_conn_id, store=self.store).get_store()
        made = store.index(run=self.run, engine=self.engine, progress=self._log)
        return [
            {
                "output": record.dataset,
                "source": entry.dataset,
                "pairs": entry.pairs,
                "bytes": entry.size,
            }
            for record in made
            for entry in record.entries
        ]

    def _log(self, state: Building) -> None:
        """Log the beginning of each source, and those that get no index."""
        if state.left_out:
            self.log.warning("%s is left out: %s", state.source, state.left_out)
        elif not state.total:
            self.log.info("indexing %s by rows of %s", state.output, state.source)
