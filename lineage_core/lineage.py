"""The public API: a store of captured runs, which captures, indexes, finds and asks (DESIGN 3)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from lineage_core.errors import UnsupportedError
from lineage_core.questions import Questions
from lineage_core.store.filesystem import ArtifactStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lineage_core.capture.session import BuildIndex, Capture
    from lineage_core.catalog import RebuildReport, RunSummary
    from lineage_core.index.record import IndexRecord
    from lineage_core.plan.program import LineageProgram
    from lineage_core.query.consuming.workload import Workload
    from lineage_core.query.relations import Computed, Relations
    from lineage_core.query.writing import Building
    from lineage_core.store.carried import Carried
    from lineage_core.store.manifest import OutputRecord, RunRecord

_logger = logging.getLogger(__name__)


def open_store(url: str = "lineage/", catalog: str | None = None) -> LineageStore:
    """Return the store of captured runs at a path or filesystem URL.

    Args:
        url: where runs and their files are, or will be.
        catalog: SQLAlchemy URL of the catalog; by default a SQLite file inside a local store.
    """
    return LineageStore(ArtifactStore(url), catalog)


class LineageStore(Questions):
    """Captured runs, and the questions about rows that they answer (see `Questions`)."""

    def __repr__(self) -> str:
        return f"LineageStore({self.artifacts.url!r})"

    def capture(
        self,
        spark: SparkSession,
        *,
        job: str,
        run_id: str | None = None,
        tags: Mapping[str, str] | None = None,
        materialize: str = "auto",
        index: bool = False,
        workload: Sequence[str] | None = None,
    ) -> Capture:
        """Return a context in which every DataFrame write of `spark` is captured as one run.

        Args:
            spark: the session whose writes are captured.
            job: the job's name.
            run_id: a UUID; made up if not given.
            tags: facts to find the run by later.
            materialize: when intermediates are saved: `auto`, `inject`, `defer` or `never`.
            index: whether rid indexes are built of each write, in the same run: the rids of the
                sources ride along with the rows where the plan can carry them; elsewhere, they
                are computed by the program after the write, as by `index()`.
            workload: the queries that these indexes are for, as in `index()`; implies `index`.

        Raises:
            PredicateError: a query of the workload is none.
        """
        from lineage_core.capture.session import Capture

        return Capture(
            self.artifacts,
            self.catalog,
            spark,
            job=job,
            run_id=run_id,
            tags=tags,
            materialize=materialize,
            index=self._building(workload) if index or workload is not None else None,
        )

    def backfill(
        self,
        spark: SparkSession,
        *,
        job: str,
        outputs: Mapping[str, DataFrame | str],
        at: datetime | None = None,
        tags: Mapping[str, str] | None = None,
        run_id: str | None = None,
        sources_unchanged: bool = False,
    ) -> RunRecord:
        """Record a past pipeline as a run, without executing it, and return the record.

        Sources and outputs are taken as they are now. The run gets the tag `backfilled`.

        Args:
            spark: the session of the queries.
            job: the job's name.
            outputs: path of each output, which is there, and the DataFrame or SQL query that gave
                it.
            at: when the run ended (aware); the last modification of its outputs by default.
            tags: facts to find the run by later.
            run_id: a UUID; made up if not given.
            sources_unchanged: that the sources are what they were, although files of them are
                younger than the output.

        Raises:
            NotFoundError: an output is not there.
            ChangedError: a source is younger than the output.
            UnsupportedError: an output does not have the columns of its query.
            PredicateError: a text is not one query.
        """
        from lineage_core.capture.backfill import Past, record

        facts = tuple(sorted((tags or {}).items()))
        done = record(spark, Past(job, at, facts, run_id, sources_unchanged), outputs)
        self.artifacts.commit(done)
        self.catalog.add(done)
        return done

    def index(
        self,
        dataset: str | None = None,
        *,
        run: str | None = None,
        workload: Sequence[str] | None = None,
        engine: str = "auto",
        progress: Callable[[Building], None] = lambda _: None,
    ) -> list[IndexRecord]:
        """Build rid indexes of what was written; questions use them from then on.

        Without `run` they are built of every write that the newest state of `dataset` is made of,
        but for those that have some: an appended partition adds indexes of its own. With `run`,
        they are built in place of those that may be there.

        Args:
            dataset: what was written; all that `run` wrote by default.
            run: id of the run that wrote it, or its beginning.
            workload: the queries that will be asked (`query`), with parameters for what varies.
                Then there are indexes of what these need, and of nothing else: of their relations
                and directions, without rows that they never ask for, partitioned by what they
                compare with parameters, with partial sums of what they aggregate.
            engine: evaluates the lineage programs: `auto`, `duckdb` or `spark`.
            progress: is told how far the indexes of which source are.

        Raises:
            NotFoundError: no captured run wrote the dataset.
            UncapturedError: the lineage of an output was not captured.
            UnsupportedError: the rows of an output have no ids.
            PredicateError: a query of the workload is none, or does not fit the columns it reads.
            ChangedError: a file that the lineage depends on is not what it was.
        """
        from lineage_core.query.consuming.workload import read
        from lineage_core.query.engines.choice import check_engine
        from lineage_core.query.indexing import build
        from lineage_core.query.strategy import Strategy

        check_engine(engine)
        wanted = read(workload) if workload is not None else None
        made = []
        for run_id, number, output in self._indexable(dataset, run, workload):

            def relate(
                count: Callable[[Computed], int], output: OutputRecord = output
            ) -> Relations:
                return self._programs.relations(output, Strategy.AUTO, count)

            place = (self.artifacts, run_id, number)
            made.append(build(*place, relate, engine, progress, workload=wanted))
        return made

    def explain(self, df: DataFrame) -> LineageProgram:
        """Return the lineage program that a write of `df` would have, without running anything."""
        from lineage_core.capture import read_dataframe
        from lineage_core.infer import infer

        captured = read_dataframe(df)
        formats = dict(enumerate(source.format for source in captured.sources))
        return infer(captured.plan, formats=formats)

    def run(self, run_id: str) -> RunRecord:
        """Return the record of the run whose id is, or only begins with, `run_id`."""
        return self.artifacts.load(self.catalog.run_id(run_id))

    def runs(
        self,
        *,
        job: str | None = None,
        dataset: str | None = None,
        tag: tuple[str, str] | None = None,
        limit: int = 50,
    ) -> list[RunSummary]:
        """Return the newest runs: of a job, that wrote or read a dataset, that carry a tag."""
        return self.catalog.runs(job=job, dataset=dataset, tag=tag, limit=limit)

    def find_runs(
        self,
        *,
        dag: str | None = None,
        task: str | None = None,
        logical_date: datetime | None = None,
        dag_run: str | None = None,
        map_index: int | None = None,
        try_number: int | None = None,
        limit: int = 50,
    ) -> list[RunSummary]:
        """Return the newest runs of Airflow task instances, by what Airflow calls them.

        Args:
            dag: id of the DAG.
            task: id of the task.
            logical_date: of the DAG run; aware.
            dag_run: id of the DAG run.
            map_index: number of the instance of a mapped task.
            try_number: which try.
            limit: how many at most.
        """
        from lineage_core.catalog import TaskRuns

        wanted = TaskRuns(dag, task, logical_date, dag_run, map_index, try_number)
        return self.catalog.task_runs(wanted, limit=limit)

    def find_run(
        self,
        *,
        dag: str | None = None,
        task: str | None = None,
        logical_date: datetime | None = None,
        dag_run: str | None = None,
        map_index: int | None = None,
        try_number: int | None = None,
    ) -> str:
        """Return the id of the run of one Airflow task instance: of its newest successful try.

        Arguments are those of `find_runs`.

        Raises:
            NotFoundError: there is none.
            AmbiguousError: several task instances are called so; the hint lists them.
        """
        from lineage_core.catalog import TaskRuns

        wanted = TaskRuns(dag, task, logical_date, dag_run, map_index, try_number)
        return self.catalog.task_run(wanted).id

    def rebuild_catalog(self) -> RebuildReport:
        """Make the catalog an index of exactly the runs that are committed in the store."""
        return self.catalog.rebuild(self.artifacts)

    def _building(self, workload: Sequence[str] | None) -> BuildIndex:
        """Return what builds the indexes of a write."""
        if workload is None:
            return partial(self._index_written, None)
        from lineage_core.query.consuming.workload import read

        return partial(self._index_written, read(workload))

    def _index_written(
        self,
        workload: Workload | None,
        run_id: str,
        number: int,
        output: OutputRecord,
        carried: Carried | None,
    ) -> None:
        """Build the indexes of a write of a run that goes on."""
        from lineage_core.query.indexing import build
        from lineage_core.query.strategy import Strategy

        def relate(count: Callable[[Computed], int]) -> Relations:
            return self._programs.relations(output, Strategy.AUTO, count)

        if output.snapshot is None or not output.snapshot.has_rids:
            return
        place = (self.artifacts, run_id, number)
        if carried is not None:
            try:
                build(*place, relate, "auto", carried=(carried, output), workload=workload)
                return
            except UnsupportedError as error:
                _logger.info("rids that rode along are of no use: %s", error.what)
        build(*place, relate, "auto", workload=workload)

    def _indexable(
        self, dataset: str | None, run: str | None, workload: Sequence[str] | None
    ) -> Iterator[tuple[str, int, OutputRecord]]:
        """Yield the writes that an index is asked for: run, position and record."""
        if dataset is None and run is None:
            raise UnsupportedError("nothing to index is named", hint="give a dataset or a run")
        if dataset is None:
            found = self.run(run or "")
            for number, output in enumerate(found.outputs):
                yield found.id, number, output
            return
        for ref in self.catalog.writers(dataset, run=run):
            there = self._indexes.workload(ref.run_id, ref.index)
            if run is not None or there != tuple(workload or ()):
                yield ref.run_id, ref.index, self.artifacts.load(ref.run_id).outputs[ref.index]
