"""What the options before the command say, and the store they name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_core.datasets import display, local_path
from lineage_core.errors import NotFoundError

if TYPE_CHECKING:
    from lineage_core.lineage import LineageStore


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of `row-lineage` itself.

    Attributes:
        store: path or URL of the store.
        catalog: SQLAlchemy URL of the catalog; None for the one inside the store.
    """

    store: str
    catalog: str | None

    def open(self, *, new: bool = False) -> LineageStore:
        """Open the store.

        Args:
            new: whether it may be one that is not there yet.

        Raises:
            NotFoundError: it has to be there, and is not.
        """
        from lineage_core.lineage import open_store

        store = open_store(self.store, catalog=self.catalog)
        folder = local_path(store.url)
        if not new and folder is not None and not Path(folder).exists():
            raise NotFoundError(
                f"there is no store at {display(store.url)}",
                hint="name it with --store or in ROW_LINEAGE_STORE; row-lineage run makes one",
            )
        return store
