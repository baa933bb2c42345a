"""Results that need not fit into memory: rows spooled to files, which an engine can read again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.dataset as pads

from lineage_core.datasets import local_path
from lineage_core.filesystems import resolve
from lineage_core.store.filesystem import ArtifactStore


@dataclass(frozen=True, slots=True, eq=False)
class Spooled:
    """Rows that an engine wrote to files of their own.

    Attributes:
        uri: the folder they are in.
        format: `parquet`, or `ipc`.
        schema: of the rows.
    """

    uri: str
    format: str
    schema: pa.Schema

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.dataset().count_rows())

    def dataset(self) -> pads.Dataset:
        """Return the rows, to be read as they are needed."""
        filesystem, path = resolve(self.uri)
        return pads.dataset(path, self.schema, self.format, filesystem)


class Spool:
    """Where results are spooled to while something is built.

    Attributes:
        scratch: a folder of this machine, for an engine to spill to.
    """

    def __init__(self, uri: str, scratch: Path) -> None:
        self._uri = uri
        self._numbers = count()
        self.scratch = scratch

    def place(self) -> str:
        """Return the URI of a folder that is not there yet."""
        return f"{self._uri}/{next(self._numbers)}"


@contextmanager
def spool(store: ArtifactStore, folder: str) -> Iterator[Spool]:
    """Give a spool in a folder of a store, where clusters reach it; it is gone afterwards."""
    path = f"{folder}/spool-{uuid4().hex}"
    local = local_path(store.uri(path))
    try:
        if local is None:
            with tempfile.TemporaryDirectory(prefix="row-lineage-") as scratch:
                yield Spool(store.uri(path), Path(scratch))
        else:
            scratch_path = Path(local) / "scratch"
            store.make_folder(f"{path}/scratch")
            yield Spool(store.uri(path), scratch_path)
    finally:
        store.remove(path)
