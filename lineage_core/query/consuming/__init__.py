"""Lineage-consuming queries: SQL whose relations are the rows of lineage answers (Smoke 2.1)."""
