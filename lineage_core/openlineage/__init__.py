"""OpenLineage: a captured run as datasets and facets, without any value of a row or predicate."""

from __future__ import annotations

from lineage_core.openlineage.facets import RunLineage, describe
from lineage_core.openlineage.identity import FACET_KEY, FACET_SCHEMA, PRODUCER

__all__ = ["FACET_KEY", "FACET_SCHEMA", "PRODUCER", "RunLineage", "describe"]
