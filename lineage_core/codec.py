"""The one wire format: canonical, versioned JSON for the frozen dataclasses the store holds.

Canonical: keys sorted, no insignificant white space, fields at their default left in; equal values give
equal bytes, so `digest` is an identity. A value of a union carries its class name under `"$"`. Decoding
builds only the classes reachable from the type asked for, and answers `CorruptError` for anything else:
a manifest is data from a store that others may write to.
"""

from __future__ import annotations

import hashlib
import json
import math
import types
import typing
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from lineage_core.errors import CorruptError

T = TypeVar("T")

_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def dumps(value: object) -> str:
    """Return the canonical JSON text of a dataclass of this project."""
    return json.dumps(_encode(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def loads(text: str | bytes, kind: type[T]) -> T:
    """Return the `kind` that `text` holds.

    Raises:
        CorruptError: `text` is not JSON, or not of the form `dumps` gives for a `kind`.
    """
    try:
        tree = json.loads(text)
        return typing.cast(T, _decode(tree, kind))
    except CorruptError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CorruptError(f"not a valid {kind.__name__}: {error}") from error


def digest(value: object) -> str:
    """Return the identity of a value: the SHA-256 of its canonical text."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()


def _encode(value: object) -> object:
    match value:
        case Enum():
            return value.value
        case float() if not math.isfinite(value):
            return {"$": "float", "value": str(value).replace("nan", "NaN").replace("inf", "Infinity")}
        case None | bool() | int() | float() | str():
            return value
        case tuple():
            return [_encode(item) for item in value]
        case _ if is_dataclass(value):
            tree = {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
            return {"$": type(value).__name__, **tree}
        case _:
            raise TypeError(f"{type(value).__name__} has no wire form")


def _decode(tree: Any, kind: Any) -> object:
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _decode_union(tree, typing.get_args(kind))
    if origin is tuple:
        if not isinstance(tree, list):
            raise CorruptError(f"expected a list, found {type(tree).__name__}")
        parts = typing.get_args(kind)
        if len(parts) == 2 and parts[1] is Ellipsis:
            return tuple(_decode(item, parts[0]) for item in tree)
        if len(parts) != len(tree):
            raise CorruptError(f"expected {len(parts)} items, found {len(tree)}")
        return tuple(_decode(item, part) for item, part in zip(tree, parts, strict=True))
    if isinstance(kind, type) and is_dataclass(kind):
        return _decode_dataclass(tree, kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(tree)
    return _decode_scalar(tree, kind)


def _decode_union(tree: Any, kinds: tuple[Any, ...]) -> object:
    if isinstance(tree, dict) and tree.get("$") != "float":
        for kind in kinds:
            if isinstance(kind, type) and kind.__name__ == tree.get("$"):
                return _decode(tree, kind)
        raise CorruptError(f"unexpected object {tree.get('$')!r}")
    if tree is None and types.NoneType in kinds:
        return None
    for kind in kinds:
        if kind in (bool, int, float, str):
            try:
                return _decode_scalar(tree, kind)
            except CorruptError:
                continue
    raise CorruptError(f"unexpected {type(tree).__name__}")


def _decode_dataclass(tree: Any, kind: type) -> object:
    if not isinstance(tree, dict) or tree.get("$") != kind.__name__:
        raise CorruptError(f"expected a {kind.__name__}")
    hints = _hints(kind)
    if set(tree) - {"$"} != set(hints):
        raise CorruptError(f"{kind.__name__} has fields {sorted(set(tree) - {'$'})}")
    return kind(**{name: _decode(tree[name], hint) for name, hint in hints.items()})


def _decode_scalar(tree: Any, kind: Any) -> object:
    if kind is float and isinstance(tree, dict) and set(tree) == {"$", "value"}:
        return _FLOATS[tree["value"]]
    if kind is float and type(tree) is int:
        return float(tree)
    if type(tree) is not kind:
        raise CorruptError(f"expected {kind.__name__}, found {type(tree).__name__}")
    return tree


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)
