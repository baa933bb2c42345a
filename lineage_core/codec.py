"""The one wire format: canonical JSON for the frozen dataclasses the store holds.

A text is `{"nodes":[...],"value":...}`. Objects carry their class name under `"$"` and all their
fields. Plans and expressions nest without bound, so a node of theirs, an instance of any class that
can contain itself, stands in `nodes`, after the nodes it contains, and is referred to by its number
there. Hence JSON of bounded depth however deep the plan, a shared sub-plan is written once, and
nothing here recurses into one. Canonical: keys sorted, no insignificant white space, ASCII, equal
nodes written once, fields at their default left in; equal values give equal bytes, so `digest` is
an identity.

Decoding builds only the classes reachable from the type asked for, and answers `CorruptError` for
anything else: a manifest is data from a store that others may write to.
"""

from __future__ import annotations

import hashlib
import json
import math
import types
import typing
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from lineage_core.errors import CorruptError

T = TypeVar("T")

_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_INTS = range(-(1 << 63), 1 << 63)


def dumps(value: object) -> str:
    """Return the canonical JSON text of a dataclass of this project."""
    numbers: dict[int, int] = {}
    texts: dict[str, int] = {}
    for node in _bottom_up(value):
        text = _json(_encode_fields(node, numbers))
        numbers[id(node)] = texts.setdefault(text, len(texts))
    return f'{{"nodes":[{",".join(texts)}],"value":{_json(_encode(value, numbers))}}}'


def loads(text: str | bytes, kind: type[T]) -> T:
    """Return the `kind` that `text` holds.

    Raises:
        CorruptError: `text` is not JSON, or holds no `kind` as `dumps` writes it.
    """
    try:
        tree = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite
        )
        return typing.cast(T, _Decoder(kind).decode(tree))
    except CorruptError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        name = getattr(kind, "__name__", str(kind))
        raise CorruptError(f"not a valid {name}: {str(error)[:200]}") from error


def digest(value: object) -> str:
    """Return the identity of a value: the SHA-256 of its canonical text."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()


def _bottom_up(value: object) -> Iterator[object]:
    """Return the nodes in `value`, each object once, after those it contains; never recursive."""
    seen: set[int] = set()
    stack: list[tuple[object, bool]] = [(value, False)]
    while stack:
        item, contents_done = stack.pop()
        if contents_done:
            yield item
        elif isinstance(item, tuple):
            stack.extend((part, False) for part in reversed(item))
        elif _is_class(kind := _class(item)) and id(item) not in seen:
            if _is_node(kind):
                seen.add(id(item))
                stack.append((item, True))
            stack.extend((getattr(item, name), False) for name in reversed(_hints(kind)))


def _encode(value: object, numbers: dict[int, int]) -> object:
    match value:
        case Enum():
            return value.value
        case float() if not math.isfinite(value):
            name = next(name for name, known in _FLOATS.items() if repr(known) == repr(value))
            return {"$": "float", "value": name}
        case None | bool() | float() | str():
            return value
        case int() if value in _INTS:
            return value
        case tuple():
            return [_encode(item, numbers) for item in value]
        case _ if _is_class(kind := _class(value)):
            return numbers[id(value)] if _is_node(kind) else _encode_fields(value, numbers)
        case _:
            raise TypeError(f"{type(value).__name__} has no wire form")


def _encode_fields(value: Any, numbers: dict[int, int]) -> dict[str, object]:
    tree: dict[str, object] = {"$": type(value).__name__}
    for name, hint in _hints(_class(value)).items():
        part = getattr(value, name)
        # An int passes for a float with type checkers, and equal values must have equal bytes.
        tree[name] = _encode(float(part) if hint is float else part, numbers)
    return tree


def _json(tree: object) -> str:
    return _ENCODER.encode(tree)


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


class _Decoder:
    """Builds a `kind`; `_nodes` holds the nodes built so far, which the later ones refer to."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._nodes: list[object] = []

    def decode(self, tree: Any) -> object:
        if not isinstance(tree, dict) or set(tree) != {"nodes", "value"}:
            raise CorruptError("expected an object of nodes and value")
        if not isinstance(tree["nodes"], list):
            raise CorruptError("expected a list of nodes")
        kinds = {kind.__name__: kind for kind in _reachable(self._kind) if _is_node(kind)}
        for node in tree["nodes"]:
            name = node.get("$") if isinstance(node, dict) else None
            if not isinstance(name, str) or name not in kinds:
                raise CorruptError(f"unexpected node {str(name)[:50]!r}")
            self._nodes.append(self._object(node, kinds[name]))
        return self._decode(tree["value"], self._kind)

    def _decode(self, tree: Any, kind: Any) -> object:
        origin = typing.get_origin(kind)
        if origin in (types.UnionType, typing.Union):
            return self._member(tree, typing.get_args(kind))
        if origin is tuple:
            return self._tuple(tree, typing.get_args(kind))
        if _is_class(kind):
            return self._node(tree, (kind,)) if _is_node(kind) else self._object(tree, kind)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return kind(tree)
        return _scalar(tree, kind)

    def _member(self, tree: Any, kinds: tuple[Any, ...]) -> object:
        """Return the value of a union: of a node, of an object told by its name, or of a scalar."""
        if tree is None and types.NoneType in kinds:
            return None
        nodes = tuple(kind for kind in kinds if _is_node(kind))
        if nodes and type(tree) is int:
            return self._node(tree, nodes)
        for kind in kinds:
            if isinstance(tree, dict) and tree.get("$") == kind.__name__:
                return self._decode(tree, kind)
            if type(tree) is kind:
                return _scalar(tree, kind)
        raise CorruptError(f"unexpected {type(tree).__name__}")

    def _tuple(self, tree: Any, parts: tuple[Any, ...]) -> object:
        if not isinstance(tree, list):
            raise CorruptError(f"expected a list, found {type(tree).__name__}")
        if len(parts) == 2 and parts[1] is Ellipsis:
            return tuple(self._decode(item, parts[0]) for item in tree)
        if len(parts) != len(tree):
            raise CorruptError(f"expected {len(parts)} items, found {len(tree)}")
        return tuple(self._decode(item, part) for item, part in zip(tree, parts, strict=True))

    def _node(self, tree: Any, kinds: tuple[type, ...]) -> object:
        if type(tree) is not int or not 0 <= tree < len(self._nodes):
            raise CorruptError("expected the number of an earlier node")
        node = self._nodes[tree]
        if type(node) not in kinds:
            raise CorruptError(f"unexpected {type(node).__name__}")
        return node

    def _object(self, tree: Any, kind: type) -> object:
        if not isinstance(tree, dict) or tree.get("$") != kind.__name__:
            raise CorruptError(f"expected a {kind.__name__}")
        hints = _hints(kind)
        if set(tree) - {"$"} != set(hints):
            raise CorruptError(f"{kind.__name__} has other fields than {', '.join(hints)}")
        return kind(**{name: self._decode(tree[name], hint) for name, hint in hints.items()})


def _scalar(tree: Any, kind: Any) -> object:
    if kind is float and isinstance(tree, dict) and set(tree) == {"$", "value"}:
        return _FLOATS[tree["value"]]
    if type(tree) is not kind or (kind is int and tree not in _INTS):
        raise CorruptError(f"expected {kind.__name__}, found {type(tree).__name__}")
    return tree


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) != len(pairs):
        raise CorruptError("an object has a key twice")
    return tree


def _refuse(constant: str) -> object:
    raise CorruptError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise CorruptError(f"{text[:50]} is no finite number")
    return value


def _class(value: object) -> Any:
    return type(value)  # as Any: mypy believes that a class of unhashable instances is unhashable


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


@cache
def _is_node(kind: Any) -> bool:
    """Say whether `kind` is a dataclass whose instances can contain instances of it."""
    return _is_class(kind) and kind in _reachable(*_hints(kind).values())


@cache
def _reachable(*hints: Any) -> frozenset[Any]:
    """Return the dataclasses that occur in values of the types `hints`, at any depth."""
    found: set[Any] = set()
    waiting: list[Any] = list(hints)
    while waiting:
        hint = waiting.pop()
        parts: Iterable[Any] = typing.get_args(hint)
        if _is_class(hint) and hint not in found:
            found.add(hint)
            parts = _hints(hint).values()
        waiting.extend(parts)
    return frozenset(found)


@cache
def _is_class(hint: Any) -> bool:
    return isinstance(hint, type) and is_dataclass(hint)
