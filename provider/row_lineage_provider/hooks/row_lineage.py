"""The hook: from a connection of the type `row_lineage` to an opened lineage store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from airflow.sdk import BaseHook

from row_lineage_provider.settings import DEFAULT_CONN_ID, store_address

if TYPE_CHECKING:
    from lineage_core.lineage import LineageStore


class RowLineageHook(BaseHook):
    """Opens the lineage store that a task uses.

    Args:
        row_lineage_conn_id: the connection that names the store. When there is none of this name,
            the store is what `[row_lineage] store` says.
        store: path or URL of the store; goes before the connection.
    """

    conn_name_attr = "row_lineage_conn_id"
    default_conn_name = DEFAULT_CONN_ID
    conn_type = "row_lineage"
    hook_name = "Row Lineage"

    def __init__(
        self, row_lineage_conn_id: str = default_conn_name, *, store: str | None = None
    ) -> None:
        super().__init__()
        self._conn_id = row_lineage_conn_id
        self._store = store

    def get_store(self) -> LineageStore:
        """Return the opened store; raise `LineageError` when it cannot be opened."""
        from lineage_core.lineage import open_store

        address = store_address(self._store, self._conn_id)
        _mask(address.store)
        _mask(address.catalog or "")
        return open_store(address.store, catalog=address.catalog)

    def get_conn(self) -> Any:
        """Return what `get_store` does, for code that knows hooks only in general."""
        return self.get_store()

    def test_connection(self) -> tuple[bool, str]:
        """Say whether the store and its catalog can be opened and read, without any credentials."""
        try:
            self.get_store().runs(limit=1)
        except Exception as error:
            # The message of a driver may quote the URL it was given.
            return False, f"the lineage store cannot be opened ({type(error).__name__})"
        return True, "the lineage store and its catalog can be read"


def _mask(url: str) -> None:
    """Keep the password in `url`, if any, out of all logs."""
    from airflow.sdk.log import mask_secret

    try:
        password = urlsplit(url).password
    except ValueError:
        return
    if password:
        mask_secret(password)
        mask_secret(unquote(password))
