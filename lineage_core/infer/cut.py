"""Cuts: at which operator an intermediate is to be had, and which columns of it (PredTrace 3.3, 5).

A row of the intermediate stands for the output row it is; the row-selection predicate over its
columns goes down in place of the predicate that was not precise. A *saved* intermediate holds the
columns that predicate compares, and those the join conditions of the block below compare, one of
each set of columns that the conditions equate. A *computed* one can also hold the rids of the rows
it was made of, which tell the rows of every scan in its block at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from lineage_core.infer.block import hidden, joins, rids, unpaired
from lineage_core.plan.expr import Anchor, Column, Compare, Comparison, Expr, conj, conjuncts, same
from lineage_core.plan.positions import is_number, numberings, numbers
from lineage_core.plan.program import StepKind
from lineage_core.plan.prune import prune
from lineage_core.plan.relation import (
    Field,
    Limit,
    Offset,
    Plan,
    Scan,
    Window,
    children,
    is_rid,
    output,
)
from lineage_core.plan.repeat import uncomputable, unrepeatable
from lineage_core.plan.traverse import column_ids, nodes
from lineage_core.plan.types import holds_map, is_comparable
from lineage_core.plan.widen import widen
from lineage_core.pushdown import Exact, Outcome, Prover, push, reduce


@dataclass(frozen=True, slots=True)
class Cut:
    """An intermediate: the operator it is the output of, its columns, what goes to each input.

    `reduced` are, for a computed one, by place of the scans below: what is enough of them.
    `assumed` are the places of the limits below at whose boundary no rows may tie.
    """

    kind: StepKind
    node: Plan
    columns: tuple[Field, ...]
    outcomes: tuple[Outcome, ...]
    reduced: tuple[tuple[int, Expr], ...] = ()
    assumed: frozenset[int] = frozenset()


def cut(
    kind: StepKind,
    node: Plan,
    predicate: Expr,
    prove: Prover,
    *,
    premise: bool,
    formats: Mapping[int, str] | None,
    decided: frozenset[int] = frozenset(),
    below: Plan | None = None,
    tells: Callable[[Cut], bool] = lambda _: True,
) -> Cut | None:
    """Return how having the output of `node` makes pushing exact; None where it does not.

    The rows a limit keeps are saved even where rows equal to them may have been cut off: what is
    left of the blur is those rows only.

    Args:
        kind: how the output is to be had.
        node: the operator.
        predicate: which of its output rows are wanted.
        prove: answers obligations.
        premise: whether some output row is known to satisfy `predicate`.
        formats: the format of each source, by number; all Parquet if None.
        decided: places of limits at whose boundary no rows are assumed to tie.
        below: an operator further down whose input rows are to be told as well.
        tells: whether a cut that is exact here is exact down to there.
    """
    keys = hidden(node) | (hidden(below) if below is not None else {})
    computed = kind is StepKind.COMPUTED
    compared = column_ids(predicate)
    if not computed and (numbers(node) or any(map(_is_virtual, compared))):
        return None
    if any(f.id in compared and holds_map(f.type) for f in output(node)):
        return None  # rows with maps cannot be made distinct
    carried = {**rids(node, formats), **unpaired(node)} if computed else {}
    widened = widen(node, keys.keys() | carried.keys())
    found = None
    for columns in _choices(kind, widened, predicate, keys, carried):
        needed = prune(widened, {f.id for f in columns})
        if computed and _cannot_compute(needed, formats, decided):
            continue
        told = (f for f in columns if is_comparable(f.type))
        row = conj(same(Column(f.id, f.type), Anchor(f.id, f.type)) for f in told)
        outcomes = push(widened, predicate, prove, row=row, premise=premise)
        found = Cut(kind, widened, columns, outcomes)
        if all(isinstance(outcome, Exact) for outcome in outcomes) and tells(found):
            if not computed:
                return found
            reduced = _reduced(widened, predicate, prove)
            return replace(found, reduced=reduced, assumed=_assumed(needed, decided))
    if found is None or computed or below or not isinstance(node, Limit | Offset):
        return None
    tells_more = any(f.id not in column_ids(predicate) for f in found.columns)
    return found if tells_more else None


def _is_virtual(id: int) -> bool:
    """Whether a column is one that no plan of Spark's offers: the rid or the number of a row."""
    return is_rid(id) or is_number(id)


def _cannot_compute(
    needed: Plan, formats: Mapping[int, str] | None, decided: frozenset[int]
) -> bool:
    scans = (scan for scan in nodes(needed) if isinstance(scan, Scan))
    if formats is not None and not all(formats[scan.source] for scan in scans):
        return True
    return bool(uncomputable(needed) or unrepeatable(needed, decided))


def _assumed(needed: Plan, decided: frozenset[int]) -> frozenset[int]:
    """Return those of the decided places that the plan itself does not decide."""
    places = {n.at for n in nodes(needed) if isinstance(n, Limit | Offset | Window)} & decided
    assumed = {at for at in places if unrepeatable(needed, places - {at})}
    return frozenset(assumed - numberings(needed))


def _choices(
    kind: StepKind,
    node: Plan,
    predicate: Expr,
    keys: dict[int, Field],
    carried: dict[int, Field],
) -> Iterator[tuple[Field, ...]]:
    """Yield sets of columns to have, smallest first.

    Those `carried` cost little: to compute them the operators read what they need anyway. With the
    rids of every scan they are enough; where a scan has none, keys have to tell its rows.
    """
    computed = kind is StepKind.COMPUTED
    compared = column_ids(predicate)
    offered = tuple(
        f
        for f in output(node)
        if (is_comparable(f.type) or f.id in compared) and (computed or not _is_virtual(f.id))
    )
    least = compared | carried.keys()
    if computed:
        yield tuple(f for f in offered if f.id in least)
    some = least | _representatives(node, compared, keys)
    yield tuple(f for f in offered if f.id in some)
    yield tuple(f for f in offered if f.id in least or f.id in keys)
    yield offered


def _reduced(node: Plan, predicate: Expr, prove: Prover) -> tuple[tuple[int, Expr], ...]:
    """Return, by place of the scans below `node`, which rows are enough to compute what is wanted.

    Cutting down one input after the other, operator by operator, is sound: the claim holds for
    inputs of any rows, so also for those already cut down.
    """
    found: list[tuple[int, Expr]] = []
    stack = [(node, predicate)]
    while stack:
        current, wanted = stack.pop()
        if isinstance(current, Scan):
            if conjuncts(wanted):
                found.append((current.at, wanted))
            continue
        stack.extend(zip(children(current), reduce(current, wanted, prove), strict=True))
    return tuple(sorted(found, key=lambda entry: entry[0]))


def _representatives(node: Plan, compared: frozenset[int], keys: dict[int, Field]) -> set[int]:
    """Return one key of each set of equated keys, unless `compared` holds one of them."""
    group = {id: id for id in keys}

    def root(id: int) -> int:
        while group[id] != id:
            id = group[id]
        return id

    for left, right in _equated(node):
        if left in group and right in group:
            group[root(right)] = root(left)
    offered = [f.id for f in output(node) if f.id in group]
    chosen = {root(id) for id in offered if id in compared}
    result: set[int] = set()
    for id in offered:
        if root(id) not in chosen:
            chosen.add(root(id))
            result.add(id)
    return result


def _equated(top: Plan) -> Iterator[tuple[int, int]]:
    """Yield the pairs of columns that the join conditions of a block equate."""
    for join in joins(top):
        for part in conjuncts(join.condition):
            match part:
                case Compare(Comparison.EQ, Column() as a, Column() as b) if a.type == b.type:
                    yield a.id, b.id
                case _:
                    pass
