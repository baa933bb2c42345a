"""Which runs wrote a dataset, and which read it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from itertools import groupby

from sqlalchemy import ColumnElement, Select, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from lineage_core.catalog.answers import OutputRef
from lineage_core.catalog.models import Input, Output, Run
from lineage_core.datasets import display
from lineage_core.errors import AmbiguousError, NotFoundError, UnsupportedError
from lineage_core.store.manifest import OVERWRITE_PARTITIONS

_PARTIAL = ("append", OVERWRITE_PARTITIONS)
"""Modes of writes that leave something of what was there before."""

_NEWEST = (Output.ended.desc(), Output.run_id.desc(), Output.index.desc())


def writers(
    session: Session, dataset: str, run_id: str | None, as_of: datetime | None
) -> tuple[OutputRef, ...]:
    """Return the newest write of `dataset` and, while they leave some of it, those before it."""
    if as_of is not None and as_of.tzinfo is None:
        raise UnsupportedError(
            f"the time {as_of} has no time zone", hint="give one, for example +00:00"
        )
    where: list[ColumnElement[bool]] = [Output.dataset == dataset]
    if run_id is not None:
        where.append(Output.run_id == run_id)
    if as_of is not None:
        where.append(Output.ended <= as_of)
    found: list[OutputRef] = []
    for output, reason in session.execute(_writes().where(*where).order_by(*_NEWEST)):
        found.append(_ref(output, reason))
        if output.mode not in _PARTIAL:
            break
    if not found:
        nobody = f"run {run_id} never wrote" if run_id else "no captured run wrote"
        when = f" up to {as_of.isoformat()}" if as_of else ""
        raise NotFoundError(
            f"{nobody} {display(dataset)}{when}",
            hint="row-lineage runs lists what was written; ask about a dataset only read forward",
        )
    return tuple(found)


def single(refs: tuple[OutputRef, ...]) -> OutputRef:
    """Return the newest of a state's writes, unless its own run has more of them."""
    newest = refs[0]
    same_run = [ref for ref in refs if ref.run_id == newest.run_id]
    if len(same_run) > 1:
        positions = ", ".join(str(ref.index) for ref in reversed(same_run))
        raise AmbiguousError(
            f"run {newest.run_id} wrote {display(newest.dataset)} in {len(same_run)} parts",
            hint=f"its state is made of all of them: outputs {positions}",
        )
    return newest


def writer_of_snapshot(session: Session, dataset: str, snapshot_id: str) -> OutputRef | None:
    """Return the newest write of `dataset` that gave the snapshot."""
    where = (Output.snapshot_id == snapshot_id, Output.dataset == dataset)
    found = session.execute(_writes().where(*where).order_by(*_NEWEST).limit(1)).first()
    return None if found is None else _ref(*found)


def written_near(session: Session, datasets: Collection[str]) -> frozenset[str]:
    """Return those of `datasets` of which a write may have left files; see `related_writers`."""
    related = or_(*(_related(Output.dataset, dataset) for dataset in datasets))
    written = session.scalars(select(Output.dataset).where(related).distinct()).all()
    return frozenset(d for d in datasets if any(_is_related(other, d) for other in written))


def related_writers(session: Session, dataset: str) -> list[OutputRef]:
    """Return all writes of `dataset`, of folders in it and of folders it lies in, newest first."""
    query = _writes().where(_related(Output.dataset, dataset)).order_by(*_NEWEST)
    return [_ref(output, reason) for output, reason in session.execute(query)]


def related_readers(session: Session, dataset: str) -> list[OutputRef]:
    """Return the writes that read `dataset`, or folders above or below, newest first."""
    return _readers(session, _reads().where(_related(Input.dataset, dataset)))


def readers(
    session: Session, dataset: str, run_id: str | None, snapshot_id: str | None
) -> list[OutputRef]:
    """Return the writes with `dataset` among their inputs, newest first."""
    query = _reads().where(Input.dataset == dataset)
    if run_id is not None:
        query = query.where(Output.run_id == run_id)
    if snapshot_id is not None:
        query = query.where(Input.snapshot_id == snapshot_id)
    return _readers(session, query)


def _reads() -> Select[Output, str, int]:
    return (
        select(Output, Run.uncaptured, Input.ordinal)
        .join(Run, Run.id == Output.run_id)
        .join(Input, (Input.run_id == Output.run_id) & (Input.index == Output.index))
        .order_by(*_NEWEST, Input.ordinal)
    )


def _readers(session: Session, query: Select[Output, str, int]) -> list[OutputRef]:
    refs = []
    for (output, reason), rows in groupby(session.execute(query), key=lambda row: (row[0], row[1])):
        refs.append(_ref(output, reason, tuple(row[2] for row in rows)))
    return refs


def _related(column: InstrumentedAttribute[str], dataset: str) -> ColumnElement[bool]:
    """Return the condition that the column's dataset is `dataset`, or a folder above or below."""
    scheme, _, path = dataset.rpartition("://")
    parts = path.split("/")
    folders = ["/".join(parts[:n]) or "/" for n in range(1, len(parts) + 1)]
    above = [f"{scheme}://{folder}" for folder in folders] if scheme else [dataset]
    inside = dataset.rstrip("/")
    below = (column > f"{inside}/") & (column < f"{inside}{_AFTER_SLASH}")
    return column.in_(above) | below


def _is_related(other: str, dataset: str) -> bool:
    """Whether a dataset is `dataset`, or a folder above or below."""
    one, two = (f"{name.rstrip('/')}/" for name in (other, dataset))
    return one.startswith(two) or two.startswith(one)


_AFTER_SLASH = "0"  # sorts right after a slash


def _writes() -> Select[Output, str]:
    return select(Output, Run.uncaptured).join(Run, Run.id == Output.run_id)


def _ref(output: Output, run_uncaptured: str, inputs: tuple[int, ...] = ()) -> OutputRef:
    return OutputRef(
        run_id=output.run_id,
        index=output.index,
        dataset=output.dataset,
        snapshot_id=output.snapshot_id,
        ended=output.ended,
        uncaptured=output.uncaptured or run_uncaptured,
        mode=output.mode,
        inputs=inputs,
    )
