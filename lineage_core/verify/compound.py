"""Abstraction of projections and aggregates: columns used alike become one compound column.

Most columns of a wide projection or aggregate play no part of their own in a proof: the predicate
says something about them, and it goes down as it is, or not at all. One arbitrary function of all
they are computed from stands for all of them, and one arbitrary condition on it for all that is
said. A compound has more values than any column it stands for, so what holds for it holds for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, replace

from lineage_core.plan.expr import (
    AggregateCall,
    Call,
    Column,
    Expr,
    Unknown,
    conj,
    conjuncts,
)
from lineage_core.plan.relation import Aggregate, Field, Named, Project, Union, output
from lineage_core.plan.traverse import anchor_ids, column_ids, substitute, walk
from lineage_core.pushdown.obligation import Obligation
from lineage_core.verify.branches import one_branch
from lineage_core.verify.shades import is_shaded

_CONDITION = "compound condition"
_VALUE = "compound value"


@dataclass(frozen=True, slots=True)
class Compound:
    """A smaller obligation, and for input columns it does not mention those that stand for them."""

    obligation: Obligation
    merged: dict[int, int]


def compound(obligation: Obligation) -> Compound:
    """Return an obligation that implies the given one, with fewer columns where that is easy."""
    match obligation.operator:
        case Project() as node if not obligation.saved:
            return _project(obligation, node)
        case Aggregate() as node:
            return _aggregate(obligation, node)
        case Union() as node:
            return Compound(one_branch(obligation, node), {})
        case _:
            return Compound(obligation, {})


def _project(obligation: Obligation, node: Project) -> Compound:
    """Let one condition on one column stand for all conjuncts that go down as they are."""
    definitions = {column.id: column.expr for column in node.columns}
    parts, pushed = conjuncts(obligation.predicate), conjuncts(obligation.pushed[0])
    images = {part: substitute(part, definitions) for part in parts}
    down = frozenset(pushed)
    said = {part for part, image in images.items() if image in down and _is_repeatable(image)}
    gone = {images[part] for part in said}
    above = [part for part in parts if part not in said]
    below = [part for part in pushed if part not in gone]
    merged = _ids(said)
    if not merged or merged & _ids(above):
        return Compound(obligation, {})
    left = [column for column in node.columns if column.id not in merged]
    used = _ids(definitions[id] for id in merged)
    elsewhere = _ids([*below, *(column.expr for column in left)])
    args, stands = _inputs(output(node.child), used, elsewhere)
    value = Call(_VALUE, args, _type(c.type for c in node.columns if c.id in merged))
    id = min(merged)
    smaller = replace(
        obligation,
        operator=replace(node, columns=(Named(id, "", value, value.type), *left)),
        predicate=conj([_condition(Column(id, value.type)), *above]),
        pushed=(conj([_condition(value), *below]),),
    )
    return Compound(smaller, stands)


def _aggregate(obligation: Obligation, node: Aggregate) -> Compound:
    """Let one aggregated column stand for all those that nothing is pushed of."""
    aggregated = {c.id for c in node.columns if _is_aggregated(c.expr) and _is_repeatable(c.expr)}
    parts = conjuncts(obligation.predicate)
    said = {p for p in parts if (ids := column_ids(p)) and ids <= aggregated and _is_repeatable(p)}
    above = [part for part in parts if part not in said]
    named = frozenset().union(*map(anchor_ids, obligation.pushed)) if obligation.saved else set()
    merged = aggregated - _ids(above) - named
    if len(merged) < 2 or not _ids(said) <= merged:
        return Compound(obligation, {})
    left = [column for column in node.columns if column.id not in merged]
    used = _ids(column.expr for column in node.columns if column.id in merged)
    elsewhere = _ids([*obligation.pushed, *node.keys, *(column.expr for column in left)])
    args, stands = _inputs(output(node.child), used, elsewhere)
    type = _type(column.type for column in node.columns if column.id in merged)
    id = min(merged)
    column = Named(id, "", AggregateCall(_VALUE, args, type, False, None), type)
    smaller = replace(
        obligation,
        operator=replace(node, columns=(*left, column)),
        predicate=conj([*above, *([_condition(Column(id, type))] if said else [])]),
    )
    return Compound(smaller, stands)


def _inputs(
    fields: tuple[Field, ...], used: Set[int], elsewhere: Set[int]
) -> tuple[tuple[Column, ...], dict[int, int]]:
    """Return the columns a compound is a function of, and those that one of them stands for."""
    alone = [f for f in fields if f.id in used and f.id not in elsewhere and f.type != "boolean"]
    first = next((f for f in alone if is_shaded(f.type)), alone[0] if alone else None)
    merged = {f.id: first.id for f in alone if f is not first} if first is not None else {}
    kept = (f for f in fields if f.id in used and f.id not in merged)
    return tuple(Column(f.id, f.type) for f in kept), merged


def _condition(value: Expr) -> Call:
    return Call(_CONDITION, (value,), "boolean")


def _type(types: Iterable[str]) -> str:
    return "double" if any(map(is_shaded, types)) else "long"


def _ids(exprs: Iterable[Expr]) -> frozenset[int]:
    return frozenset().union(*map(column_ids, exprs))


def _is_aggregated(expr: Expr) -> bool:
    return any(isinstance(e, AggregateCall) for e in walk(expr))


def _is_repeatable(expr: Expr) -> bool:
    return not any(isinstance(e, Unknown) and not e.deterministic for e in walk(expr))
