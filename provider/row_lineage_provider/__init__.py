"""The Airflow provider of row lineage: glue between Airflow and `lineage_core`, nothing more.

Import what you use from its module: `decorators.row_lineage`, `operators.query`,
`hooks.row_lineage`. Nothing is imported here, as every Airflow process reads the provider's
description while it starts.
"""

from __future__ import annotations

__all__: list[str] = []
