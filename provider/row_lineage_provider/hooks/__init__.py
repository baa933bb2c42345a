"""The hook of the connection type `row_lineage`."""
