"""What changes a catalog: a run added or removed, or all replaced; each inside one transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from lineage_core.catalog.answers import RebuildReport
from lineage_core.catalog.entries import datasets, entry, leaf
from lineage_core.catalog.models import Alias, Base, Dataset, Input, Output, Run
from lineage_core.errors import LineageError
from lineage_core.store.filesystem import ArtifactStore
from lineage_core.store.manifest import RunRecord

Found: TypeAlias = RunRecord | str
"""A run's record, or why it cannot be read."""


def add(session: Session, record: RunRecord) -> None:
    """Put a run in, in the place of what was known of it."""
    remove(session, record.id)
    run = entry(record)
    names = datasets(run)
    known = set(session.scalars(select(Dataset.name).where(Dataset.name.in_(names))))
    session.add_all(Dataset(name=name, leaf=leaf(name)) for name in sorted(names - known))
    session.flush()
    session.add(run)
    session.flush()


def remove(session: Session, run_id: str) -> None:
    """Take a run out, with the datasets that it alone refers to."""
    run = session.get(Run, run_id)
    if run is None:
        return
    names = datasets(run)
    session.expunge_all()
    session.execute(delete(Run).where(Run.id == run_id))
    referred = (exists().where(kind.dataset == Dataset.name) for kind in (Output, Input, Alias))
    session.execute(delete(Dataset).where(Dataset.name.in_(names), *(~use for use in referred)))


def read_all(store: ArtifactStore, progress: Callable[[int, int], None] | None) -> dict[str, Found]:
    """Return what the store's manifests hold, by run id."""
    ids = store.runs()
    found: dict[str, Found] = {}
    for done, run_id in enumerate(ids, 1):
        found[run_id] = _read(store, run_id)
        if progress is not None:
            progress(done, len(ids))
    return found


def replace_all(session: Session, store: ArtifactStore, found: dict[str, Found]) -> RebuildReport:
    """Make the catalog hold the runs of `store`; `found` spares reading their manifests again."""
    for table in reversed(Base.metadata.sorted_tables):
        session.execute(delete(table))
    skipped: list[tuple[str, str]] = []
    added = 0
    for (
        run_id
    ) in store.runs():  # listed again: a run committed since may be among the rows just deleted
        record = found[run_id] if run_id in found else _read(store, run_id)
        if isinstance(record, str):
            skipped.append((run_id, record))
        else:
            add(session, record)
            added += 1
    return RebuildReport(added, tuple(skipped))


def _read(store: ArtifactStore, run_id: str) -> Found:
    try:
        record = store.load(run_id)
        entry(record)  # a record without a row form is as good as none
    except LineageError as error:
        return error.what
    # What the catalog has no rows for need not be kept in memory for thousands of runs.
    outputs = (
        replace(output, plan=None, program=None, analyzed="", optimized="")
        for output in record.outputs
    )
    return replace(record, outputs=tuple(outputs))
