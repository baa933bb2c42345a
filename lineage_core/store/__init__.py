"""The artifact store: runs and their files on a filesystem or object store, and the commit
protocol."""

from lineage_core.store.filesystem import ArtifactStore

__all__ = ["ArtifactStore"]
