"""What each operator does to bounded symbolic tables, and which input rows an output row came from.

This is the meaning that rules are held against; it is written from the operators' definitions
(PredTrace Table 2, definition 3.1) and shares nothing with the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import z3

from lineage_core.plan.expr import AggregateCall, Column, Expr
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    Limit,
    Offset,
    Plan,
    Project,
    Sort,
    Union,
    Window,
    children,
)
from lineage_core.plan.traverse import rewrite
from lineage_core.pushdown.obligation import Claim
from lineage_core.verify.joins import join
from lineage_core.verify.symbols import Cell, Row, Symbols, flat, no_value, ordinal, same
from lineage_core.verify.tables import Output, Table, nothing, only, where
from lineage_core.verify.terms import (
    Term,
    all_of,
    any_of,
    either,
    less,
    negation,
    number,
    total,
    truth,
    zero,
)
from lineage_core.verify.windows import window


def sizes(node: Plan, claim: Claim, input: int) -> tuple[int, ...]:
    """Return how many rows of each input are enough to find a counterexample, if there is any.

    A claim fails in a table because of one input row, or one output row. Cut the table down to that
    row, what the output row was made from, and what the premise needs; the claim still fails there:

    - Row-wise operators, unions and joins make an output row from one row of each input at most.
      COVERS and REPRODUCES need no more than these: rows that are cut were partners of none of
      them, or one of several. PRECISE fails because of a selected input row that belongs to no
      wanted output row, while the premise has a wanted one: two rows of that input, one of the
      other. Where rows without a partner are handed on, the one selected in vain may owe it to a
      partner that it is not handed on alone: two rows of both. REDUCES fails because of a row that
      is dropped, and what it was a partner of; it gets as many rows as PRECISE.
    - Of the rows that a generator makes of one row, the wanted one is enough; another one shows
      that it was not the null row that is made of nothing. Generators are uninterpreted.
    - An aggregate's group can be cut down to two rows, the row that is wrong and another that shows
      the group: they keep its grouping values, and since aggregates are uninterpreted, its values
      too.
    - A limit cuts off a row because of rows before it; one is enough, for the number of rows kept
      is arbitrary. So is the number of rows an offset skips.
    - A window's output row, and the row that is wrong about its frame; a third one keeps the frames
      of the two different, as the values that were computed over them may be. What stands between
      them can be cut, for the lengths of frames are arbitrary but for their signs.

    `tests/verify` proves and refutes everything again with a row more.
    """
    match node:
        case Window():
            return (3,)
        case Aggregate() | Limit() | Offset():
            return (2,)
        case Join(kind=kind) if kind.keeps_left or kind.keeps_right:
            rows = 2 if claim in (Claim.PRECISE, Claim.REDUCES) else 1
            return (rows, rows)
        case _:
            twice = claim in (Claim.PRECISE, Claim.REDUCES)
            inputs = len(children(node))
            return tuple(2 if twice and i == input else 1 for i in range(inputs))


def apply(node: Plan, inputs: Sequence[Table], symbols: Symbols) -> tuple[Output, ...]:
    """Return the output rows of `node` over symbolic `inputs`.

    Over fewer of the same rows there are as many, in the same places: that two outputs are equal
    bags shows place by place.
    """
    match node:
        case Join():
            return join(node, inputs[0], inputs[1], symbols)
        case Union():
            return _union(node, inputs)
        case Aggregate():
            return _aggregate(node, inputs[0], symbols)
        case Window():
            return window(node, inputs[0], symbols)
        case Limit() | Offset():
            return _counted(node, inputs[0])
        case Expand():
            return _expand(node, inputs[0], symbols)
        case Generate():
            return _generate(node, inputs[0], symbols)
        case Filter() | Project() | Sort():
            return tuple(
                Output(_by_row(node, row, symbols), (only(i, inputs[0]),))
                for i, row in enumerate(inputs[0])
            )
        case _:
            raise NotImplementedError(type(node).__name__)


def _by_row(node: Filter | Project | Sort, row: Row, symbols: Symbols) -> Row:
    match node:
        case Filter():
            return where(row, symbols.holds(node.condition, row, {}))
        case Project():
            return _project(node, row, symbols)
        case Sort():
            return row


def _project(node: Project, row: Row, symbols: Symbols) -> Row:
    cells = {column.id: symbols.evaluate(column.expr, row, {}) for column in node.columns}
    return Row(row.exists, cells, row.number)


def _counted(node: Limit | Offset, table: Table) -> tuple[Output, ...]:
    # The order of the rows is the order of the input.
    count = z3.Int("count")
    outputs = []
    for i, row in enumerate(table):
        before = total(*(ordinal(other.exists) for other in table[:i]))
        first = less(before, count)
        taken = first if isinstance(node, Limit) else negation(first)
        outputs.append(Output(where(row, taken), (only(i, table),)))
    return tuple(outputs)


def _union(node: Union, inputs: Sequence[Table]) -> tuple[Output, ...]:
    outputs = []
    for t, (table, taken) in enumerate(zip(inputs, node.taken, strict=True)):
        for i, row in enumerate(table):
            cells = {
                field.id: no_value(field.type) if id is None else row.cells[id]
                for field, id in zip(node.columns, taken, strict=True)
            }
            contributes = tuple(
                only(i, other) if u == t else nothing(other) for u, other in enumerate(inputs)
            )
            outputs.append(Output(replace(row, cells=cells), contributes))
    return tuple(outputs)


def _expand(node: Expand, table: Table, symbols: Symbols) -> tuple[Output, ...]:
    outputs = []
    for i, row in enumerate(table):
        for projection in node.projections:
            cells = {
                field.id: symbols.evaluate(expr, row, {})
                for field, expr in zip(node.columns, projection, strict=True)
            }
            outputs.append(Output(replace(row, cells=cells), (only(i, table),)))
    return tuple(outputs)


def _generate(node: Generate, table: Table, symbols: Symbols) -> tuple[Output, ...]:
    outputs = []
    for i, row in enumerate(table):
        kept = {field.id: row.cells[field.id] for field in node.kept}
        source = flat([symbols.evaluate(node.generator, row, {})])
        any_made = []
        for place in range(2):
            inputs = [*source, number(place)]
            made = symbols.function("generates", inputs, "boolean").value
            cells = {
                field.id: symbols.function(f"generated {i}", inputs, field.type)
                for i, field in enumerate(node.generated)
            }
            there = where(Row(row.exists, {**kept, **cells}, row.number), made)
            outputs.append(Output(there, (only(i, table),)))
            any_made.append(made)
        if node.outer:
            nulls = {field.id: no_value(field.type) for field in node.generated}
            alone = Row(row.exists, {**kept, **nulls}, row.number)
            outputs.append(Output(where(alone, negation(any_of(*any_made))), (only(i, table),)))
    return tuple(outputs)


def _aggregate(node: Aggregate, table: Table, symbols: Symbols) -> tuple[Output, ...]:
    keys = [[symbols.evaluate(key, row, {}) for key in node.keys] for row in table]
    outputs = []
    for i, row in enumerate(table):
        group = tuple(
            all_of(other.exists, *(same(a, b) for a, b in zip(keys[i], keys[j], strict=True)))
            for j, other in enumerate(table)
        )
        # A group is shown by its first row; without keys there is one group, which may be empty.
        first = all_of(row.exists, negation(any_of(*group[:i])))
        exists = first if node.keys else truth(i == 0)
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
                else all_of(member, symbols.holds(call.filter, other, {}))
            )
            inputs.append(inside)
            for term in flat(symbols.evaluate(arg, other, {}) for arg in call.args):
                inputs.append(either(inside, term, zero(term)))
        name = f"aggregate:{call.name}{':distinct' if call.distinct else ''}"
        return symbols.function(name, inputs, call.type)

    # Grouping normalises what compares equal, so the value decides the shade.
    normal = {
        -1 - i: Cell(c.null, c.value, ordinal(c.value))
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
