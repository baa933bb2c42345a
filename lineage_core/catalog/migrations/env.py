"""Run by Alembic for each upgrade; the connection and its transaction are the caller's."""

from __future__ import annotations

from alembic import context

from lineage_core.catalog.database import VERSION_TABLE
from lineage_core.catalog.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # SQLite's too, since the driver's own transactions are switched off
)
with context.begin_transaction():
    context.run_migrations()
