"""What a store is asked: rows backward and forward, and what stands on such answers (DESIGN 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

    from lineage_core.catalog import Catalog, OutputRef
    from lineage_core.profile import Violations
    from lineage_core.query.answer import Answer
    from lineage_core.query.consuming.call import Asked
    from lineage_core.query.consuming.result import Result
    from lineage_core.query.crossfiltering.crossfilter import Crossfilter
    from lineage_core.query.crossfiltering.views import Written
    from lineage_core.query.edges import Indexes
    from lineage_core.query.engines.choice import Engines
    from lineage_core.query.reader import Reader
    from lineage_core.query.selection import Selection
    from lineage_core.query.strategy import Programs
    from lineage_core.query.walk import Walk

_CATALOG = "catalog.db"


class Questions:
    """The questions about rows that captured runs answer.

    Rows are asked about with one of `where`, `rows` and `rids`; without, all rows are meant.
    """

    def __init__(self, artifacts: ArtifactStore, catalog: str | None = None) -> None:
        self.artifacts = artifacts
        self._catalog_url = catalog or _default_catalog(artifacts)

    @property
    def url(self) -> str:
        return self.artifacts.url

    @cached_property
    def catalog(self) -> Catalog:
        """The index over the store's runs, opened when first needed."""
        from lineage_core.catalog import open_catalog

        return open_catalog(self._catalog_url)

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
        from lineage_core.query.crossfiltering.crossfilter import crossfilter
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
        from lineage_core.query.crossfiltering.views import Written
        from lineage_core.query.strategy import Strategy

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
