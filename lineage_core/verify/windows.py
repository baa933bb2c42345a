"""What a window does to a symbolic table: each row with values computed over its frames.

Spark sorts a partition and finds for each row the rows of its frame: by counting rows from it, or
by comparing order values with its own or with one at a distance from it. Rows with equal order
values stand in any order; here in that of the table, which is as good as any.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

from lineage_core.plan.expr import Call, Expr, FrameUnit, Literal, WindowCall, data_type
from lineage_core.plan.relation import SortKey, Window
from lineage_core.verify.frames import RANKS, SHARES, STEP_DOWN, STEP_UP, sign
from lineage_core.verify.symbols import Cell, Row, Symbols, flat, ordinal, same, steps
from lineage_core.verify.tables import Output, Table
from lineage_core.verify.terms import (
    FALSE,
    TRUE,
    Term,
    all_of,
    any_of,
    either,
    less,
    negation,
    total,
    zero,
)

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
            TRUE if i == j else any_of(*(frame[j] for frame in frames)) for j in range(len(table))
        )
        contributes = tuple(
            all_of(row.exists, other.exists, term) for other, term in zip(table, seen, strict=True)
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
                all_of(
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
            total(
                *(ordinal(all_of(self.together[i][j], self._earlier(j, i))) for j in size if j != i)
            )
            for i in size
        ]

    def _earlier(self, j: int, i: int) -> Term:
        before = precedes(self.node.order, self.keys[j], self.keys[i])
        if j > i:
            return before
        return negation(precedes(self.node.order, self.keys[i], self.keys[j]))

    def frame(self, call: WindowCall, i: int) -> list[Term]:
        """Return which rows the value of `call` in row `i` is computed over."""
        return [
            all_of(self.together[i][j], self._inside(call, i, j)) for j in range(len(self.table))
        ]

    def _inside(self, call: WindowCall, i: int, j: int) -> Term:
        match call.name:
            case name if name in RANKS:  # with peers: any of them may be the first
                return negation(precedes(self.node.order, self.keys[i], self.keys[j]))
            case name if name in SHARES:
                return TRUE
            case _ if call.frame.unit is FrameUnit.RANGE:
                return self._in_range(call, i, j)
            case _:
                return self._in_rows(call, i, j)

    def _in_rows(self, call: WindowCall, i: int, j: int) -> Term:
        lower, upper = call.frame.lower, call.frame.upper
        distance = self.position[j] - self.position[i]
        # `lag` and `lead` that ignore nulls look further until they find a value.
        further = call.ignore_nulls and lower is not None and lower == upper
        after = (
            []
            if lower is None or (further and sign(lower) < 0)
            else [negation(less(distance, steps(lower)))]
        )
        before = (
            []
            if upper is None or (further and sign(upper) > 0)
            else [negation(less(steps(upper), distance))]
        )
        return all_of(*after, *before, TRUE)

    def _in_range(self, call: WindowCall, i: int, j: int) -> Term:
        order = self.node.order
        inside = [TRUE]
        if call.frame.lower is not None:
            inside.append(negation(precedes(order, self.keys[j], self._bound(call.frame.lower, i))))
        if call.frame.upper is not None:
            inside.append(negation(precedes(order, self._bound(call.frame.upper, i), self.keys[j])))
        return all_of(*inside)

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
                inside = all_of(inside, symbols.holds(call.filter, row, {}))
            args = [*self.keys[j], *(symbols.evaluate(arg, row, {}) for arg in call.args)]
            inputs.append(inside)
            for term in flat(args):
                inputs.append(either(inside, term, zero(term)))
        name = f"window:{call.name}{':distinct' if call.distinct else ''}"
        return symbols.function(name, inputs, call.type)


def precedes(order: Sequence[SortKey], left: _Cells, right: _Cells) -> Term:
    """Return whether `left` stands strictly before `right` in the sort order."""
    result: Term = FALSE
    for key, a, b in reversed(list(zip(order, left, right, strict=True))):
        first, last = (a, b) if key.nulls_first else (b, a)
        low, high = (a, b) if key.ascending else (b, a)
        before = any_of(
            all_of(first.null, negation(last.null)),
            all_of(
                negation(a.null), negation(b.null), less(ordinal(low.value), ordinal(high.value))
            ),
        )
        result = any_of(before, all_of(same(a, b), result))
    return result
