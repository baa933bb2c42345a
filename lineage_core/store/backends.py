"""Where a store keeps its files: a local directory, or any filesystem pyarrow or fsspec knows.

Both offer the same few operations over paths relative to the store's root. `write` is atomic: a
reader sees the old content, the new one, or no file. `create` is `write` that refuses to replace:
on a local disk and on HDFS the filesystem itself guarantees that of two creators one fails; object
stores are asked first, since pyarrow offers no conditional put, which two creators in the same
instant can pass together.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol, cast
from urllib.parse import urlsplit

import pyarrow.fs as pafs

from lineage_core.datasets import canonical, local_path
from lineage_core.filesystems import resolve

_WITHOUT_DIRECTORIES = ("s3", "gcs", "abfs")
"""Where a file needs no directory, and making one takes requests and permissions."""


class Backend(Protocol):
    """The operations of a place for files; paths are relative, checked, and `/`-separated."""

    uri: str

    def read(self, path: str) -> bytes:
        """Return a file's content; raise `FileNotFoundError` when there is none."""

    def writing(self, path: str) -> AbstractContextManager[BinaryIO]:
        """Give what a file's new content is written to; it is the content when all went well."""

    def create(self, path: str, data: bytes) -> None:
        """Write a file that is not there yet; raise `FileExistsError` when it is."""

    def existing(self, paths: Iterable[str]) -> list[str]:
        """Return those of `paths` that are files or directories."""

    def remove(self, path: str) -> None:
        """Delete a file or a tree; nothing happens when there is none."""

    def directories(self, path: str) -> list[str]:
        """Return the names of the directories directly below `path`, sorted."""

    def make_directory(self, path: str) -> None:
        """Make a directory, where the place has some, and those above it."""


def open_backend(url: str) -> Backend:
    """Return the backend of a path or filesystem URL.

    Raises:
        UnsupportedError: neither pyarrow nor an installed fsspec knows the URL.
    """
    address, mark, query = url.partition("?") if "://" in url else (url, "", "")
    uri = canonical(address)
    local = local_path(uri)
    if local is not None:
        return Local(Path(local))
    with_credentials = urlsplit(uri)._replace(netloc=urlsplit(address).netloc).geturl()
    return Remote(uri, with_credentials + mark + query)


class Local:
    """A directory on this machine. Lineage is personal: directories are 0700 and files 0600."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.uri = canonical(str(root))

    def read(self, path: str) -> bytes:
        return (self._root / path).read_bytes()

    @contextmanager
    def writing(self, path: str) -> Iterator[BinaryIO]:
        with self._temporary(path) as (file, temporary):
            yield file
            _sync(file)
            os.replace(temporary, self._root / path)

    def create(self, path: str, data: bytes) -> None:
        with self._temporary(path) as (file, temporary):
            file.write(data)
            _sync(file)
            # Unlike a rename, it fails when the target is there.
            os.link(temporary, self._root / path)

    def existing(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if os.path.lexists(self._root / path)]

    def remove(self, path: str) -> None:
        target = self._root / path
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    def directories(self, path: str) -> list[str]:
        try:
            with os.scandir(self._root / path) as entries:
                return sorted(
                    entry.name for entry in entries if entry.is_dir(follow_symlinks=False)
                )
        except FileNotFoundError:
            return []

    def make_directory(self, path: str) -> None:
        self._make_directory(self._root / path)

    @contextmanager
    def _temporary(self, path: str) -> Iterator[tuple[BinaryIO, Path]]:
        """Give a new file beside a target, on the same filesystem therefore, until it has moved."""
        folder = (self._root / path).parent
        self._make_directory(folder)
        descriptor, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=folder)  # 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file, Path(name)
        finally:
            Path(name).unlink(missing_ok=True)
        _sync_directory(folder)

    def _make_directory(self, directory: Path) -> None:
        if directory.is_dir():
            return
        if directory == self._root:
            # What is above the store is not ours to restrict.
            directory.parent.mkdir(parents=True, exist_ok=True)
        else:
            self._make_directory(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)
        _sync_directory(directory.parent)


class Remote:
    """A prefix of a filesystem that pyarrow or fsspec knows.

    Args:
        uri: its name.
        address: the same with whatever opening it takes: credentials, options.
    """

    def __init__(self, uri: str, address: str) -> None:
        self._filesystem, self._root = resolve(address)
        # Elsewhere it is closing a file that publishes it, whole.
        self._renames = self._filesystem.type_name == "hdfs"
        self.uri = uri

    def read(self, path: str) -> bytes:
        with self._filesystem.open_input_stream(self._inner(path)) as stream:
            return bytes(stream.read())

    @contextmanager
    def writing(self, path: str) -> Iterator[BinaryIO]:
        target = self._inner(path)
        self.make_directory(path.rpartition("/")[0])
        staged = f"{target}.tmp" if self._renames else target
        try:
            with self._filesystem.open_output_stream(staged) as stream:
                yield cast(BinaryIO, stream)
        except BaseException:
            self._filesystem.delete_file(staged)  # closing it has published what there was
            raise
        if self._renames:
            self._filesystem.move(staged, target)

    def create(self, path: str, data: bytes) -> None:
        if self.existing([path]):
            raise FileExistsError(path)
        with self.writing(path) as file:
            file.write(data)

    def make_directory(self, path: str) -> None:
        if self._filesystem.type_name not in _WITHOUT_DIRECTORIES:
            self._filesystem.create_dir(self._inner(path), recursive=True)

    def existing(self, paths: Iterable[str]) -> list[str]:
        wanted = list(paths)
        found = self._filesystem.get_file_info([self._inner(path) for path in wanted])
        missing = pafs.FileType.NotFound
        return [path for path, info in zip(wanted, found, strict=True) if info.type != missing]

    def remove(self, path: str) -> None:
        target = self._inner(path)
        with suppress(FileNotFoundError):
            if self._filesystem.get_file_info(target).type == pafs.FileType.Directory:
                self._filesystem.delete_dir(target)
            else:
                self._filesystem.delete_file(target)

    def directories(self, path: str) -> list[str]:
        selector = pafs.FileSelector(self._inner(path), allow_not_found=True)
        found = self._filesystem.get_file_info(selector)
        return sorted(info.base_name for info in found if info.type == pafs.FileType.Directory)

    def _inner(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}"


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
