"""From a run's record to the catalog's rows for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from lineage_core.catalog.models import Alias, Input, Output, Run, SavedStep, Tag, storable
from lineage_core.errors import CorruptError
from lineage_core.snapshot import Snapshot
from lineage_core.store.manifest import Artifact, OutputRecord, RunRecord


def entry(record: RunRecord) -> Run:
    """Return the rows of one run, unattached to any database.

    Raises:
        CorruptError: a time of the record is not ISO 8601 with a time zone.
    """
    ended = _instant(record.ended, record.id)
    aliases = {
        (storable(snapshot.alias), storable(snapshot.dataset))
        for snapshot in _snapshots(record)
        if snapshot.alias
    }
    return Run(
        id=record.id,
        job=storable(record.job),
        started=_instant(record.started, record.id),
        ended=ended,
        state=record.state.value,
        uncaptured=storable(record.uncaptured),
        outputs=[_output(index, output, ended) for index, output in enumerate(record.outputs)],
        tags=[
            Tag(key=key, value=value)
            for key, value in {(storable(k), storable(v)) for k, v in record.tags}
        ],
        aliases=[
            Alias(alias=alias, dataset=name, leaf=alias_leaf(alias)) for alias, name in aliases
        ],
    )


def datasets(run: Run) -> set[str]:
    """Return the canonical names of all datasets that the rows of a run refer to."""
    names = {alias.dataset for alias in run.aliases} | {output.dataset for output in run.outputs}
    return names | {read.dataset for output in run.outputs for read in output.inputs}


def leaf(dataset: str) -> str:
    """Return the last segment of a dataset's name."""
    return dataset.rstrip("/").rpartition("/")[2]


def alias_leaf(alias: str) -> str:
    """Return the last part of a table name: the table itself, without catalog and database."""
    return alias.rpartition(".")[2]


def _output(index: int, output: OutputRecord, ended: datetime) -> Output:
    return Output(
        index=index,
        dataset=storable(output.dataset),
        ended=ended,
        mode=storable(output.mode),
        snapshot_id=output.snapshot.id if output.snapshot is not None else None,
        rows=output.rows,
        uncaptured=storable(output.uncaptured),
        inputs=[
            Input(ordinal=ordinal, dataset=storable(source.dataset), snapshot_id=source.id)
            for ordinal, source in enumerate(output.inputs)
        ],
        artifacts=[_saved(ordinal, artifact) for ordinal, artifact in enumerate(output.artifacts)],
    )


def _saved(ordinal: int, artifact: Artifact) -> SavedStep:
    size = sum(file.size for file in artifact.snapshot.files)
    if size >> 63:
        raise CorruptError(f"an artifact cannot have {size} bytes")
    return SavedStep(
        ordinal=ordinal, step=artifact.step, rows=artifact.rows, bytes=size, how=artifact.how.value
    )


def _snapshots(record: RunRecord) -> Iterator[Snapshot]:
    for output in record.outputs:
        if output.snapshot is not None:
            yield output.snapshot
        yield from output.inputs


def _instant(text: str, run_id: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError("no time zone")
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise CorruptError(f"run {run_id} has the time {text!r}: {error}") from error
