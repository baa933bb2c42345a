"""What a window does to a symbolic table: each row with values computed over its frames.

Spark sorts a partition and finds for each row the rows of its frame: by counting rows from it, or
by comparing order values with its own or with one at a distance from it. Rows with equal order
values stand in any order; here in that of the table, which is as good as any.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

import z3

from lineage_core.plan.expr import Call, Expr, FrameUnit, Literal, WindowCall, data_type
from lineage_core.plan.relation import SortKey, Window
from lineage_core.verify.frames import RANKS, SHARES, STEP_DOWN, STEP_UP, sign
from lineage_core.verify.symbols import Cell, Row, Symbols, Term, flat, ordinal, same, steps
from lineage_core.verify.tables import Output, Table

_Cells: TypeAlias = Sequence[Cell]


def window(node: Window, table: Table, symbols: Symbols) -> tuple[Output, ...]:
    """Return the rows, each made from itself and from the rows its frames look at."""
    setting = _Sorted(node, table, symbols)
    outputs = []
    for i, row in enumerate(table):
        frames = [setting.frame(_call(column.expr), i) for column in node.columns]
        cells = {
            column.id: setting.value(_call(column.expr), i, frame)
            for column, frame in zip(node.columns, frames, strict=True)
        }
        seen = (
            z3.Or(z3.BoolVal(i == j), *(frame[j] for frame in frames)) for j in range(len(table))
        )
        contributes = tuple(
            z3.And(row.exists, other.exists, term) for other, term in zip(table, seen, strict=True)
        )
        outputs.append(Output(Row(row.exists, {**row.cells, **cells}, row.number), (contributes,)))
    return tuple(outputs)


def _call(expr: Expr) -> WindowCall:
    assert isinstance(expr, WindowCall)
    return expr


class _Sorted:
    """A table in partitions, each in the window's order."""

    def __init__(self, node: Window, table: Table, symbols: Symbols) -> None:
        self.node, self.table, self.symbols = node, table, symbols
        parts = [[symbols.evaluate(e, row, {}) for e in node.partition] for row in table]
        self.keys = [[symbols.evaluate(k.expr, row, {}) for k in node.order] for row in table]
        size = range(len(table))
        self.together = [
            [
                z3.And(
                    table[j].exists, *(same(a, b) for a, b in zip(parts[i], parts[j], strict=True))
                )
                for j in size
            ]
            for i in size
        ]

    @cached_property
    def position(self) -> list[Term]:
        """How many rows of its partition stand before a row."""
        size = range(len(self.table))
        return [
            z3.Sum(
                [
                    z3.If(z3.And(self.together[i][j], self._earlier(j, i)), 1, 0)
                    for j in size
                    if j != i
                ]
                + [z3.IntVal(0)]
            )
            for i in size
        ]

    def _earlier(self, j: int, i: int) -> Term:
        before = precedes(self.node.order, self.keys[j], self.keys[i])
        if j > i:
            return before
        return z3.Not(precedes(self.node.order, self.keys[i], self.keys[j]))

    def frame(self, call: WindowCall, i: int) -> list[Term]:
        """Return which rows the value of `call` in row `i` is computed over."""
        return [
            z3.And(self.together[i][j], self._inside(call, i, j)) for j in range(len(self.table))
        ]

    def _inside(self, call: WindowCall, i: int, j: int) -> Term:
        match call.name:
            case name if name in RANKS:  # with peers: any of them may be the first
                return z3.Not(precedes(self.node.order, self.keys[i], self.keys[j]))
            case name if name in SHARES:
                return z3.BoolVal(True)
            case _ if call.frame.unit is FrameUnit.RANGE:
                return self._in_range(call, i, j)
            case _:
                return self._in_rows(call, i, j)

    def _in_rows(self, call: WindowCall, i: int, j: int) -> Term:
        lower, upper = call.frame.lower, call.frame.upper
        distance = self.position[j] - self.position[i]
        # `lag` and `lead` that ignore nulls look further until they find a value.
        further = call.ignore_nulls and lower is not None and lower == upper
        after = [] if lower is None or (further and sign(lower) < 0) else [steps(lower) <= distance]
        before = (
            [] if upper is None or (further and sign(upper) > 0) else [distance <= steps(upper)]
        )
        return z3.And(*after, *before, z3.BoolVal(True))

    def _in_range(self, call: WindowCall, i: int, j: int) -> Term:
        order = self.node.order
        inside = [z3.BoolVal(True)]
        if call.frame.lower is not None:
            inside.append(z3.Not(precedes(order, self.keys[j], self._bound(call.frame.lower, i))))
        if call.frame.upper is not None:
            inside.append(z3.Not(precedes(order, self._bound(call.frame.upper, i), self.keys[j])))
        return z3.And(inside)

    def _bound(self, distance: Literal, i: int) -> _Cells:
        """Return the order values at a distance from those of row `i`.

        Spark adds the distance or, in descending order, subtracts it.
        """
        if sign(distance) == 0:
            return self.keys[i]
        (key,) = self.node.order
        step = STEP_UP if key.ascending else STEP_DOWN
        moved = Call(step, (key.expr, distance), data_type(key.expr))
        return [self.symbols.evaluate(moved, self.table[i], {})]

    def value(self, call: WindowCall, i: int, frame: Sequence[Term]) -> Cell:
        """Return an arbitrary function of the rows in the frame and the row it is seen from."""
        symbols = self.symbols
        own = list(self.keys[i])
        if call.frame.unit is FrameUnit.ROWS:  # `lag` and `lead` have a value of the row's own
            own += [symbols.evaluate(arg, self.table[i], {}) for arg in call.args]
        inputs = flat(own)
        for j, row in enumerate(self.table):
            inside = frame[j]
            if call.filter is not None:
                inside = z3.And(inside, symbols.holds(call.filter, row, {}))
            args = [*self.keys[j], *(symbols.evaluate(arg, row, {}) for arg in call.args)]
            inputs.append(inside)
            for term in flat(args):
                zero = z3.BoolVal(False) if z3.is_bool(term) else z3.IntVal(0)
                inputs.append(z3.If(inside, term, zero))
        name = f"window:{call.name}{':distinct' if call.distinct else ''}"
        return symbols.function(name, inputs, call.type)


def precedes(order: Sequence[SortKey], left: _Cells, right: _Cells) -> Term:
    """Return whether `left` stands strictly before `right` in the sort order."""
    result: Term = z3.BoolVal(False)
    for key, a, b in reversed(list(zip(order, left, right, strict=True))):
        first, last = (a, b) if key.nulls_first else (b, a)
        low, high = (a, b) if key.ascending else (b, a)
        before = z3.Or(
            z3.And(first.null, z3.Not(last.null)),
            z3.And(z3.Not(a.null), z3.Not(b.null), ordinal(low.value) < ordinal(high.value)),
        )
        result = z3.Or(before, z3.And(same(a, b), result))
    return result
