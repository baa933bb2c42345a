"""The operators that capture lineage and ask about it."""
