"""What the columns of an operator's output are, told by the source rows that a row was made of.

A row has *derivations*: one row of each scan below, or none, that together made it. There are
several where rows were gathered, as in a group: each member has its own. What is traced of a column
holds in every derivation that has rows of all scans it is told in; a column that is just one of a
scan's is null where the derivation has no row of that scan. Each derivation of a row of a union is
by one of its inputs, so what is known are several traces, of which each derivation has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice, product

from lineage_core.plan.expr import Column, Expr, data_type
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Offset,
    Plan,
    Project,
    Scan,
    Sort,
    Union,
    Window,
)
from lineage_core.plan.traverse import column_ids, evaluable, substitute, walk

_MOST = 100
"""Operands of an expression that is traced: what operators build on each other may grow fast."""

_MOST_WAYS = 16
"""Traces that are told apart: joins of unions have one for each pair of inputs."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What is known of the rows of an operator.

    Attributes:
        columns: its columns by id, as expressions over columns of scans; perhaps not all.
        scans: the places of the scans below it.
        present: those that have a row in every derivation.
    """

    columns: Mapping[int, Expr]
    scans: frozenset[int]
    present: frozenset[int]


def traces(node: Plan, inputs: tuple[tuple[Trace, ...], ...]) -> tuple[Trace, ...]:
    """Return what is known of the rows of `node`, given what is of those of its inputs.

    Every derivation of a row is as one of the traces says.
    """
    match node:
        case Scan():
            at = frozenset({node.at})
            return (Trace({f.id: Column(f.id, f.type) for f in node.columns}, at, at),)
        case Filter() | Sort() | Limit() | Offset():
            return inputs[0]
        case Join():
            return _joined(node.kind, *inputs)
        case Union():
            return _either(
                Trace(_taken(node, ids, known), known.scans, known.present)
                for ids, branch in zip(node.taken, inputs, strict=True)
                for known in branch
            )
        case Project() | Expand() | Generate() | Aggregate() | Window():
            return tuple(_unary(node, known) for known in inputs[0])
        case _:
            return (_unknown(known for branch in inputs for known in branch),)


def in_scans(expr: Expr, columns: Mapping[int, Expr]) -> Expr | None:
    """Return `expr` told in columns of scans; None where it cannot be."""
    if not _is_small(expr) or not column_ids(expr) <= columns.keys():
        return None
    told = substitute(expr, columns)
    return told if _is_small(told) and evaluable(told) else None


def _is_small(expr: Expr) -> bool:
    return next(islice(walk(expr), _MOST, None), None) is None


def _unary(node: Project | Expand | Generate | Aggregate | Window, child: Trace) -> Trace:
    match node:
        case Project():
            return replace(child, columns=_told(((c.id, c.expr) for c in node.columns), child))
        case Expand():
            values = zip(node.columns, zip(*node.projections, strict=True), strict=True)
            same = ((field.id, exprs[0]) for field, exprs in values if len(set(exprs)) == 1)
            return replace(child, columns=_told(same, child))
        case Generate():
            kept = {f.id for f in node.kept}
            return replace(child, columns=_only(kept, child.columns))
        case Window():
            # What is lineage of a row besides itself has nothing in common with it but these.
            shared = {expr.id for expr in node.partition if isinstance(expr, Column)}
            return replace(child, columns=_only(shared, _grouped(child.columns)))
        case Aggregate(keys=()):
            return Trace({}, child.scans, frozenset())  # its row may be of no rows
        case Aggregate():
            columns = _told(((c.id, c.expr) for c in node.columns), child)
            return replace(child, columns=_grouped(columns))


def _joined(
    kind: JoinKind, left: tuple[Trace, ...], right: tuple[Trace, ...]
) -> tuple[Trace, ...]:
    if not kind.pairs and len(right) > 1:
        right = (_unknown(right),)  # no column of it is handed on
    return _either(_paired(kind, one, other) for one, other in product(left, right))


def _paired(kind: JoinKind, left: Trace, right: Trace) -> Trace:
    scans = left.scans | right.scans
    if kind is JoinKind.LEFT_SEMI:
        return Trace(left.columns, scans, left.present | right.present)
    if not kind.pairs:
        return replace(left, scans=scans)
    lefts, rights = left.columns, right.columns
    present = left.present | right.present
    if kind.keeps_right:
        lefts, present = _of_scans(lefts), present - left.scans
    if kind.keeps_left:
        rights, present = _of_scans(rights), present - right.scans
    return Trace({**lefts, **rights}, scans, present)


def _taken(union: Union, ids: tuple[int | None, ...], known: Trace) -> Mapping[int, Expr]:
    """Return the columns of a union, as far as known of an input whose columns `ids` they are."""
    taken = zip(union.columns, ids, strict=True)
    return {f.id: known.columns[id] for f, id in taken if id is not None and id in known.columns}


def _either(known: Iterable[Trace]) -> tuple[Trace, ...]:
    found = tuple(known)
    return found if len(found) <= _MOST_WAYS else (_unknown(found),)


def _unknown(known: Iterable[Trace]) -> Trace:
    """Return a trace that tells nothing of rows that may be by any of some."""
    return Trace({}, frozenset(at for each in known for at in each.scans), frozenset())


def _of_scans(columns: Mapping[int, Expr]) -> Mapping[int, Expr]:
    """Return all columns but constants, which are null in a missing partner, and nothing tells."""
    return {id: expr for id, expr in columns.items() if column_ids(expr)}


def _grouped(columns: Mapping[int, Expr]) -> Mapping[int, Expr]:
    """Return what is the same value in all rows of a group; floats that are equal may differ."""
    return {
        id: expr
        for id, expr in columns.items()
        if not any(data_type(part) in ("float", "double") for part in walk(expr))
    }


def _told(columns: Iterable[tuple[int, Expr]], child: Trace) -> Mapping[int, Expr]:
    told = ((id, in_scans(expr, child.columns)) for id, expr in columns)
    return {id: expr for id, expr in told if expr is not None}


def _only(ids: set[int], columns: Mapping[int, Expr]) -> Mapping[int, Expr]:
    return {id: expr for id, expr in columns.items() if id in ids}

