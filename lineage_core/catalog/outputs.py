"""Which runs wrote a dataset, and which read it."""

from __future__ import annotations

from datetime import datetime
from itertools import groupby

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.orm import Session

from lineage_core.catalog.answers import OutputRef
from lineage_core.catalog.models import Input, Output, Run
from lineage_core.datasets import display
from lineage_core.errors import AmbiguousError, NotFoundError, UnsupportedError

_NEWEST = (Output.ended.desc(), Output.run_id.desc(), Output.index.desc())


def writers(
    session: Session, dataset: str, run_id: str | None, as_of: datetime | None
) -> tuple[OutputRef, ...]:
    """Return the newest write of `dataset` and, while they are appends, those before it."""
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
        if output.mode != "append":
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


def readers(
    session: Session, dataset: str, run_id: str | None, snapshot_id: str | None
) -> list[OutputRef]:
    """Return the writes with `dataset` among their inputs, newest first."""
    query = (
        select(Output, Run.uncaptured, Input.ordinal)
        .join(Run, Run.id == Output.run_id)
        .join(Input, (Input.run_id == Output.run_id) & (Input.index == Output.index))
        .where(Input.dataset == dataset)
        .order_by(*_NEWEST, Input.ordinal)
    )
    if run_id is not None:
        query = query.where(Output.run_id == run_id)
    if snapshot_id is not None:
        query = query.where(Input.snapshot_id == snapshot_id)
    refs = []
    for (output, reason), rows in groupby(session.execute(query), key=lambda row: (row[0], row[1])):
        refs.append(_ref(output, reason, tuple(row[2] for row in rows)))
    return refs


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
