"""The catalog: an index over a store's manifests, in SQLite or PostgreSQL."""

from lineage_core.catalog.answers import OutputRef, RebuildReport, Revision, RunSummary
from lineage_core.catalog.catalog import Catalog, open_catalog
from lineage_core.catalog.tasks import TaskRuns

__all__ = [
    "Catalog",
    "OutputRef",
    "RebuildReport",
    "Revision",
    "RunSummary",
    "TaskRuns",
    "open_catalog",
]
