"""The artifact store and its commit protocol (DESIGN 4.10).

    runs/<run id>/...             files of a run, written while it goes on
    runs/<run id>/manifest.json   its record; written last, once: the commit point

A reader that finds no manifest finds no run, so a crash at any moment leaves the store as it was,
plus at most a folder without manifest (`uncommitted`) that may be swept. A manifest carries the
version of its form and the SHA-256 of its record; one that was edited or cut short is refused by
name.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import uuid
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import BinaryIO
from urllib.parse import quote

from lineage_core import codec
from lineage_core.datasets import canonical
from lineage_core.errors import AmbiguousError, CorruptError, NotFoundError, UnsupportedError
from lineage_core.store.backends import open_backend
from lineage_core.store.manifest import VERSION, RunRecord

_RUNS = "runs"
_MANIFEST = "manifest.json"
_HEAD = re.compile(rb'\{"version":(\d{1,9}),')
_FORM = re.compile(rb'\{"version":\d{1,9},"digest":"([0-9a-f]{64})","record":(.*)\}\n', re.DOTALL)


class ArtifactStore:
    """Runs and their files below one path or filesystem URL.

    Args:
        url: a path, or a URL pyarrow or fsspec has a filesystem for; options follow a `?`.
    """

    def __init__(self, url: str) -> None:
        self._backend = open_backend(url)
        self.url = self._backend.uri

    def __repr__(self) -> str:
        return f"ArtifactStore({self.url!r})"

    def uri(self, path: str) -> str:
        """Return the absolute URI of a path of the store."""
        return canonical(f"{self.url}/{quote(_inside(path))}")

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        try:
            return self._backend.read(_inside(path))
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise NotFoundError(
                f"the store has no file {self.uri(path)}",
                hint="row-lineage gc may have removed it; list the runs",
            ) from None
        except OSError as error:
            raise self._unreadable(path, error) from error

    def write(self, path: str, data: bytes) -> None:
        """Make `data` the content of a file, atomically, replacing what was there."""
        with self.writing(path) as file:
            file.write(data)

    def writing(self, path: str) -> AbstractContextManager[BinaryIO]:
        """Give what a file's new content is written to; it is the content when all went well."""
        return self._backend.writing(_inside(path))

    def make_folder(self, path: str) -> None:
        """Make a folder, where the place has some."""
        self._backend.make_directory(_inside(path))

    def exists(self, path: str) -> bool:
        """Say whether there is a file or directory."""
        return bool(self._backend.existing([_inside(path)]))

    def remove(self, path: str) -> None:
        """Delete a file or tree; nothing happens when there is none."""
        self._backend.remove(_inside(path))

    def run_path(self, run_id: str) -> str:
        """Return the folder of a run, relative to the store.

        Raises:
            NotFoundError: the id is not a UUID in its usual lower-case form, so no run can have it.
        """
        if not _is_run_id(run_id):
            raise NotFoundError(
                f"{run_id!r} is not a run id", hint="run ids are UUIDs; row-lineage runs lists them"
            )
        return f"{_RUNS}/{run_id}"

    def commit(self, record: RunRecord) -> None:
        """Write the manifest of a run whose files are all written; the run is visible from here on.

        Raises:
            AmbiguousError: a run of this id is committed already; it stays as it is.
        """
        path = _manifest(self.run_path(record.id))
        text = codec.dumps(record).encode()
        digest = hashlib.sha256(text).hexdigest()
        data = b'{"version":%d,"digest":"%s","record":%s}\n' % (VERSION, digest.encode(), text)
        try:
            self._backend.create(path, data)
        except FileExistsError:
            raise AmbiguousError(
                f"run {record.id} is committed already",
                hint="every capture needs a run id of its own",
            ) from None

    def load(self, run_id: str) -> RunRecord:
        """Return the record of a committed run.

        Raises:
            NotFoundError: there is no such run; the hint names similar ones.
            CorruptError: its manifest was edited, cut short, or is of another version.
        """
        path = _manifest(self.run_path(run_id))
        try:
            data = self._backend.read(path)
        except (FileNotFoundError, NotADirectoryError):
            near = difflib.get_close_matches(run_id, self.runs(), cutoff=0.5)
            hint = (
                f"did you mean {' or '.join(near)}?" if near else "row-lineage runs lists the runs"
            )
            raise NotFoundError(f"the store {self.url} has no run {run_id}", hint=hint) from None
        except OSError as error:
            raise self._unreadable(path, error) from error
        record = _parse(data, self.uri(path))
        if record.id != run_id:
            raise CorruptError(
                f"manifest {self.uri(path)} is of another run, {record.id}", hint=_CORRUPT_HINT
            )
        return record

    def runs(self) -> list[str]:
        """Return the ids of all committed runs, sorted."""
        return self._folders()[0]

    def uncommitted(self) -> list[str]:
        """Return the ids of run folders without manifest: runs going on, or cut off by a crash."""
        return self._folders()[1]

    def sweep(self, run_id: str) -> None:
        """Delete the folder of an uncommitted run.

        Raises:
            AmbiguousError: the run is committed.
        """
        folder = self.run_path(run_id)
        if self.exists(_manifest(folder)):
            raise AmbiguousError(
                f"run {run_id} is committed", hint="sweep only what `uncommitted` lists"
            )
        self.remove(folder)

    def delete(self, run_id: str) -> None:
        """Delete a run, its manifest first, so that no reader meets half of it."""
        folder = self.run_path(run_id)
        self.remove(_manifest(folder))
        self.remove(folder)

    def _folders(self) -> tuple[list[str], list[str]]:
        try:
            ids = [name for name in self._backend.directories(_RUNS) if _is_run_id(name)]
            manifests = set(self._backend.existing(_manifest(f"{_RUNS}/{name}") for name in ids))
        except OSError as error:
            raise self._unreadable(_RUNS, error) from error
        committed = [name for name in ids if _manifest(f"{_RUNS}/{name}") in manifests]
        return committed, [name for name in ids if _manifest(f"{_RUNS}/{name}") not in manifests]

    def _unreadable(self, path: str, error: OSError) -> NotFoundError:
        reason = error.strerror or str(error)
        hint = "check that the store is reachable, and permissions; row-lineage doctor"
        return NotFoundError(f"{self.uri(path)} cannot be read: {reason}", hint=hint)


_CORRUPT_HINT = "restore the file from a backup, or remove the run's folder and rebuild the catalog"


@lru_cache(maxsize=32)  # of the bytes as read each time: what is asked once is asked again
def _parse(data: bytes, uri: str) -> RunRecord:
    head = _HEAD.match(data)
    if head is not None and int(head[1]) != VERSION:
        raise CorruptError(
            f"manifest {uri} has form {int(head[1])}, this version reads form {VERSION}",
            hint="upgrade airflow-provider-row-lineage",
        )
    form = _FORM.fullmatch(data)
    if form is None:
        raise CorruptError(f"manifest {uri} is cut short or not a manifest", hint=_CORRUPT_HINT)
    digest, text = form.groups()
    if hashlib.sha256(text).hexdigest().encode() != digest:
        raise CorruptError(f"manifest {uri} was changed after it was committed", hint=_CORRUPT_HINT)
    try:
        return codec.loads(text, RunRecord)
    except CorruptError as error:
        raise CorruptError(f"manifest {uri}: {error.what}", hint=_CORRUPT_HINT) from error


def _manifest(folder: str) -> str:
    return f"{folder}/{_MANIFEST}"


def _is_run_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _inside(path: str) -> str:
    """Return `path` when it stays below the store's root whatever it is joined to."""
    if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise UnsupportedError(
            f"{path!r} is not a path inside the store", hint="give a plain relative path"
        )
    return path
