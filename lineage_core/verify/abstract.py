"""Abstraction: smaller obligations that imply the given one.

Proofs of row-wise, join and limit operators never look into a condition on one input's own columns,
and treat columns alike that are only ever compared with an anchor column of their own. So
conditions that always stand together become one arbitrary predicate, and such columns become one.
What holds for an arbitrary predicate and a compound column holds for the conjunctions they stand
for; what does not may only be lost, never gained. Queries with forty columns and ten conditions
thus have the same few shapes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import TypeAlias

from lineage_core.plan.expr import (
    Anchor,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    IsNull,
    Or,
    Unknown,
    conj,
    conjuncts,
    disj,
)
from lineage_core.plan.relation import Field, Filter, Join, Limit, Offset, Sort, children, output
from lineage_core.plan.traverse import anchor_ids, column_ids, walk
from lineage_core.pushdown.obligation import Obligation
from lineage_core.verify.compound import compound
from lineage_core.verify.shades import is_shaded


@dataclass(frozen=True, slots=True)
class Abstract:
    """An obligation, and for columns it does not mention any more those that stand for them."""

    obligation: Obligation
    merged: Mapping[int, int]


def abstract(obligation: Obligation) -> Abstract:
    """Return an obligation that implies the given one and mentions fewer columns and conditions."""
    if not isinstance(obligation.operator, Filter | Join | Sort | Limit | Offset):
        smaller = compound(obligation)
        return Abstract(smaller.obligation, smaller.merged)
    slots = _slots(obligation)
    fields = {f.id: (i, f) for i, c in enumerate(children(obligation.operator)) for f in output(c)}
    slots = _lump(slots, fields, _by_values(obligation))
    saved = range(1, 1 + len(obligation.pushed)) if obligation.saved else range(0)
    slots, merged = _merge(slots, fields, saved)
    return Abstract(_with_slots(obligation, slots), merged)


def _by_values(obligation: Obligation) -> bool:
    """Whether the operator hands on every row by its own values alone.

    Then nothing depends on which anchor column a row is compared with. What cannot be evaluated
    again, and so is not pushed, is different: of a sample a bound key tells which row it took, and
    of a function bound arguments tell its value.
    """
    node = obligation.operator
    if not isinstance(node, Filter) or obligation.saved:
        return False
    return not any(isinstance(e, Unknown) for e in walk(node.condition))


Slots: TypeAlias = list[tuple[Expr, ...]]
Fields: TypeAlias = dict[int, tuple[int, Field]]

_CONDITION = "condition"


def _slots(obligation: Obligation) -> Slots:
    """Return the conjuncts of every predicate: the output's, each input's, and the condition."""
    node = obligation.operator
    condition = [node.condition] if isinstance(node, Filter | Join) else []
    return [conjuncts(p) for p in (obligation.predicate, *obligation.pushed, *condition)]


def _with_slots(obligation: Obligation, slots: Slots) -> Obligation:
    node = obligation.operator
    inputs = len(obligation.pushed)
    if isinstance(node, Filter | Join):
        node = replace(node, condition=conj(slots[1 + inputs]))
    pushed = tuple(conj(slot) for slot in slots[1 : 1 + inputs])
    return replace(obligation, operator=node, predicate=conj(slots[0]), pushed=pushed)


def _lump(slots: Slots, fields: Fields, anchored: bool) -> Slots:
    """Put one arbitrary predicate in place of the conditions that stand in the same slots."""
    standing: dict[Expr, set[int]] = defaultdict(set)
    for number, slot in enumerate(slots):
        for part in slot:
            if _is_own(part, fields, anchored):
                standing[part].add(number)
    lumps: dict[tuple[int, frozenset[int]], list[Expr]] = defaultdict(list)
    for part, numbers in standing.items():
        lumps[_side(part, fields), frozenset(numbers)].append(part)
    replaced: dict[Expr, Expr] = {}
    for number, parts in enumerate(lumps.values()):
        columns = sorted(set().union(*map(column_ids, parts)))
        args = tuple(Column(id, fields[id][1].type) for id in columns)
        lump = Call(f"{_CONDITION} {number}", args, "boolean")
        replaced.update((part, lump) for part in parts)
    return [tuple(dict.fromkeys(replaced.get(part, part) for part in slot)) for slot in slots]


def _is_own(part: Expr, fields: Fields, anchored: bool) -> bool:
    """Whether a conjunct is a repeatable condition on the columns of one input and nothing else.

    The anchor row is the same for all rows, so `anchored` conditions are conditions, too.
    """
    ids = column_ids(part)
    if not ids or not ids <= fields.keys() or len({fields[id][0] for id in ids}) > 1:
        return False
    return not any(
        (isinstance(e, Anchor) and not anchored) or (isinstance(e, Unknown) and not e.deterministic)
        for e in walk(part)
    )


def _side(part: Expr, fields: Fields) -> int:
    return fields[next(iter(column_ids(part)))][0]


def _merge(slots: Slots, fields: Fields, saved: range) -> tuple[Slots, dict[int, int]]:
    """Keep one of the columns that occur in the same way; return the others with the one kept.

    `saved` numbers the slots whose anchor is the operator's own output row.
    """
    uses: dict[int, list[str]] = {id: [] for id in fields}
    anchors: dict[int, list[int]] = {id: [] for id in fields}
    partner = {id: id for id in fields} if saved else _partners(slots)
    with_partner: dict[int, list[int]] = defaultdict(list)
    for id, anchor in partner.items():
        with_partner[anchor].append(id)
    for number, slot in enumerate(slots):
        for place, part in enumerate(slot):
            own = anchor_ids(part) if number in saved else frozenset()
            absent = frozenset(id for anchor in _nulls(part) for id in with_partner[anchor])
            for id in ((column_ids(part) | own) - absent) & uses.keys():
                uses[id].append(_use(number, part, id, anchors[id], number in saved))
            for id in absent & uses.keys():
                uses[id].append(f"{number} absent with others of {place}")
    kept: dict[tuple[int, bool, tuple[str, ...]], int] = {}
    merged: dict[int, int] = {}
    for id, (side, field) in fields.items():
        if uses[id] and _SPECIAL not in uses[id]:
            # Two truth values are too few to stand for any others.
            if field.type == "boolean":
                continue
            way = (side, is_shaded(field.type), tuple(uses[id]))
            if kept.setdefault(way, id) != id:
                merged[id] = kept[way]
    gone = {partner[id] for id in merged if id in partner}
    slots = [tuple(_without_nulls(part, gone) for part in slot) for slot in slots]
    return [_without(slot, merged.keys()) for slot in slots], merged


def _partners(slots: Slots) -> dict[int, int]:
    """Return the anchor column that a column is compared with."""
    found: dict[int, int] = {}
    for slot in slots:
        for part in slot:
            match part:
                case Compare(Comparison.SAME, Column(id), Anchor(anchor)):
                    found.setdefault(id, anchor)
                case _:
                    pass
    return found


def _nulls(part: Expr) -> frozenset[int]:
    """Return the anchor columns that a conjunct allows to be null all together, and no more."""
    if not isinstance(part, Or):
        return frozenset()
    groups = [arg for arg in part.args if _is_absence(arg)]
    others = (anchor_ids(arg) for arg in part.args if arg not in groups)
    return anchor_ids(groups[0]).difference(*others) if len(groups) == 1 else frozenset()


def _is_absence(expr: Expr) -> bool:
    return all(isinstance(e, IsNull) and isinstance(e.arg, Anchor) for e in conjuncts(expr))


def _without_nulls(part: Expr, gone: Set[int]) -> Expr:
    """Return a conjunct with the null tests of anchor columns left out that others stand for."""
    left_out = _nulls(part) & gone
    if not left_out or not isinstance(part, Or):
        return part
    groups = (
        conj(e for e in conjuncts(arg) if not anchor_ids(e) & left_out) if _is_absence(arg) else arg
        for arg in part.args
    )
    return disj(groups)


_SPECIAL = "special"


def _use(slot: int, part: Expr, id: int, anchors: list[int], saved: bool) -> str:
    """Return how a conjunct uses a column, as a text that is equal for equal uses."""
    match part:
        case Call(name=name) if name.startswith(_CONDITION):
            return f"{slot} {name}"
        case Compare(Comparison.SAME, Column(column), Anchor(anchor)) if column == id:
            if saved:  # compared with the same column of the saved row, or in no common way
                return f"{slot} same as saved" if anchor == id else _SPECIAL
            if anchor not in anchors:
                anchors.append(anchor)
            return f"{slot} same as anchor {anchors.index(anchor)}"
        case _:
            return _SPECIAL


def _without(slot: tuple[Expr, ...], merged: Set[int]) -> tuple[Expr, ...]:
    parts: list[Expr] = []
    for part in slot:
        match part:
            case Call() if part.name.startswith(_CONDITION):
                args = tuple(a for a in part.args if not column_ids(a) <= merged)
                parts.append(replace(part, args=args))
            case _ if not column_ids(part) & merged:
                parts.append(part)
            case _:
                pass
    return tuple(parts)
