"""The custom run facet `rowLineage_run`; importing this module loads the OpenLineage client."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
from openlineage.client.facet_v2 import RunFacet

from lineage_core.openlineage.identity import FACET_SCHEMA


@attrs.define(kw_only=True)
class RowLineageRunFacet(RunFacet):
    """A pointer to the row lineage of a run, and how good it is; `summary` builds its content.

    Attribute names are the JSON names of `docs/spec/row-lineage-run-facet-1-0-0.json`.
    """

    formatVersion: int
    runId: str
    store: str
    manifest: str
    materialize: str
    state: str
    outputs: list[dict[str, Any]]
    reason: str | None = None
    truncated: str | None = None

    # The reference to the manifest must survive, whatever the deployment's secrets are.
    _additional_skip_redact: ClassVar[list[str]] = ["runId", "manifest", "state", "materialize"]

    @staticmethod
    def _get_schema() -> str:
        return FACET_SCHEMA
