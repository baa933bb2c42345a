"""Dataset names: one canonical URI for each dataset, however it was written down.

Spark, people, OpenLineage and object-store clients spell the same dataset in many ways. Inside this
project a dataset has one name, an absolute URI without trailing slash (`file:///data/orders`,
`s3://bucket/key`), whose path is percent-encoded, so that it can be handed to any filesystem
library as it is.

A text *with* a scheme is a URI: `%20` in it means a space; characters that should have been encoded
and were not (Hadoop does not) stand for themselves. A text *without* a scheme is a path on this
machine, and every character of it stands for itself. User and password are no part of a name, which
everybody gets to see. Nothing here looks at the disk: symbolic links are not followed.
"""

from __future__ import annotations

import os
import posixpath
import re
from urllib.parse import quote, unquote

from lineage_core.errors import UnsupportedError

_URI = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?://(?P<authority>[^/]*))?(?P<path>/.*|)", re.DOTALL
)
_OPAQUE = "jdbc:"  # not hierarchical: nothing in it but credentials may be rewritten
_CREDENTIALS = re.compile(
    r"(?<=[:/])[^:/?;@]+[:/][^/?;@]*@|[?&;][^=&;]*(?:user|pass|pwd|secret|token|key)[^=&;]*=[^&;]*",
    re.IGNORECASE,
)
_SAME_SCHEME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
_LOCAL_HOSTS = ("", "localhost")
_OBJECT_STORES = frozenset({"s3", "gs", "wasb", "wasbs"})
_SAFE = "/-_.!~*'():@&=+$,;"  # what java.net.URI leaves alone in a path, as far as it is ASCII


def canonical(name: str) -> str:
    """Return the canonical URI of the dataset that `name` means.

    Args:
        name: a path (relative ones are below the working directory), a URI, or an OpenLineage
            `namespace/name`, which for a local file is `file` + `/` + its absolute path.

    Raises:
        UnsupportedError: `name` is empty or holds what no path can hold.

    >>> canonical("/data/raw/../my orders/")
    'file:///data/my%20orders'
    >>> canonical("file:/data/my%20orders")
    'file:///data/my%20orders'
    >>> canonical("file//data/orders")
    'file:///data/orders'
    >>> canonical("s3a://bucket/orders/")
    's3://bucket/orders'
    """
    if not name.strip():
        raise _no_name(name)
    if name.startswith(_OPAQUE):
        return _CREDENTIALS.sub("", name)
    if name.startswith("file//"):  # OpenLineage: namespace `file`, name `/...`
        return _uri("file", "", name.removeprefix("file/"))
    match = _URI.fullmatch(name)
    if match is not None and (match["authority"] is not None or match["path"]):
        scheme = match["scheme"].lower()
        path = unquote(match["path"], errors="surrogateescape")
        return _uri(_SAME_SCHEME.get(scheme, scheme), match["authority"] or "", path)
    if name.startswith("file:"):
        name = unquote(name.removeprefix("file:"), errors="surrogateescape")
    return _uri("file", "", os.path.abspath(name))


def openlineage_name(canonical: str) -> tuple[str, str]:
    """Return the namespace and name OpenLineage's naming specification gives a canonical URI.

    >>> openlineage_name("file:///data/my%20orders")
    ('file', '/data/my orders')
    >>> openlineage_name("s3://bucket/orders/2024")
    ('s3://bucket', 'orders/2024')
    >>> openlineage_name("hdfs://namenode:8020/orders")
    ('hdfs://namenode:8020', '/orders')
    """
    scheme, authority, path = _split(canonical)
    if authority is None or (scheme == "file" and not authority):
        return scheme, path
    namespace = f"{scheme}://{authority}"
    if scheme in _OBJECT_STORES:
        path = path.removeprefix("/") or "/"
    return namespace, path


def display(canonical: str) -> str:
    """Return a short name for people, which `canonical` reads back from the same working directory.

    >>> display("s3://bucket/orders")
    's3://bucket/orders'
    >>> display("file:///data/my%20orders")
    '/data/my orders'
    """
    local = local_path(canonical)
    if local is None:
        return canonical
    here = os.getcwd()
    if local != here and not local.startswith(here.rstrip("/") + "/"):
        return local
    short = os.path.relpath(local, here)
    return short if _reads_back(short, canonical) else f"./{short}"


def local_path(canonical: str) -> str | None:
    """Return the path on this machine of a canonical URI; None when it lies elsewhere.

    >>> local_path("file:///data/my%20orders")
    '/data/my orders'
    """
    scheme, authority, path = _split(canonical)
    return path if scheme == "file" and authority == "" else None


def _uri(scheme: str, authority: str, path: str) -> str:
    if scheme == "file" and authority.lower() in _LOCAL_HOSTS:
        authority = ""
    user, _, host = authority.rpartition("@")
    if ":" in user:  # without, it is the container of an Azure URL
        authority = host
    normal = posixpath.normpath("/" + path.lstrip("/"))
    try:
        encoded = quote(normal, safe=_SAFE, errors="surrogateescape")
    except UnicodeEncodeError:
        raise _no_name(path) from None
    if "\0" in path:
        raise _no_name(path)
    if encoded == "/" and authority:
        encoded = ""
    return f"{scheme}://{authority}{encoded}"


def _no_name(text: str) -> UnsupportedError:
    hint = "give a path, a URI or namespace/name"
    return UnsupportedError(f"{text!r} is no dataset name", hint=hint)


def _split(canonical: str) -> tuple[str, str | None, str]:
    """Return scheme, authority and decoded path; of an opaque URI scheme, None and the rest."""
    match = _URI.fullmatch(canonical)
    if match is None or match["authority"] is None:
        scheme, _, rest = canonical.partition(":")
        return scheme, None, rest
    path = unquote(match["path"], errors="surrogateescape")
    return match["scheme"], match["authority"], path


def _reads_back(short: str, name: str) -> bool:
    return canonical(short) == name if short.strip() else False
