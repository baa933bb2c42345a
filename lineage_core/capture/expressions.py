"""Catalyst expressions to IR expressions: only what means the same, everything else is `Unknown`.

Catalyst's JSON lists an expression tree in pre-order. It leaves out some facts (result types,
evaluation modes, escape characters, binary values); those are asked of the Java expression at the
same place. The walk is iterative, so that a condition of thousands of terms is no recursion error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from lineage_core.capture.literals import has_collation, read_type
from lineage_core.capture.meanings import RULES
from lineage_core.capture.met import Met, class_name
from lineage_core.plan.expr import Column, Expr, Unknown, conj, data_type, disj


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may refer to.

    Attributes:
        ids: the column behind each Catalyst attribute.
        subquery: gives the value of a scalar subquery, or None if it has no IR form.
    """

    ids: Mapping[int, int]
    subquery: Callable[[Met], Expr | None]


def read(tree: list[dict[str, Any]], scope: Scope, root: Callable[[], Any]) -> Expr:
    """Return the expression that the pre-order list `tree` holds; `root` gives its Java object."""
    parents = _parents(tree)
    chains: dict[int, list[Expr]] = {}  # operands of an And/Or below one of the same kind, by place
    stack: list[tuple[int, Expr]] = []
    for place in reversed(range(len(tree))):
        node = tree[place]
        name = class_name(node)
        taken = [stack.pop() for _ in range(node["num-children"])]
        if name in ("And", "Or"):
            terms = [t for i, arg in taken for t in chains.pop(i, [arg])]
            parent = parents[place][0]
            if parent >= 0 and class_name(tree[parent]) == name:
                chains[place] = terms
                stack.append((place, terms[0]))
            else:
                stack.append((place, conj(terms) if name == "And" else disj(terms)))
            continue
        args = tuple(arg for _, arg in taken)
        met = Met(name, node, args, cache(partial(_java, root, parents, place)))
        stack.append((place, _read_one(met, scope)))
    ((_, expr),) = stack
    return expr


def by_bytes(expr: Expr) -> Expr:
    """Return `expr`, hidden as `Unknown` if equal values of it may differ in their bytes."""
    type = data_type(expr)
    return Unknown("collation", (expr,), type, True) if has_collation(type) else expr


def _parents(tree: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Return of each place its parent's (-1 for the root) and its number among the siblings."""
    found: list[tuple[int, int]] = []
    open_: list[tuple[int, int]] = []  # places that may await children, and how many have come
    for place in range(len(tree)):
        while open_ and open_[-1][1] == tree[open_[-1][0]]["num-children"]:
            open_.pop()
        if open_:
            parent, ordinal = open_.pop()
            open_.append((parent, ordinal + 1))
            found.append((parent, ordinal))
        else:
            found.append((-1, 0))
        open_.append((place, 0))
    return found


def _java(root: Callable[[], Any], parents: list[tuple[int, int]], place: int) -> Any:
    path = []
    while parents[place][0] >= 0:
        place, ordinal = parents[place]
        path.append(ordinal)
    java = root()
    for ordinal in reversed(path):
        java = java.children().apply(ordinal)
    return java


def _read_one(met: Met, scope: Scope) -> Expr:
    match met.name:
        case "AttributeReference":
            return _attribute(met, scope)
        case "ScalarSubquery":
            return scope.subquery(met) or met.unknown()
    rule = RULES.get(met.name)
    return (rule and rule(met)) or met.unknown()


def _attribute(met: Met, scope: Scope) -> Expr:
    type = read_type(met.tree["dataType"])
    id = scope.ids.get(met.tree["exprId"]["id"])
    # What no input offers is a value of the rows around a subquery, or nobody's.
    return Unknown("attribute", (), type, False) if id is None else Column(id, type)
