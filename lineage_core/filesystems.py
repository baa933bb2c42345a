"""From a URI to the filesystem that holds it: pyarrow's own, or fsspec's where pyarrow has none."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from lineage_core.datasets import canonical
from lineage_core.errors import UnsupportedError


def resolve(uri: str) -> tuple[pafs.FileSystem, str]:
    """Return the filesystem of a canonical URI, options behind a `?` included, and the path in it.

    Raises:
        UnsupportedError: neither pyarrow nor an installed fsspec knows the scheme.
    """
    try:
        filesystem, path = pafs.FileSystem.from_uri(uri)
        return filesystem, path
    except pa.ArrowInvalid:
        pass  # pyarrow itself has no filesystem for this scheme
    parts = urlsplit(uri)
    try:
        if parts.query:
            raise ValueError("fsspec takes its options from its own configuration, not from a URL")
        plain = unquote(parts.path, errors="surrogateescape")  # fsspec does not decode
        filesystem, path = pafs.FileSystem.from_uri(
            f"fsspec+{parts.scheme}://{parts.netloc}{plain}"
        )
        return filesystem, path
    except (ImportError, ValueError) as error:
        raise UnsupportedError(
            f"no filesystem for {parts.scheme}:// URLs: {error}",
            hint="use a path, file://, s3://, gs://, abfs:// or hdfs://; others need fsspec",
        ) from error


def locate(uris: Iterable[str]) -> list[tuple[pafs.FileSystem, str]]:
    """Return `resolve` of each URI, with one filesystem for all that share scheme and host.

    An object store's client costs round trips to make, which thousands of files must not pay.
    """
    known: dict[tuple[str, str], tuple[pafs.FileSystem, str]] = {}
    located = []
    for uri in map(canonical, uris):
        parts = urlsplit(uri)
        path = unquote(parts.path, errors="surrogateescape")
        place = (parts.scheme, parts.netloc)
        if place not in known:
            filesystem, inner = resolve(uri)
            known[place] = filesystem, inner.removesuffix(path)
        filesystem, root = known[place]
        located.append((filesystem, root + path))
    return located
