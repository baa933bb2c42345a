"""Our names in OpenLineage events: URLs that identify, not addresses to fetch."""

from __future__ import annotations

PRODUCER = "https://row-lineage.dev/producer/0-1-0"
"""Who made a facet. Airflow's provider names itself on facets that do not say."""

FACET_KEY = "rowLineage_run"
FACET_SCHEMA = (
    "https://row-lineage.dev/spec/row-lineage-run-facet-1-0-0.json#/$defs/RowLineageRunFacet"
)
