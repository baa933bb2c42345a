"""Expressions as they are met in Catalyst's JSON, which lists a tree in pre-order."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_core.capture.literals import has_collation, read_type
from lineage_core.plan.expr import Call, DataType, Expr, Unknown, data_type


@dataclass(frozen=True, slots=True)
class Met:
    """A Catalyst expression met: its JSON, its operands as read, and the Java object behind it."""

    name: str
    tree: Mapping[str, Any]
    args: tuple[Expr, ...]
    java: Callable[[], Any]

    @property
    def type(self) -> DataType:
        return read_type(json.loads(self.java().dataType().json()))

    @property
    def collated(self) -> bool:
        """Whether some operand is equal to others by another rule than byte for byte."""
        return any(has_collation(data_type(arg)) for arg in self.args)

    def call(self, name: str) -> Call:
        return Call(name, self.args, self.type)

    def unknown(self) -> Unknown:
        return Unknown(snake(self.name), self.args, self.type, bool(self.java().deterministic()))


def size(tree: list[dict[str, Any]], place: int) -> int:
    """Return how many elements of a pre-order list the expression at `place` takes."""
    open_, end = 1, place
    while open_:
        open_ += tree[end]["num-children"] - 1
        end += 1
    return end - place


def class_name(node: Mapping[str, Any]) -> str:
    """Return the class name, without its package, of a node or expression in Catalyst's JSON."""
    return str(node["class"]).rstrip("$").replace("$", ".").rpartition(".")[2]


def snake(name: str) -> str:
    """Return a class name as a function name: `CollectList` becomes `collect_list`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
