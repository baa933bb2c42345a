"""The catalog: an index over the manifests of a store, in SQLite or PostgreSQL, to find runs and datasets by."""

from lineage_core.catalog.answers import OutputRef, RebuildReport, Revision, RunSummary
from lineage_core.catalog.catalog import Catalog, open_catalog

__all__ = ["Catalog", "OutputRef", "RebuildReport", "Revision", "RunSummary", "open_catalog"]
