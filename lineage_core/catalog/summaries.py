"""The list of runs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Select, select
from sqlalchemy.orm import Session, aliased, selectinload

from lineage_core.catalog.answers import RunSummary
from lineage_core.catalog.models import Input, Output, Run, Tag, storable

_PARTS = (selectinload(Run.outputs).selectinload(Output.artifacts), selectinload(Run.tags))


def summaries(
    session: Session, job: str | None, dataset: str | None, tag: tuple[str, str] | None, limit: int
) -> list[RunSummary]:
    """Return the newest `limit` runs for which everything given holds."""
    query = select(Run).order_by(Run.ended.desc(), Run.id.desc()).limit(limit)
    if job is not None:
        query = query.where(Run.job == job)
    if dataset is not None:
        wrote = select(Output.run_id).where(Output.dataset == dataset)
        read = select(Input.run_id).where(Input.dataset == dataset)
        query = query.where(Run.id.in_(wrote.union(read)))
    if tag is not None:
        query = query.where(Run.id.in_(tagged([(tag[0], (tag[1],))])))
    return [_summary(run) for run in session.scalars(query.options(*_PARTS))]


def of_tags(
    session: Session, tags: Sequence[tuple[str, tuple[str, ...]]], limit: int
) -> list[RunSummary]:
    """Return the newest `limit` runs that carry all `tags`, see `tagged`."""
    newest = select(Run).where(Run.id.in_(tagged(tags))).order_by(Run.ended.desc(), Run.id.desc())
    return [_summary(run) for run in session.scalars(newest.limit(limit).options(*_PARTS))]


def tagged(tags: Sequence[tuple[str, tuple[str, ...]]]) -> Select[str]:
    """Return the query for the ids of runs that carry all `tags`, each with one of its values.

    The runs of the first tag are found by the index of tags, the others by the key of each of
    those runs; so the rarest tag goes first.
    """
    (key, values), *others = tags
    query = select(Tag.run_id).where(Tag.key == key, Tag.value.in_(map(storable, values)))
    for key, values in others:
        other = aliased(Tag)
        query = query.join(
            other,
            (other.run_id == Tag.run_id)
            & (other.key == key)
            & other.value.in_(map(storable, values)),
        )
    return query


def _summary(run: Run) -> RunSummary:
    reasons = [run.uncaptured, *(output.uncaptured for output in run.outputs)]
    uncaptured = next(filter(None, reasons), "")
    return RunSummary(
        id=run.id,
        job=run.job,
        started=run.started,
        ended=run.ended,
        state=run.state,
        outputs=tuple(output.dataset for output in run.outputs),
        captured=not uncaptured,
        uncaptured=uncaptured,
        artifact_bytes=sum(saved.bytes for output in run.outputs for saved in output.artifacts),
        tags=tuple((tag.key, tag.value) for tag in run.tags),
    )
