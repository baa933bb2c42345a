"""Pipelines as captured runs: their tables as Parquet files, their programs in a store."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lineage_core.lineage import LineageStore
from lineage_core.plan.program import LineageProgram, Step
from lineage_core.plan.relation import Field, output
from lineage_core.plan.traverse import nodes
from lineage_core.snapshot import RID_SHIFT, ColumnType, Snapshot, take
from lineage_core.store.manifest import (
    Artifact,
    Materialize,
    OutputRecord,
    RunRecord,
    RunState,
)
from tests.pipelines.interpreter import Row
from tests.pipelines.pipeline import Pipeline
from tests.pipelines.sources import ARRAY
from tests.pipelines.values import Value, canonical

_ARROW = {
    "long": pa.int64(),
    "integer": pa.int32(),
    "string": pa.string(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    ARRAY: pa.list_(pa.int64()),
}
_MOMENT = "2026-01-01T00:00:00+00:00"


@dataclass(frozen=True)
class Written:
    """The datasets of a pipeline: snapshots of its sources and of its output."""

    sources: tuple[Snapshot, ...]
    output: Snapshot


@dataclass(frozen=True)
class Lake:
    """Writes pipelines below `root` and commits them as runs of `store`."""

    root: Path
    store: LineageStore

    def write(self, pipeline: Pipeline) -> Written:
        """Write the sources and the output of a pipeline."""
        folder = self.root / str(pipeline.seed)
        sources = tuple(
            _write(folder / t.name, dict(t.columns), _files(t.rows)) for t in pipeline.tables
        )
        fields = output(pipeline.plan)
        rows = [tuple(row.values[f.id] for f in fields) for row in pipeline.rows]
        return Written(sources, _write(folder / "out", _types(fields), [rows]))

    def commit(self, pipeline: Pipeline, written: Written, program: LineageProgram) -> str:
        """Commit a run of the pipeline, with the intermediates its program needs; return its id."""
        run_id = str(uuid.uuid4())
        saved = (self._save(pipeline, program.steps[i], i, run_id) for i in program.saved)
        record = OutputRecord(
            dataset=written.output.dataset,
            mode="overwrite",
            snapshot=written.output,
            plan=pipeline.plan,
            program=program,
            inputs=written.sources,
            artifacts=tuple(saved),
            analyzed="",
            optimized="",
            rows=len(pipeline.rows),
            timings=(),
        )
        run = RunRecord(run_id, "pipeline", _MOMENT, _MOMENT, RunState.COMPLETE, (record,))
        self.store.artifacts.commit(run)
        self.store.catalog.add(run)
        return run_id

    def _save(self, pipeline: Pipeline, step: Step, number: int, run_id: str) -> Artifact:
        """Save the distinct rows of the operator that is step `number` of the program."""
        ids = {f.id for node in nodes(pipeline.plan) for f in output(node)}
        virtual = [f.name for f in step.columns if f.id not in ids]
        assert not virtual, f"seed {pipeline.seed}: the plan has no columns {virtual} to be saved"
        rows = _distinct(pipeline.made[step.at], step.columns)
        types = {f"c{f.id}": f.type for f in step.columns}
        if not types:  # a file has at least one column
            types, rows = {"x0": "boolean"}, [(True,) for _ in rows]
        where = self.store.artifacts.run_path(run_id)
        local = self.root / "saved" / run_id / str(number)
        taken = _write(local, types, [rows])
        files = []
        for file in taken.files:
            path = f"{where}/saved/0-{number}/{Path(file.path).name}"
            self.store.artifacts.write(path, (local / Path(file.path).name).read_bytes())
            files.append(replace(file, path=path))
        snapshot = replace(taken, dataset=f"{where}/saved/0-{number}", files=tuple(files))
        return Artifact(number, snapshot, len(rows), Materialize.DEFER)


def _distinct(rows: Iterable[Row], fields: Sequence[Field]) -> list[tuple[Value, ...]]:
    """Return the distinct rows of an intermediate; a column that is not of a row is null there."""
    found = [tuple(row.values.get(f.id) for f in fields) for row in rows]
    return list({tuple(map(canonical, row)): row for row in found}.values())


def _types(fields: Iterable[Field]) -> dict[str, str]:
    return {f.name: f.type for f in fields}


def _files(rows: Mapping[int, tuple[Value, ...]]) -> list[list[tuple[Value, ...]]]:
    """Return the rows of a table, by rid, file by file."""
    files: list[list[tuple[Value, ...]]] = []
    for number, rids in groupby(sorted(rows), key=lambda rid: rid >> RID_SHIFT):
        files += [[] for _ in range(number - len(files))]
        files.append([rows[rid] for rid in rids])
    return files or [[]]


def _write(
    folder: Path, types: Mapping[str, str], files: Sequence[Sequence[tuple[Value, ...]]]
) -> Snapshot:
    folder.mkdir(parents=True)
    paths = []
    for number, rows in enumerate(files):
        arrays = [
            pa.array([row[i] for row in rows], _ARROW[type])
            for i, type in enumerate(types.values())
        ]
        path = folder / f"part-{number}.parquet"
        pq.write_table(pa.table(arrays, names=list(types)), path)
        paths.append((path.as_uri(), ()))
    columns = [ColumnType(name, type) for name, type in types.items()]
    return take(folder.as_uri(), "parquet", columns, paths)
