"""Alembic migrations of the catalog, run by `lineage_core.catalog.database` on a connection it gives."""
