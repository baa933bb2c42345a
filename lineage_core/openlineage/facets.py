"""A captured run as OpenLineage datasets and facets, for whoever sends the event to hand over.

Input datasets always carry their schema: consumers such as Marquez only draw column lineage
between columns they know of at both ends. Schemas are sent whole; everything else of size keeps a
budget, and the run facet says what was left out. What a UI must show is a dataset or run facet,
since Marquez does not show output facets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lineage_core.datasets import openlineage_name
from lineage_core.openlineage.identity import FACET_KEY, PRODUCER
from lineage_core.openlineage.schema import schema_facet
from lineage_core.openlineage.summary import summary
from lineage_core.plan.relation import output as plan_output
from lineage_core.plan.uses import Role, Use, column_lineage
from lineage_core.snapshot import ColumnType, Snapshot
from lineage_core.store.manifest import OutputRecord, RunRecord

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset
    from openlineage.client.facet_v2 import DatasetFacet, JobFacet, RunFacet
    from openlineage.client.facet_v2 import column_lineage_dataset as cll

COLUMNS_BUDGET = 40 * 1024
"""Bytes of JSON that the column lineage of one run may take."""


@dataclass(frozen=True, slots=True)
class RunLineage:
    """What an event says of a run besides its identity, as objects of the OpenLineage client."""

    inputs: tuple[InputDataset, ...] = ()
    outputs: tuple[OutputDataset, ...] = ()
    run_facets: dict[str, RunFacet] = field(default_factory=dict)
    job_facets: dict[str, JobFacet] = field(default_factory=dict)


def describe(record: RunRecord, *, store: str, materialize: str = "auto") -> RunLineage:
    """Return the datasets and facets of a captured (or uncaptured) run.

    Args:
        record: the run, whether or not it could be committed.
        store: URL of the store; credentials in it are left out.
        materialize: the mode the capture was asked for.
    """
    from lineage_core.openlineage.run_facet import RowLineageRunFacet

    inputs = _last_by_name(snapshot for output in record.outputs for snapshot in output.inputs)
    by_name: dict[str, list[OutputRecord]] = {}
    for output in record.outputs:
        by_name.setdefault(output.dataset, []).append(output)
    budget = COLUMNS_BUDGET // max(1, len(by_name))
    columns = {name: _Columns.of(writes, budget) for name, writes in by_name.items()}
    facet = summary(
        record,
        store=store,
        materialize=materialize,
        left_out=("column lineage",) if any(found.cut for found in columns.values()) else (),
    )
    return RunLineage(
        tuple(_input(snapshot) for snapshot in inputs),
        tuple(_output(writes, columns[name]) for name, writes in by_name.items()),
        {FACET_KEY: RowLineageRunFacet(producer=PRODUCER, **facet)},
    )


def _last_by_name(snapshots: Iterable[Snapshot]) -> tuple[Snapshot, ...]:
    return tuple({snapshot.dataset: snapshot for snapshot in snapshots}.values())


def _input(snapshot: Snapshot) -> InputDataset:
    from openlineage.client.event_v2 import InputDataset

    namespace, name = openlineage_name(snapshot.dataset)
    return InputDataset(namespace, name, facets=_dataset_facets(snapshot))


def _dataset_facets(snapshot: Snapshot) -> dict[str, DatasetFacet]:
    """Return what is known of any dataset: schema, version, data source, its name in a catalog."""
    from openlineage.client.facet_v2 import (
        dataset_version_dataset,
        datasource_dataset,
        symlinks_dataset,
    )

    namespace, _ = openlineage_name(snapshot.dataset)
    facets: dict[str, DatasetFacet] = {
        "schema": schema_facet(snapshot.columns),
        "version": dataset_version_dataset.DatasetVersionDatasetFacet(
            snapshot.id, producer=PRODUCER
        ),
        "dataSource": datasource_dataset.DatasourceDatasetFacet(
            name=namespace,
            uri=namespace if "://" in namespace else f"{namespace}:///",
            producer=PRODUCER,
        ),
    }
    if snapshot.alias:
        identifier = symlinks_dataset.Identifier(namespace, snapshot.alias, "TABLE")
        facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet([identifier], producer=PRODUCER)
    return facets


def _output(writes: list[OutputRecord], columns: _Columns) -> OutputDataset:
    """Return the dataset that the `writes` of a run went to; the last one tells its state."""
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import output_statistics_output_dataset as statistics

    last = writes[-1]
    namespace, name = openlineage_name(last.dataset)
    facets = {} if last.snapshot is None else _dataset_facets(last.snapshot)
    if last.snapshot is None and last.plan is not None:
        fields = plan_output(last.plan)
        facets["schema"] = schema_facet([ColumnType(f.name, f.type) for f in fields])
    if columns.known:
        facets["columnLineage"] = columns.facet()
    counted = statistics.OutputStatisticsOutputDatasetFacet(
        **_statistics(writes), producer=PRODUCER
    )
    return OutputDataset(namespace, name, facets=facets, outputFacets={"outputStatistics": counted})


def _statistics(writes: list[OutputRecord]) -> dict[str, int | None]:
    """Return rows, bytes and files this run left in the dataset; None where a write is unknown."""
    kept = writes
    for i, write in enumerate(writes):
        if write.mode == "overwrite":
            kept = writes[i:]
    files = [None if write.snapshot is None else write.snapshot.files for write in kept]
    known = [f for group in files if group is not None for f in group]
    whole = None not in files
    return {
        "rowCount": sum(w.rows for w in kept) if all(w.rows >= 0 for w in kept) else None,
        "size": sum(file.size for file in known) if whole else None,
        "fileCount": len(known) if whole else None,
    }


_Key = tuple[str, str, str, Role]
"""Namespace and name of an input dataset, its column, and how it is used."""

_SUBTYPES = {
    Role.VALUE: "IDENTITY",
    Role.TRANSFORMED: "TRANSFORMATION",
    Role.AGGREGATED: "AGGREGATION",
    Role.FILTER: "FILTER",
    Role.JOIN: "JOIN",
    Role.GROUP: "GROUP_BY",
    Role.SORT: "SORT",
    Role.WINDOW: "WINDOW",
    Role.CONDITIONAL: "CONDITIONAL",
}
"""OpenLineage's words for the roles; it has none for a role that is not known."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """The column lineage of all writes to one dataset, and whether some of it was cut off."""

    fields: dict[str, dict[_Key, None]]
    rows: dict[_Key, None]
    cut: bool

    @classmethod
    def of(cls, writes: list[OutputRecord], budget: int) -> _Columns:
        fields: dict[str, dict[_Key, None]] = {}
        rows: dict[_Key, None] = {}
        for write in writes:
            if write.plan is not None:
                found = column_lineage(write.plan)
                for column, uses in found.columns:
                    fields.setdefault(column, {}).update(_keys(uses, write))
                rows.update(_keys(found.rows, write))
        return cls(fields, rows, cut=False)._within(budget)

    @property
    def known(self) -> bool:
        return bool(self.rows) or any(self.fields.values())

    def facet(self) -> cll.ColumnLineageDatasetFacet:
        from openlineage.client.facet_v2 import column_lineage_dataset as cll

        fields = {
            name: cll.Fields(_input_fields(keys)) for name, keys in self.fields.items() if keys
        }
        return cll.ColumnLineageDatasetFacet(fields, _input_fields(self.rows), producer=PRODUCER)

    def _within(self, budget: int) -> _Columns:
        """Return what fits: columns in the output's order, then what decides about the rows."""
        left = budget
        fields: dict[str, dict[_Key, None]] = {}
        for name, keys in self.fields.items():
            left -= _length(keys) + len(name)
            if left >= 0:
                fields[name] = keys
        rows = self.rows if _length(self.rows) <= left else {}
        return _Columns(fields, rows, cut=(fields, rows) != (self.fields, self.rows))


def _keys(uses: tuple[Use, ...], write: OutputRecord) -> dict[_Key, None]:
    return {
        (*openlineage_name(write.inputs[use.source].dataset), use.column, use.role): None
        for use in uses
        if use.role in _SUBTYPES
    }


def _length(keys: Iterable[_Key]) -> int:
    # What the transformation of a use takes besides its own words.
    return sum(len(json.dumps(key)) + 110 for key in keys)


def _input_fields(keys: Iterable[_Key]) -> list[cll.InputField]:
    from openlineage.client.facet_v2 import column_lineage_dataset as cll

    grouped: dict[tuple[str, str, str], list[cll.Transformation]] = {}
    for namespace, name, column, role in keys:
        directly = "DIRECT" if role.direct else "INDIRECT"
        transformation = cll.Transformation(directly, _SUBTYPES[role])
        grouped.setdefault((namespace, name, column), []).append(transformation)
    return [cll.InputField(*key, transformations=value) for key, value in grouped.items()]
