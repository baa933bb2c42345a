"""Alembic migrations of the catalog, run by `lineage_core.catalog.database`."""
