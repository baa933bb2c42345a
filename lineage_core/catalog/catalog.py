"""The catalog's questions and changes (DESIGN 4.10)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from types import TracebackType
from typing import Self

from sqlalchemy.orm import Session

from lineage_core.catalog import changes, names, outputs
from lineage_core.catalog.answers import OutputRef, RebuildReport, Revision, RunSummary
from lineage_core.catalog.database import Database
from lineage_core.catalog.models import HEAD
from lineage_core.catalog.summaries import of_tags, summaries
from lineage_core.catalog.tasks import TaskRuns, newest_try
from lineage_core.store.filesystem import ArtifactStore
from lineage_core.store.manifest import RunRecord

_TRIES = 1000  # of one task instance, or instances of a mapped task, that are looked at


def open_catalog(url: str) -> Catalog:
    """Return the catalog at a SQLAlchemy URL, created or migrated when it has to be.

    Any number of processes may do so at once.
    """
    return Catalog(Database(url))


class Catalog:
    """An index over a store's manifests, to find runs and datasets by; see `open_catalog`.

    A dataset may be named in any way `Catalog.dataset` understands. Newest means committed last.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def __repr__(self) -> str:
        return f"Catalog({self._database.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the database; the catalog is not used again."""
        self._database.close()

    def revision(self) -> Revision:
        """Return the migration the database is at, and the newest one."""
        return Revision(self._database.revision(), HEAD)

    def add(self, record: RunRecord) -> None:
        """Make a committed run findable; one already there is replaced."""
        self._database.write(lambda session: changes.add(session, record))

    def remove(self, run_id: str) -> None:
        """Forget a run, if it is there, and the datasets that no other run knows."""
        self._database.write(lambda session: changes.remove(session, run_id))

    def runs(
        self,
        *,
        job: str | None = None,
        dataset: str | None = None,
        tag: tuple[str, str] | None = None,
        limit: int = 50,
    ) -> list[RunSummary]:
        """Return the newest runs: of a job, with a dataset written or read, with a (key, value)."""
        return self._database.read(
            lambda session: summaries(
                session,
                job,
                None if dataset is None else names.dataset(session, dataset),
                tag,
                limit,
            )
        )

    def task_runs(self, wanted: TaskRuns, *, limit: int = 50) -> list[RunSummary]:
        """Return the newest runs of Airflow tasks."""
        tags = wanted.tags
        return self._database.read(lambda session: of_tags(session, tags, limit))

    def task_run(self, wanted: TaskRuns) -> RunSummary:
        """Return the run of the only task instance that is meant: its newest successful try.

        Raises:
            NotFoundError: there is none.
            AmbiguousError: several task instances are; the hint lists them.
        """
        return newest_try(wanted, self.task_runs(wanted, limit=_TRIES))

    def run_id(self, prefix: str) -> str:
        """Return the id of the only run whose id begins so.

        Raises:
            NotFoundError: no run's does; the hint names similar ones.
            AmbiguousError: several do.
        """
        return self._database.read(lambda session: names.run_id(session, prefix))

    def dataset(self, name: str) -> str:
        """Return the canonical name of a known dataset.

        Args:
            name: a path, URI or OpenLineage name; else a table name; else the end of either
                (`out/q4`, `db.orders`), when that is unique.

        Raises:
            NotFoundError: no run wrote or read it; the hint names similar ones.
            AmbiguousError: several datasets are called so.
        """
        return self._database.read(lambda session: names.dataset(session, name))

    def writer(
        self, dataset: str, *, run: str | None = None, as_of: datetime | None = None
    ) -> OutputRef:
        """Return the newest write of a dataset, captured or not.

        An uncaptured write is returned like any other, since an older one does not explain the
        newer state. A write that replaced the dataset hides those before it, in its own run too. A
        single append is returned alone and explains only the rows it added (`OutputRef.mode`);
        `writers` has the rest.

        Args:
            run: id, or unique beginning of the id, of the run to look at.
            as_of: look only at runs committed at this (aware) moment or before.

        Raises:
            NotFoundError: no such run wrote it.
            AmbiguousError: several writes of one run make up the state together.
        """
        return outputs.single(self.writers(dataset, run=run, as_of=as_of))

    def writers(
        self, dataset: str, *, run: str | None = None, as_of: datetime | None = None
    ) -> tuple[OutputRef, ...]:
        """Return the writes that a dataset's state is made of, newest first, never none.

        They are the newest write and, while that only added to the dataset or replaced partitions
        of it, the writes before it. Arguments and errors are those of `writer`, which is this for
        datasets written as a whole.
        """

        def question(session: Session) -> tuple[OutputRef, ...]:
            name = names.dataset(session, dataset)
            run_id = None if run is None else names.run_id(session, run)
            return outputs.writers(session, name, run_id, as_of)

        return self._database.read(question)

    def writer_of_snapshot(self, dataset: str, snapshot_id: str) -> OutputRef | None:
        """Return the newest write that gave exactly this snapshot; None when none did."""
        return self._database.read(
            lambda session: outputs.writer_of_snapshot(
                session, names.dataset(session, dataset), snapshot_id
            )
        )

    def written_near(self, datasets: Collection[str]) -> frozenset[str]:
        """Return those of `datasets`, by canonical name, that have `related_writers`."""
        if not datasets:
            return frozenset()
        return self._database.read(lambda session: outputs.written_near(session, datasets))

    def related_writers(self, dataset: str) -> list[OutputRef]:
        """Return all writes of a dataset, of folders in it and above it, newest first.

        Any of them may have left files that are read as the dataset's.
        """
        return self._database.read(
            lambda session: outputs.related_writers(session, names.dataset(session, dataset))
        )

    def related_readers(self, dataset: str) -> list[OutputRef]:
        """Return the writes that read a dataset, folders in it or above it, newest first."""
        return self._database.read(
            lambda session: outputs.related_readers(session, names.dataset(session, dataset))
        )

    def readers(
        self, dataset: str, *, run: str | None = None, snapshot_id: str | None = None
    ) -> list[OutputRef]:
        """Return the writes that read a dataset, newest first, each with the inputs that hold it.

        Args:
            run: id, or unique beginning of the id, of the reading run.
            snapshot_id: only those that read this very snapshot.
        """

        def question(session: Session) -> list[OutputRef]:
            name = names.dataset(session, dataset)
            run_id = None if run is None else names.run_id(session, run)
            return outputs.readers(session, name, run_id, snapshot_id)

        return self._database.read(question)

    def rebuild(
        self, store: ArtifactStore, progress: Callable[[int, int], None] | None = None
    ) -> RebuildReport:
        """Make the catalog an index of exactly the runs committed in `store`, in one transaction.

        Manifests are read before the transaction, so that others wait for it only briefly.

        Args:
            progress: called with the number of manifests read and their total.
        """
        found = changes.read_all(store, progress)
        return self._database.write(lambda session: changes.replace_all(session, store, found))
