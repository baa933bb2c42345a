"""The list of runs."""

from __future__ import annotations

from sqlalchemy import exists, select
from sqlalchemy.orm import Session, selectinload

from lineage_core.catalog.answers import RunSummary
from lineage_core.catalog.models import Input, Output, Run, Tag


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
        key, value = tag
        query = query.where(
            exists().where(Tag.run_id == Run.id, Tag.key == key, Tag.value == value)
        )
    parts = (selectinload(Run.outputs).selectinload(Output.artifacts), selectinload(Run.tags))
    return [_summary(run) for run in session.scalars(query.options(*parts))]


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
