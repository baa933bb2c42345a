"""Links: which rows of two sources can only be lineage together (PredTrace 6.1, predicate pushup).

Where a condition of a join or a filter is about columns of two scans, a lineage row of the one came
to that operator in a derivation (`infer.trace`) in which it held. That derivation has a row of the
other scan, too, if all have or if the condition is not true of nulls, and then this partner is
lineage of the same output row. So the condition is a link: of the one scan only rows are wanted
that have a partner among the rows wanted of the other. All that a condition says about two scans is
one link, where the paper pushes up value sets of single columns: one partner has to satisfy it all.
Where a row came to the operator through one of several inputs of a union, a link has to hold in
every way in which rows of its scan came there.

An anti join hands on rows that have no partner at all, so none in the whole source; what is lineage
of its right input is not asked. Here a condition may only be replaced by one that implies it.

Links never lose a lineage row; what they leave may be more than the lineage.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from lineage_core.infer.trace import Trace, in_scans, traces
from lineage_core.plan.expr import (
    Column,
    Compare,
    Comparison,
    Expr,
    Or,
    conj,
    conjuncts,
)
from lineage_core.plan.program import LineageProgram, StepKind
from lineage_core.plan.relation import (
    Aggregate,
    Field,
    Filter,
    Join,
    JoinKind,
    Plan,
    Project,
    Scan,
    Sort,
)
from lineage_core.plan.traverse import column_ids, fold, nodes


@dataclass(frozen=True, slots=True)
class Link:
    """A lineage row of source step `step` has one of `other` for which `condition` is true.

    The condition is about columns of both scans. If it `excludes`, there is no such row in the
    whole of the source instead, whatever step `other` selects of it.
    """

    step: int
    other: int
    condition: Expr
    excludes: bool = False


def link(plan: Plan, program: LineageProgram) -> tuple[LineageProgram, tuple[Link, ...]]:
    """Return the links between the sources of a program without intermediates.

    The program is returned with the columns that links compare among those of its steps.
    """
    scans = [node for node in nodes(plan) if isinstance(node, Scan)]
    linker = _Linker(
        {program.steps[number].at: number for number in program.sources},
        {f.id: scan.at for scan in scans for f in scan.columns},
    )
    fold(plan, linker.visit)
    compared = {id for found in linker.links for id in column_ids(found.condition)}
    fields = {scan.at: [f for f in scan.columns if f.id in compared] for scan in scans}
    steps = [
        replace(step, columns=_with(step.columns, fields[step.at]))
        if step.kind is StepKind.SOURCE
        else step
        for step in program.steps
    ]
    return replace(program, steps=tuple(steps)), tuple(linker.links)


def _with(columns: tuple[Field, ...], added: list[Field]) -> tuple[Field, ...]:
    return tuple(dict.fromkeys((*columns, *added)))


class _Linker:
    """Collects the links that the operators of a plan make.

    `at` is the step of each scan, by place; `scan_of` the place of the scan of each of its columns.
    """

    def __init__(self, at: Mapping[int, int], scan_of: Mapping[int, int]) -> None:
        self.links: list[Link] = []
        self._at = at
        self._scan_of = scan_of

    def visit(self, node: Plan, inputs: tuple[tuple[Trace, ...], ...]) -> tuple[Trace, ...]:
        match node:
            case Filter():
                (ways,) = inputs
                found = [(rows, self._paired(node.condition, rows, rows.scans)) for rows in ways]
                self.links += self._agreed(found)
            case Join():
                found = [
                    (_pair(left, right), self._joined(node, left, right))
                    for left, right in product(*inputs)
                ]
                self.links += self._agreed(found)
        return traces(node, inputs)

    def _agreed(self, found: Iterable[tuple[Trace, Iterable[Link]]]) -> Iterator[Link]:
        """Yield the links that hold in whichever way a row of their step came to an operator."""
        ways = [(rows.scans, list(links)) for rows, links in found]
        for link in dict.fromkeys(link for _, links in ways for link in links):
            met = [links for scans, links in ways if link.step in map(self._at.get, scans)]
            if all(link in links for links in met):
                yield link

    def _joined(self, join: Join, left: Trace, right: Trace) -> Iterator[Link]:
        if join.kind is JoinKind.LEFT_ANTI:
            return self._excluding(join, left, right)
        # What is handed on without a partner may be so because the condition is not true.
        bound = frozenset() if join.kind.keeps_left else left.scans
        bound |= frozenset() if join.kind.keeps_right else right.scans
        return self._paired(join.condition, _pair(left, right), bound)

    def _paired(self, condition: Expr, rows: Trace, bound: frozenset[int]) -> Iterator[Link]:
        """Yield the links of a condition on `rows`, which is true of all with a row of `bound`."""
        for (one, other), parts in self._by_pair(condition, rows).items():
            for mine, theirs in ((one, other), (other, one)):
                there = theirs in rows.present or any(self._needs(part, theirs) for part in parts)
                if mine in bound and there:
                    yield self._link(mine, theirs, parts)

    def _by_pair(self, condition: Expr, rows: Trace) -> Mapping[tuple[int, int], list[Expr]]:
        """Return what a condition says about two scans, for each two that it equates."""
        by_pair: dict[tuple[int, int], list[Expr]] = defaultdict(list)
        for part in conjuncts(condition):
            told = in_scans(part, rows.columns)
            pair = tuple(sorted(self._scans(told))) if told is not None else ()
            if told is not None and len(pair) == 2:
                by_pair[pair].append(told)
        return {
            pair: parts
            for pair, parts in by_pair.items()
            if self._at.keys() >= set(pair) and self._equate(parts)
        }

    def _excluding(self, join: Join, left: Trace, right: Trace) -> Iterator[Link]:
        """Yield the link of an anti join whose right input is one source, read as it is."""
        kept = _read(join.right)
        columns = {**left.columns, **right.columns}
        told = [in_scans(part, columns) for part in conjuncts(join.condition)]
        if kept is None or None in told:
            return
        parts = [self._implying(part) for part in told if part is not None]
        scans = {at for part in parts for at in self._scans(part)} - right.scans
        sources = self._at.keys() >= scans | right.scans  # all but what domains are made of
        if sources and len(scans) == 1 and self._equate(parts):
            (theirs,) = right.scans
            yield self._link(scans.pop(), theirs, [*parts, *kept], excludes=True)

    def _implying(self, condition: Expr) -> Expr:
        """Return what implies a condition and can be hashed; the condition if nothing does."""
        match condition:
            case Or(args):  # such as that of NOT IN, true of nulls besides
                return next((arg for arg in args if self._equate([arg])), condition)
            case _:
                return condition

    def _link(
        self, mine: int, theirs: int, parts: Iterable[Expr], *, excludes: bool = False
    ) -> Link:
        condition = conj(self._facing(part, mine) for part in parts)
        return Link(self._at[mine], self._at[theirs], condition, excludes)

    def _facing(self, part: Expr, scan: int) -> Expr:
        """Return an equality with the side first that is about `scan`."""
        match part:
            case Compare(Comparison.EQ | Comparison.SAME as op, left, right):
                return part if scan in self._scans(left) else Compare(op, right, left)
            case _:
                return part

    def _equate(self, parts: Iterable[Expr]) -> bool:
        """Whether an engine can find the partners by hashing: other ways may take for ever."""
        return any(
            isinstance(part, Compare)
            and part.op in (Comparison.EQ, Comparison.SAME)
            and len(self._scans(part.left)) == len(self._scans(part.right)) == 1
            and self._scans(part.left) != self._scans(part.right)
            for part in parts
        )

    def _needs(self, part: Expr, scan: int) -> bool:
        """Whether a condition is not true where `scan` has no row, and its columns are null."""
        return (
            isinstance(part, Compare)
            and part.op is not Comparison.SAME
            and any(
                isinstance(side, Column) and self._scan_of[side.id] == scan
                for side in (part.left, part.right)
            )
        )

    def _scans(self, expr: Expr) -> frozenset[int]:
        return frozenset(self._scan_of[id] for id in column_ids(expr))


def _pair(left: Trace, right: Trace) -> Trace:
    """Return what is known of two rows that are held against each other."""
    columns = {**left.columns, **right.columns}
    return Trace(columns, left.scans | right.scans, left.present | right.present)


def _read(plan: Plan) -> list[Expr] | None:
    """Return what a row of the one scan below must satisfy to be a row of `plan`, or of a group.

    None where there is more to it than conditions on the row.
    """
    operators: list[Filter | Project | Sort | Aggregate] = []
    while not isinstance(plan, Scan):
        if not isinstance(plan, Filter | Project | Sort | Aggregate):
            return None
        operators.append(plan)
        plan = plan.child
    (rows,), conditions = traces(plan, ()), list[Expr]()
    for operator in reversed(operators):
        if isinstance(operator, Filter):
            for part in conjuncts(operator.condition):
                told = in_scans(part, rows.columns)
                if told is None:
                    return None
                conditions.append(told)
        (rows,) = traces(operator, ((rows,),))
    return conditions
