"""The decorator `@task.row_lineage`."""
