"""The public API: a store of captured runs, and the questions it answers (DESIGN 3)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lineage_core.datasets import display, local_path
from lineage_core.errors import NotFoundError, UncapturedError, UnsupportedError
from lineage_core.snapshot import Snapshot
from lineage_core.store.filesystem import ArtifactStore

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lineage_core.capture.session import BuildIndex, Capture
    from lineage_core.catalog import Catalog, OutputRef, RebuildReport, RunSummary
    from lineage_core.index.record import IndexRecord
    from lineage_core.plan.program import LineageProgram
    from lineage_core.profile import Violations
    from lineage_core.query.answer import Answer
    from lineage_core.query.consuming.call import Asked
    from lineage_core.query.consuming.result import Result
    from lineage_core.query.consuming.workload import Workload
    from lineage_core.query.crossfilter import Crossfilter
    from lineage_core.query.edges import Indexes
    from lineage_core.query.engines.choice import Engines
    from lineage_core.query.reader import Reader
    from lineage_core.query.relations import Computed, Relations
    from lineage_core.query.selection import Selection
    from lineage_core.query.strategy import Programs
    from lineage_core.query.views import Written
    from lineage_core.query.walk import Walk
    from lineage_core.query.writing import Building
    from lineage_core.store.carried import Carried
    from lineage_core.store.manifest import OutputRecord, RunRecord

_CATALOG = "catalog.db"

_logger = logging.getLogger(__name__)


def open_store(url: str = "lineage/", catalog: str | None = None) -> LineageStore:
    """Return the store of captured runs at a path or filesystem URL.

    Args:
        url: where runs and their files are, or will be.
        catalog: SQLAlchemy URL of the catalog; by default a SQLite file inside a local store.
    """
    return LineageStore(ArtifactStore(url), catalog)


class LineageStore:
    """Captured runs, and the questions about rows that they answer.

    Rows are asked about with one of `where`, `rows` and `rids`; without, all rows are meant.
    """

    def __init__(self, artifacts: ArtifactStore, catalog: str | None = None) -> None:
        self.artifacts = artifacts
        self._catalog_url = catalog or _default_catalog(artifacts)

    def __repr__(self) -> str:
        return f"LineageStore({self.artifacts.url!r})"

    @property
    def url(self) -> str:
        return self.artifacts.url

    @cached_property
    def catalog(self) -> Catalog:
        """The index over the store's runs, opened when first needed."""
        from lineage_core.catalog import open_catalog

        return open_catalog(self._catalog_url)

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

    def explain(self, df: DataFrame) -> LineageProgram:
        """Return the lineage program that a write of `df` would have, without running anything."""
        from lineage_core.capture import read_dataframe
        from lineage_core.infer import infer

        captured = read_dataframe(df)
        formats = dict(enumerate(source.format for source in captured.sources))
        return infer(captured.plan, formats=formats)

    def backward(
        self,
        dataset: str,
        where: str | None = None,
        *,
        rows: Sequence[Mapping[str, Any]] | None = None,
        rids: Sequence[int] | pa.Array | None = None,
        run: str | None = None,
        as_of: datetime | None = None,
        hops: int | None = None,
        strategy: str = "auto",
        engine: str = "auto",
    ) -> Answer:
        """Return which source rows the selected rows of `dataset` came from.

        Args:
            dataset: path, URI, OpenLineage or table name of something a captured run wrote.
            where: a condition on the dataset's columns (columns, constants, comparisons, AND, OR,
                NOT).
            rows: rows given by value; each gives the same columns, nulls are equal.
            rids: row ids of the dataset's snapshot in that run.
            run: id, or its beginning, of the run that wrote it; the newest by default.
            as_of: the newest run committed at this (aware) moment or before.
            hops: how many runs to go back; None for all, to the outermost datasets.
            strategy: `index`: by the run's rid indexes (`index`); `saved`: by the program recorded
                with the run; `replay`: intermediates are computed again from the sources, whatever
                was saved; `iterative`: by predicates on the sources alone, a superset; `auto` takes
                the first where there are some, else the second, or the third where that is exact
                for more sources.
            engine: `auto`, `duckdb` or `spark`.

        Raises:
            NotFoundError: no captured run wrote the dataset.
            UncapturedError: the newest run that wrote it did so without its lineage being captured.
            PredicateError: the selection is not valid for the dataset.
        """
        from lineage_core.index.record import Direction
        from lineage_core.query.answer import Answer

        _check(hops)
        walk = self._walk(engine, as_of, strategy)
        refs = self.catalog.writers(dataset, run=run, as_of=as_of)
        for ref in refs:
            _need_capture(ref)
        if rids is not None and len(refs) > 1:
            raise UnsupportedError(
                f"{display(refs[0].dataset)} was written by {len(refs)} appends, "
                "each with row ids of its own",
                hint="name the run the rids belong to (run=...), or select with where= or rows=",
            )
        found = walk.backward(refs, lambda snapshot: _select(snapshot, where, rows, rids), hops)
        return Answer(refs[0].dataset, Direction.BACKWARD, found)

    def forward(
        self,
        dataset: str,
        where: str | None = None,
        *,
        rows: Sequence[Mapping[str, Any]] | None = None,
        rids: Sequence[int] | pa.Array | None = None,
        run: str | None = None,
        as_of: datetime | None = None,
        hops: int | None = None,
        strategy: str = "auto",
        engine: str = "auto",
    ) -> Answer:
        """Return which output rows the selected rows of `dataset` went into.

        The rows are those that the newest captured run read; without `run`, all runs that read
        the same files are followed whose output has not been replaced since. Arguments are those
        of `backward`.

        Raises:
            NotFoundError: no captured run read the dataset.
            PredicateError: the selection is not valid for the dataset.
        """
        from lineage_core.index.record import Direction
        from lineage_core.query.answer import Answer

        _check(hops)
        walk = self._walk(engine, as_of, strategy)
        refs = self.catalog.readers(dataset, run=run)
        if as_of is not None:
            refs = [ref for ref in refs if ref.ended <= as_of]
        refs = refs if run is not None else walk.current(refs)
        if not refs:
            raise NotFoundError(
                f"no captured run read {dataset}",
                hint="row-lineage runs lists what was read; what was written can be asked backward",
            )
        also = []
        if run is None:  # what was read by the name of a folder in it, or above it
            related = walk.current(self.catalog.related_readers(dataset))
            also = [r for r in related if r not in refs and (as_of is None or r.ended <= as_of)]

        def select(snapshot: Snapshot) -> Selection:
            return _select(snapshot, where, rows, rids)

        found = walk.forward(refs, select, hops, also)
        return Answer(self.catalog.dataset(dataset), Direction.FORWARD, found)

    def linked(
        self,
        dataset: str,
        to: str,
        where: str | None = None,
        *,
        rows: Sequence[Mapping[str, Any]] | None = None,
        rids: Sequence[int] | pa.Array | None = None,
        run: str | None = None,
        as_of: datetime | None = None,
        hops: int | None = None,
        strategy: str = "auto",
        engine: str = "auto",
    ) -> Answer:
        """Return which rows of `to` share source rows with the selected rows of `dataset`.

        That is what a brush in one view highlights in another (Smoke 2.1): backward to the sources
        of `dataset`, and forward to `to`. The answer is about `to` alone, its pairs are rows of
        `to` and of `dataset`. Other arguments are those of `backward`.

        Args:
            dataset: whose rows are selected.
            to: whose rows are wanted: something that captured runs made of the same sources.
            where: which rows of `dataset`.

        Raises:
            NotFoundError: no captured run wrote one of them, or they have no source in common.
            PredicateError: the selection is not valid for the dataset.
        """
        from lineage_core.index.record import Direction
        from lineage_core.query.answer import Answer

        sources = self.backward(
            dataset,
            where,
            rows=rows,
            rids=rids,
            run=run,
            as_of=as_of,
            hops=hops,
            strategy=strategy,
            engine=engine,
        ).sources
        target = self.catalog.writers(to, as_of=as_of)[0].dataset
        found = self._walk(engine, as_of, strategy).linked(sources, target)
        if not found:
            raise NotFoundError(
                f"{dataset} and {to} were made of no common source",
                hint="row-lineage runs shows what was read and written; hops=1 stops after one run",
            )
        return Answer(self.catalog.dataset(dataset), Direction.FORWARD, found)

    def query(
        self,
        sql: str,
        parameters: Mapping[str, Any] | Sequence[Any] = (),
        *,
        engine: str = "auto",
    ) -> Result:
        """Return what a SELECT over the rows of lineage answers gives, evaluated by DuckDB.

        Its relations are `backward('output', 'source', where => '...')` and `forward('source',
        'output', ...)`: the rows of the source, or output, in the lineage of the selected rows.

        Args:
            sql: the query.
            parameters: values of `$name` by name, or of `$1` and `?` in order.
            engine: evaluates the lineage questions: `auto`, `duckdb` or `spark`.

        Raises:
            PredicateError: the query is not one SELECT, reads or calls something else, or does not
                fit the columns.
            NotFoundError: a dataset is none of a captured run's.
            ChangedError: a file that the rows depend on is not what it was.
        """
        from lineage_core.index.record import Direction
        from lineage_core.query.consuming.evaluate import evaluate
        from lineage_core.query.consuming.text import parse

        def ask(asked: Asked) -> Answer:
            way = self.backward if asked.direction is Direction.BACKWARD else self.forward
            return way(asked.dataset, engine=engine, **asked.arguments)

        return evaluate(parse(sql), parameters, ask)

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

    def run(self, run_id: str) -> RunRecord:
        """Return the record of the run whose id is, or only begins with, `run_id`."""
        return self.artifacts.load(self.catalog.run_id(run_id))

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

    def crossfilter(
        self,
        views: Sequence[str],
        *,
        source: str | None = None,
        runs: Mapping[str, str] | None = None,
        measures: Sequence[str] = (),
        engine: str = "auto",
        progress: Callable[[str], None] = lambda _: None,
    ) -> Crossfilter:
        """Open views of one dataset to be brushed: what is selected in one shows in the others.

        Args:
            views: datasets that captured runs wrote, each indexed (`index`): group-bys of one
                dataset, for instance.
            source: that dataset, where they have several in common.
            runs: for views by name, the run that wrote it: its id, or the beginning of it; the
                newest by default.
            measures: columns of the source that are added up, too.
            engine: evaluates conditions and reads rows: `auto`, `duckdb` or `spark`.
            progress: is told which dataset is unpacked next.

        Raises:
            UnsupportedError: a view has no index, was written by several appends, or the views were
                not made from one state of a dataset.
            AmbiguousError: they have several datasets in common.
            ChangedError: a view is not what it was.
        """
        from lineage_core.query.crossfilter import crossfilter
        from lineage_core.query.engines.choice import check_engine
        from lineage_core.query.reader import Reader

        named = runs or {}
        strange = [name for name in named if name not in views]
        if strange or not views or len(set(views)) < len(views):
            what = f"{strange[0]!r} of runs is none of them" if strange else "none, or one twice"
            raise UnsupportedError(f"views: {what}", hint="name each view once, in views")
        reader = partial(Reader, self._engines, check_engine(engine))
        written = [self._written(view, named.get(view), reader()) for view in views]
        common = None if source is None else self.catalog.dataset(source)
        return crossfilter(written, common, measures, reader, progress)

    def dependencies(
        self,
        dataset: str,
        dependencies: Sequence[str],
        *,
        method: str = "ug",
        engine: str = "auto",
        progress: Callable[[str], None] = lambda _: None,
    ) -> tuple[Violations, ...]:
        """Check functional dependencies, and return which values violate each, and in which rows.

        Args:
            dataset: Parquet files as they are now, whether captured runs know of them or not: a
                path, URI, OpenLineage or table name.
            dependencies: each as `zip -> city` or `zip, street -> city, state`; other names than
                words are put into double quotes or backticks.
            method: `ug`: each column's values are told apart once, for all dependencies; `cd`: one
                group-by each. Both find the same.
            engine: reads the rows: `auto`, `duckdb` or `spark`.
            progress: is told which dependency is checked next.

        Raises:
            NotFoundError: there is no such dataset, or it has no such column.
            PredicateError: a dependency cannot be read.
            UnsupportedError: the files are no Parquet files, or a column cannot be compared.
        """
        from lineage_core.profile import check
        from lineage_core.query.engines.choice import check_engine

        name = self._known(dataset)
        return check(name, dependencies, method, self._engines, check_engine(engine), progress)

    def rebuild_catalog(self) -> RebuildReport:
        """Make the catalog an index of exactly the runs that are committed in the store."""
        return self.catalog.rebuild(self.artifacts)

    @cached_property
    def _engines(self) -> Engines:
        from lineage_core.query.engines.choice import Engines

        return Engines()

    @cached_property
    def _programs(self) -> Programs:
        from lineage_core.query.strategy import Programs

        return Programs(self.artifacts.uri)

    @cached_property
    def _indexes(self) -> Indexes:
        from lineage_core.query.edges import Indexes

        return Indexes(self.artifacts)

    def _written(self, view: str, run: str | None, reader: Reader) -> Written:
        """Return a view as the one write that it is of."""
        from lineage_core.query.strategy import Strategy
        from lineage_core.query.views import Written

        refs = self.catalog.writers(view, run=run)
        for ref in refs:
            _need_capture(ref)
        if len(refs) > 1:
            raise UnsupportedError(
                f"{display(refs[0].dataset)} was written by {len(refs)} appends, "
                "each with row ids of its own",
                hint="name the run of the rows that are meant (runs=...), or write it at once",
            )
        ref = refs[0]
        output = self.artifacts.load(ref.run_id).outputs[ref.index]
        relations = self._programs.relations(output, Strategy.AUTO, reader.compute_count)
        return Written(view, ref.run_id, relations, self._indexes.edges(ref.run_id, ref.index))

    def _known(self, dataset: str) -> str:
        """Return the canonical name of a dataset that is there, or that a run knows."""
        from lineage_core.datasets import canonical
        from lineage_core.profile import holds_files

        here = canonical(dataset)
        if holds_files(here):
            return here
        try:
            return self.catalog.dataset(dataset)
        except NotFoundError:
            return here

    def _walk(self, engine: str, as_of: datetime | None, strategy: str) -> Walk:
        from lineage_core.query.engines.choice import check_engine
        from lineage_core.query.reader import Reader
        from lineage_core.query.strategy import check_strategy
        from lineage_core.query.walk import Walk

        reader = Reader(self._engines, check_engine(engine))
        return Walk(
            self.artifacts,
            self.catalog,
            self._programs,
            self._indexes,
            reader,
            as_of,
            check_strategy(strategy),
        )


def _default_catalog(artifacts: ArtifactStore) -> str:
    root = local_path(artifacts.url)
    if root is None:
        raise UnsupportedError(
            f"the store {artifacts.url} is not on this machine, so it cannot hold a SQLite catalog",
            hint="give the URL of a database: open_store(url, catalog='postgresql+psycopg://...')",
        )
    return f"sqlite:///{quote(str(root))}/{_CATALOG}"


def _check(hops: int | None) -> None:
    if hops is not None and hops < 1:
        raise UnsupportedError(
            f"hops={hops} asks for nothing", hint="use 1 for one run, None for all"
        )


def _need_capture(ref: OutputRef) -> None:
    if ref.uncaptured:
        raise UncapturedError(
            f"run {ref.run_id} wrote {display(ref.dataset)}, "
            f"but its lineage was not captured: {ref.uncaptured}",
            hint="run the job again under capture, or ask about an older run (run=..., as_of=...)",
        )


def _select(
    snapshot: Snapshot,
    where: str | None,
    rows: Sequence[Mapping[str, Any]] | None,
    rids: Sequence[int] | pa.Array | None,
) -> Selection:
    from lineage_core.errors import PredicateError
    from lineage_core.query import selection
    from lineage_core.query.where import parse_where

    if sum(given is not None for given in (where, rows, rids)) > 1:
        raise PredicateError("where, rows and rids exclude each other", hint="give one of them")
    if where is not None:
        return selection.Where(parse_where(where, snapshot))
    if rows is not None:
        return selection.rows(rows, snapshot)
    return selection.EVERYTHING if rids is None else selection.rids(rids, snapshot)
