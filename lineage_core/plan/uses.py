"""Column lineage of a plan: in which roles the columns of its scans enter its rows.

A *use* is one way in which a column of a scan enters: directly (its value is handed on, transformed
or aggregated) or indirectly (it decides which rows there are, how they are grouped or ordered, what
a window function looks at, or which branch of a conditional is taken). A column's own uses follow
it upward, so that what is computed and never asked for leaves no trace; uses that decide about rows
hold for the whole output. Nothing is claimed about a column that went through an opaque operator:
what such an operator reads is used in an unknown role, and what it offers is listed as unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from lineage_core.plan.expr import (
    AggregateCall,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    IsNull,
    Not,
    WindowCall,
    conjuncts,
)
from lineage_core.plan.functions import NEIGHBOURS, RANKINGS
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Field,
    Filter,
    Generate,
    Join,
    Limit,
    Named,
    Offset,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    Union,
    Values,
    Window,
    is_rid,
    output,
)
from lineage_core.plan.traverse import column_ids, fold, nodes, operands


class Role(StrEnum):
    """How a column enters; of an opaque operator it is not known how."""

    VALUE = "value"
    TRANSFORMED = "transformed"
    AGGREGATED = "aggregated"
    FILTER = "filter"
    JOIN = "join"
    GROUP = "group"
    SORT = "sort"
    WINDOW = "window"
    CONDITIONAL = "conditional"
    UNKNOWN = "unknown"

    @property
    def direct(self) -> bool:
        """Whether something of the column's value is handed on."""
        return self in _DIRECT


_DIRECT = (Role.VALUE, Role.TRANSFORMED, Role.AGGREGATED)


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """Column `column` of the scan at place `at`, which reads `source`, enters as `role`."""

    source: int
    at: int
    column: str
    role: Role


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """The column lineage of one output.

    Attributes:
        columns: each output column of known origin with its uses, in the output's order.
        rows: the uses that decide about the output's rows.
        unknown: output columns nothing is known about.
    """

    columns: tuple[tuple[str, tuple[Use, ...]], ...]
    rows: tuple[Use, ...]
    unknown: tuple[str, ...]


def column_lineage(plan: Plan) -> ColumnLineage:
    """Return the column lineage of the rows `plan` denotes."""
    found = fold(plan, _known)
    fields = output(plan)
    columns = tuple(
        (f.name, tuple(sorted(found.uses[f.id]))) for f in fields if f.id not in found.unknown
    )
    lost = tuple(f.name for f in fields if f.id in found.unknown)
    return ColumnLineage(columns, tuple(sorted(found.decided)), lost)


def column_roles(plan: Plan) -> Mapping[int, Mapping[str, frozenset[Role]]]:
    """Return by place of each scan of `plan` the columns of it that are used, with their roles."""
    roles: dict[int, dict[str, frozenset[Role]]] = {
        node.at: {} for node in nodes(plan) if isinstance(node, Scan)
    }
    found = fold(plan, _known)
    for use in found.decided.union(*(found.uses[f.id] for f in output(plan))):
        of_scan = roles[use.at]
        of_scan[use.column] = of_scan.get(use.column, frozenset()) | {use.role}
    return roles


Uses: TypeAlias = frozenset[Use]

_NONE: Uses = frozenset()


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a relation.

    Attributes:
        uses: by column, what it is made of.
        rows: what decides about the rows.
        unknown: the columns nothing is known about.
        present: by column, the uses of a filter that only asks it not to be null; they count
            unless a join asks the same.
    """

    uses: Mapping[int, Uses]
    rows: Uses = _NONE
    unknown: frozenset[int] = frozenset()
    present: Mapping[int, Uses] = field(default_factory=dict)

    @property
    def decided(self) -> Uses:
        """What decides about the rows when no join is to come."""
        return self.rows.union(*self.present.values())

    def of(self, exprs: Iterable[Expr], role: Role) -> Uses:
        """Return the uses that are made of columns by `exprs`, whose values enter as `role`."""
        found: set[Use] = set()
        stack = [(expr, frozenset((role,))) for expr in exprs]
        met: set[tuple[int, _Manner]] = set()
        while stack:
            current, manner = stack.pop()
            if isinstance(current, Column):
                for use in self.uses.get(current.id, ()):
                    found.update(replace(use, role=r) for r in _through(use.role, manner))
            elif (id(current), manner) not in met:
                met.add((id(current), manner))
                stack.extend((arg, _through(part, manner)) for arg, part in _parts(current))
        return frozenset(found)

    def computed(self, columns: Iterable[Named]) -> Mapping[int, Uses]:
        return {column.id: self.of((column.expr,), Role.VALUE) for column in columns}

    def lost(self, exprs: Iterable[Expr]) -> bool:
        """Whether one of `exprs` is made of what nothing is known about."""
        return bool(self.unknown) and any(column_ids(expr) & self.unknown for expr in exprs)


def _known(node: Plan, inputs: tuple[_Known, ...]) -> _Known:
    match node:
        case Scan() | Values():
            return _Known({column.id: _read(node, column) for column in node.columns})
        case Join():
            return _join(node, *inputs)
        case Union():
            return _union(node, inputs)
        case Opaque():
            return _opaque(node, inputs)
        case _:
            return _unary(node, inputs[0])


def _unary(
    node: Filter | Project | Aggregate | Expand | Generate | Window | Sort | Limit | Offset,
    below: _Known,
) -> _Known:
    match node:
        case Filter():
            return _filter(node, below)
        case Project() | Aggregate():
            return _project(node, below)
        case Expand():
            return _expand(node, below)
        case Generate():
            return _generate(node, below)
        case Window():
            return _window(node, below)
        case Sort():
            return replace(below, rows=below.rows | below.of(_ordered(node.keys), Role.SORT))
        case Limit() | Offset():
            return replace(below, rows=below.decided, present={})


def _read(node: Scan | Values, column: Field) -> Uses:
    if isinstance(node, Values) or is_rid(column.id):
        return _NONE
    return frozenset((Use(node.source, node.at, column.name, Role.VALUE),))


def _project(node: Project | Aggregate, below: _Known) -> _Known:
    kept = {c.expr.id: c.id for c in node.columns if isinstance(c.expr, Column)}
    gone = (uses for id, uses in below.present.items() if id not in kept)
    grouped = below.of(node.keys if isinstance(node, Aggregate) else (), Role.GROUP)
    return _Known(
        below.computed(node.columns),
        below.rows.union(grouped, *gone),
        frozenset(c.id for c in node.columns if below.lost((c.expr,))),
        {kept[id]: uses for id, uses in below.present.items() if id in kept},
    )


def _expand(node: Expand, below: _Known) -> _Known:
    given = {f.id: [values[i] for values in node.projections] for i, f in enumerate(node.columns)}
    return _Known(
        {id: below.of(exprs, Role.VALUE) for id, exprs in given.items()},
        below.decided,
        frozenset(id for id, exprs in given.items() if below.lost(exprs)),
    )


def _generate(node: Generate, below: _Known) -> _Known:
    uses = {column.id: below.uses[column.id] for column in node.kept}
    unknown = below.unknown & uses.keys()
    number, made, role = _generated(node)
    for column, exprs in zip(node.generated, made, strict=True):
        uses[column.id] = below.of(exprs, role)
        if below.lost(exprs):
            unknown |= {column.id}
    return _Known(uses, below.decided | below.of((number,), Role.FILTER), unknown)


def _generated(node: Generate) -> tuple[Expr, list[list[Expr]], Role]:
    """Return what decides how many rows are made, of what each column is made, and how."""
    match node.generator:
        case Call(name="stack" | "replicate_rows", args=(number, *values)):
            width = len(node.generated)
            return number, [values[i::width] for i in range(width)], Role.VALUE
        case generator:
            return generator, [[generator] for _ in node.generated], Role.TRANSFORMED


def _window(node: Window, below: _Known) -> _Known:
    over = (*node.partition, *_ordered(node.order))
    looked_at = below.of(over, Role.WINDOW)
    made = {id: uses | looked_at for id, uses in below.computed(node.columns).items()}
    lost = {c.id for c in node.columns if below.lost((c.expr, *over))}
    return _Known({**below.uses, **made}, below.decided, below.unknown | lost)


def _filter(node: Filter, below: _Known) -> _Known:
    present = dict(below.present)
    asked: list[Expr] = []
    for conjunct in conjuncts(node.condition):
        match conjunct:
            case Not(IsNull(Column(id=id))):
                present[id] = below.of((conjunct,), Role.FILTER)
            case _:
                asked.append(conjunct)
    return replace(below, rows=below.rows | below.of(asked, Role.FILTER), present=present)


def _join(node: Join, left: _Known, right: _Known) -> _Known:
    left_present = left.present if node.kind.keeps_left else _unneeded(left, node.condition)
    right_present = right.present if node.kind.keeps_right else _unneeded(right, node.condition)
    both = _Known({**left.uses, **right.uses}, unknown=left.unknown | right.unknown)
    matched = both.of((node.condition,), Role.JOIN)
    if node.kind.pairs:
        rows = left.rows | right.rows | matched
        return replace(both, rows=rows, present={**left_present, **right_present})
    partners = right.rows.union(matched, *right_present.values())
    if node.exists is None:
        return replace(left, rows=left.rows | partners, present=left_present)
    lost = {node.exists.id} if right.unknown or both.lost((node.condition,)) else set()
    uses = {**left.uses, node.exists.id: partners}
    return replace(left, uses=uses, unknown=left.unknown | lost)


def _union(node: Union, inputs: tuple[_Known, ...]) -> _Known:
    uses: dict[int, Uses] = {}
    lost: set[int] = set()
    for i, column in enumerate(node.columns):
        taken = [(known, ids[i]) for known, ids in zip(inputs, node.taken, strict=True)]
        given = [(known, id) for known, id in taken if id is not None]
        uses[column.id] = _NONE.union(*(known.uses[id] for known, id in given))
        if any(id in known.unknown for known, id in given):
            lost.add(column.id)
    rows = _NONE.union(*(known.decided for known in inputs))
    return _Known(uses, rows, frozenset(lost))


def _opaque(node: Opaque, inputs: tuple[_Known, ...]) -> _Known:
    offered = frozenset(column.id for column in node.columns)
    rows = {use for known in inputs for use in known.decided}
    for known in inputs:
        rows |= {
            replace(use, role=role)
            for use in _NONE.union(*known.uses.values())
            for role in _through(use.role, frozenset((Role.UNKNOWN,)))
        }
    return _Known(dict.fromkeys(offered, _NONE), frozenset(rows), offered)


def _ordered(keys: Iterable[SortKey]) -> tuple[Expr, ...]:
    return tuple(key.expr for key in keys)


def _unneeded(known: _Known, condition: Expr) -> Mapping[int, Uses]:
    """Return what is asked to be present, without what `condition` can only hold of if it is.

    Spark puts such a filter below every join that drops rows without partner.
    """
    sides = (
        side
        for conjunct in conjuncts(condition)
        if isinstance(conjunct, Compare) and conjunct.op is not Comparison.SAME
        for side in (conjunct.left, conjunct.right)
    )
    needed = {side.id for side in sides if isinstance(side, Column)}
    return {id: uses for id, uses in known.present.items() if id not in needed}


_Manner: TypeAlias = frozenset[Role]
"""How a value enters: one direct role, or some indirect ones."""

_PICKING = NEIGHBOURS | {"nth_value"}
"""Window functions that hand on the value of a single row."""


def _parts(expr: Expr) -> Iterator[tuple[Expr, Role]]:
    """Yield the operands of `expr` with how each enters its value."""
    match expr:
        case Call(name="case_when"):
            last = len(expr.args) - 1
            for i, arg in enumerate(expr.args):
                condition = i % 2 == 0 and i != last
                yield arg, Role.CONDITIONAL if condition else Role.TRANSFORMED
        case AggregateCall() | WindowCall():
            for arg in expr.args:
                yield arg, _argument(expr)
            if expr.filter is not None:
                yield expr.filter, Role.CONDITIONAL
        case _:
            for arg in operands(expr):
                yield arg, Role.TRANSFORMED


def _argument(call: AggregateCall | WindowCall) -> Role:
    """Return how the arguments of `call` enter its value."""
    if isinstance(call, WindowCall) and call.name in RANKINGS:
        return Role.WINDOW
    if isinstance(call, WindowCall) and call.name in _PICKING:
        return Role.TRANSFORMED
    return Role.AGGREGATED


def _through(inner: Role, outer: _Manner) -> _Manner:
    """Return how a value enters that is `inner` to what itself enters as `outer`."""
    indirect = frozenset(role for role in outer if not role.direct)
    if not inner.direct:
        return indirect | {inner}
    return indirect or frozenset((max(inner, *outer, key=_DIRECT.index),))
