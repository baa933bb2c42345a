"""What each operator does to bounded symbolic tables, and which input rows an output row came from.

This is the meaning that rules are held against; it is written from the operators' definitions
(PredTrace Table 2, definition 3.1) and shares nothing with the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import z3

from lineage_core.plan.expr import AggregateCall, Column, Expr
from lineage_core.plan.relation import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Limit,
    Plan,
    Project,
    Sort,
    children,
)
from lineage_core.plan.traverse import rewrite
from lineage_core.pushdown.obligation import Claim
from lineage_core.verify.symbols import Cell, Row, Symbols, Term, flat, identical, same

Table = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Output:
    """An output row and, for each input, which of its rows contributed to it."""

    row: Row
    contributes: tuple[tuple[Term, ...], ...]


def sizes(node: Plan, claim: Claim, input: int) -> tuple[int, ...]:
    """Return how many rows of each input are enough to find a counterexample, if there is any.

    A claim fails in a table because of one input row, or one output row. Cut the table down to that
    row, what the output row was made from, and what the premise needs; the claim still fails there:

    - Row-wise and join operators make an output row from one row of each input. COVERS and
    REPRODUCES
      need no more than these. PRECISE fails because of a selected input row that belongs to no
      wanted output row, while the premise has a wanted one: two rows of that input, one of the
      other.
    - An aggregate's group can be cut down to two rows, the row that is wrong and another that shows
      the group: they keep its grouping values, and since aggregates are uninterpreted, its values
      too.
    - A limit cuts off a row because of rows before it; one is enough, for the number of rows kept
      is arbitrary.

    `tests/verify` proves and refutes everything again with a row more.
    """
    if isinstance(node, Aggregate | Limit):
        return (2,)
    inputs = len(children(node))
    return tuple(2 if claim is Claim.PRECISE and i == input else 1 for i in range(inputs))


def apply(node: Plan, inputs: Sequence[Table], symbols: Symbols) -> tuple[Output, ...]:
    """Return the output rows of `node` over symbolic `inputs`."""
    match node:
        case Filter():
            return tuple(
                Output(_where(row, symbols.holds(node.condition, row, {})), (_only(i, inputs[0]),))
                for i, row in enumerate(inputs[0])
            )
        case Project():
            return tuple(
                Output(_project(node, row, symbols), (_only(i, inputs[0]),))
                for i, row in enumerate(inputs[0])
            )
        case Sort():
            return tuple(Output(row, (_only(i, inputs[0]),)) for i, row in enumerate(inputs[0]))
        case Limit():
            return _limit(inputs[0])
        case Aggregate():
            return _aggregate(node, inputs[0], symbols)
        case Join(kind=JoinKind.INNER):
            return _inner(node, inputs[0], inputs[1], symbols)
        case Join(kind=JoinKind.LEFT_SEMI):
            return _semi(node, inputs[0], inputs[1], symbols)
        case _:
            raise NotImplementedError(type(node).__name__)


def _where(row: Row, condition: Term) -> Row:
    return Row(z3.And(row.exists, condition), row.cells, row.number)


def _only(position: int, table: Table) -> tuple[Term, ...]:
    return tuple(z3.And(z3.BoolVal(i == position), row.exists) for i, row in enumerate(table))


def _project(node: Project, row: Row, symbols: Symbols) -> Row:
    cells = {column.id: symbols.evaluate(column.expr, row, {}) for column in node.columns}
    return Row(row.exists, cells, row.number)


def _limit(table: Table) -> tuple[Output, ...]:
    # The order of the rows is the order of the input.
    count = z3.Int("limit")
    outputs = []
    for i, row in enumerate(table):
        before = z3.Sum([z3.If(other.exists, 1, 0) for other in table[:i]] + [z3.IntVal(0)])
        outputs.append(Output(_where(row, before < count), (_only(i, table),)))
    return tuple(outputs)


def _aggregate(node: Aggregate, table: Table, symbols: Symbols) -> tuple[Output, ...]:
    keys = [[symbols.evaluate(key, row, {}) for key in node.keys] for row in table]
    outputs = []
    for i, row in enumerate(table):
        group = tuple(
            z3.And(other.exists, *(same(a, b) for a, b in zip(keys[i], keys[j], strict=True)))
            for j, other in enumerate(table)
        )
        # A group is shown by its first row; without keys there is one group, which may be empty.
        first = z3.And(row.exists, z3.Not(z3.Or(*group[:i], z3.BoolVal(False))))
        exists = first if node.keys else z3.BoolVal(i == 0)
        cells = _group_cells(node, row, keys[i], table, group, symbols)
        outputs.append(Output(Row(exists, cells, row.number), (group,)))
    return tuple(outputs)


def _group_cells(
    node: Aggregate,
    row: Row,
    key: Sequence[Cell],
    table: Table,
    group: Sequence[Term],
    symbols: Symbols,
) -> dict[int, Cell]:
    def aggregate(call: AggregateCall) -> Cell:
        # An arbitrary function of which rows are in the group and what the arguments are in them.
        inputs: list[Term] = []
        for other, member in zip(table, group, strict=True):
            inside = (
                member
                if call.filter is None
                else z3.And(member, symbols.holds(call.filter, other, {}))
            )
            inputs.append(inside)
            for term in flat(symbols.evaluate(arg, other, {}) for arg in call.args):
                zero = z3.BoolVal(False) if z3.is_bool(term) else z3.IntVal(0)
                inputs.append(z3.If(inside, term, zero))
        name = f"aggregate:{call.name}{':distinct' if call.distinct else ''}"
        return symbols.function(name, inputs, call.type)

    # Grouping normalises what compares equal, so the value decides the shade.
    normal = {
        -1 - i: Cell(c.null, c.value, z3.If(c.value, 1, 0) if z3.is_bool(c.value) else c.value)
        for i, c in enumerate(key)
    }
    grouped = Row(row.exists, {**row.cells, **normal}, row.number)
    return {
        column.id: symbols.evaluate(_by_key(node, column.expr), grouped, {}, aggregate)
        for column in node.columns
    }


def _by_key(node: Aggregate, expr: Expr) -> Expr:
    """Return a column's expression over the grouping values, which are numbered from -1 down."""
    places = {key: Column(-1 - i, "key") for i, key in enumerate(node.keys)}
    return rewrite(expr, lambda e: e if isinstance(e, AggregateCall) else places.get(e))


def _inner(node: Join, left: Table, right: Table, symbols: Symbols) -> tuple[Output, ...]:
    outputs = []
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            pair = Row(
                z3.And(a.exists, b.exists), {**a.cells, **b.cells}, a.number * len(right) + b.number
            )
            row = _where(pair, symbols.holds(node.condition, pair, {}))
            outputs.append(Output(row, (_only(i, left), _only(j, right))))
    return tuple(outputs)


def _semi(node: Join, left: Table, right: Table, symbols: Symbols) -> tuple[Output, ...]:
    outputs = []
    for i, a in enumerate(left):
        matches = []
        for b in right:
            pair = Row(a.exists, {**a.cells, **b.cells}, a.number * len(right) + b.number)
            matches.append(z3.And(b.exists, symbols.holds(node.condition, pair, {})))
        outputs.append(Output(_where(a, z3.Or(*matches)), (_only(i, left), tuple(matches))))
    return tuple(outputs)


def identical_rows(left: Row, right: Row) -> Term:
    """Return whether nothing can tell two rows apart."""
    return z3.And([identical(left.cells[id], right.cells[id]) for id in left.cells])
