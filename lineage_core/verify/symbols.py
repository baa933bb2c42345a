"""Spark values and expressions as z3 terms: three-valued, with equality and identity kept apart.

A cell is a null flag, a value and a *shade*. Two cells compare equal when their values do; they are
identical when their shades agree as well. Floating point zeros (0.0 = -0.0) and collated strings
compare equal without being identical, so a function may tell them apart: a proof that needs `x = a
=> f(x) = f(a)` must fail for them. For every other type the shade is constant. All Spark types are
totally ordered (NaN equals itself and is greatest), so an integer stands for any non-boolean value;
functions, aggregates and UDFs are uninterpreted: whatever is proven holds for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import z3

from lineage_core.plan.expr import (
    AggregateCall,
    Anchor,
    And,
    Call,
    Column,
    Compare,
    Comparison,
    DataType,
    Expr,
    IsIn,
    IsNull,
    Literal,
    Not,
    Or,
    Unknown,
    WindowCall,
)
from lineage_core.verify.frames import STEP_DOWN, STEP_UP, sign
from lineage_core.verify.shades import is_shaded
from lineage_core.verify.terms import (
    FALSE,
    TRUE,
    ZERO,
    Term,
    all_of,
    any_of,
    applied,
    either,
    equal,
    function,
    is_bool,
    less,
    negation,
    number,
    total,
    truth,
    zero,
)

_ORDER: Mapping[Comparison, Callable[[Term, Term], Term]] = {
    Comparison.LT: less,
    Comparison.LE: lambda a, b: negation(less(b, a)),
    Comparison.GT: lambda a, b: less(b, a),
    Comparison.GE: lambda a, b: negation(less(a, b)),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A symbolic value: null or not, its value (Bool or Int), and its shade among equal values."""

    null: Term
    value: Term
    shade: Term


@dataclass(frozen=True, slots=True)
class Row:
    """A symbolic row: whether it exists, its cells by column id, and a number of its own."""

    exists: Term
    cells: Mapping[int, Cell]
    number: int


@dataclass(slots=True)
class Symbols:
    """Makes the terms of one proof; equal names give equal symbols."""

    literals: dict[Literal, Cell] = field(default_factory=dict)
    functions: dict[str, Term] = field(default_factory=dict)

    def cell(self, name: str, kind: DataType) -> Cell:
        """Return a fresh unconstrained cell of type `kind`."""
        value = z3.Bool(f"{name}.value") if kind == "boolean" else z3.Int(f"{name}.value")
        shade = z3.Int(f"{name}.shade") if is_shaded(kind) else ZERO
        return Cell(z3.Bool(f"{name}.null"), value, shade)

    def row(self, name: str, number: int, columns: Sequence[tuple[int, DataType]]) -> Row:
        """Return a row that may or may not exist, with unconstrained cells."""
        cells = {id: self.cell(f"{name}.c{id}", kind) for id, kind in columns}
        return Row(z3.Bool(f"{name}.exists"), cells, number)

    def function(self, name: str, inputs: Sequence[Term], kind: DataType) -> Cell:
        """Return the uninterpreted function `name` of `inputs`, as a cell of type `kind`."""
        key = f"{name}/{''.join('b' if is_bool(term) else 'i' for term in inputs)}"

        def apply(part: str, truth: bool) -> Term:
            called = f"{key}.{part}.{truth}"
            if called not in self.functions:
                self.functions[called] = function(called, inputs, is_bool=truth)
            return applied(self.functions[called], inputs, is_bool=truth)

        shade = apply("shade", False) if is_shaded(kind) else ZERO
        return Cell(apply("null", True), apply("value", kind == "boolean"), shade)

    def evaluate(
        self,
        expr: Expr,
        row: Row,
        anchor: Mapping[int, Cell],
        aggregate: Callable[[AggregateCall], Cell] | None = None,
    ) -> Cell:
        """Return the value of `expr` in `row`, with `anchor` as the anchor row."""

        def value(part: Expr) -> Cell:
            return self.evaluate(part, row, anchor, aggregate)

        match expr:
            case Column():
                return row.cells[expr.id]
            case Anchor():
                return anchor[expr.id]
            case Literal():
                return self._literal(expr)
            case Call(name=name, args=(arg, Literal() as distance)) if name in (STEP_UP, STEP_DOWN):
                start, length = value(arg), steps(distance)
                moved = total(start.value, length if name == STEP_UP else -length)
                return Cell(start.null, moved, start.shade)
            case Call():
                return self.function(expr.name, flat(map(value, expr.args)), expr.type)
            case Unknown():
                # What is not deterministic may differ from row to row: the row's number is given.
                extra = [] if expr.deterministic else [number(row.number)]
                inputs = [*extra, *flat(map(value, expr.args))]
                return self.function(f"unknown:{expr.name}", inputs, expr.type)
            case AggregateCall():
                assert aggregate is not None, "an aggregate call outside an Aggregate's columns"
                return aggregate(expr)
            case WindowCall():
                raise NotImplementedError("a window call outside a Window's columns")
            case _:
                return _truth(expr, value)

    def holds(self, predicate: Expr, row: Row, anchor: Mapping[int, Cell]) -> Term:
        """Return whether `predicate` is true (neither false nor unknown) in `row`."""
        cell = self.evaluate(predicate, row, anchor)
        return all_of(negation(cell.null), cell.value)

    def _literal(self, literal: Literal) -> Cell:
        if literal.value is None:
            return no_value(literal.type)
        if isinstance(literal.value, bool):
            return boolean(truth(literal.value))
        if literal not in self.literals:  # any value: what is proven does not depend on constants
            cell = self.cell(f"literal{len(self.literals)}", literal.type)
            self.literals[literal] = Cell(FALSE, cell.value, cell.shade)
        return self.literals[literal]


def steps(distance: Literal) -> Term:
    """Return the distance of a window frame's bound, of which only the sign is known."""
    if sign(distance) == 0:
        return ZERO
    count = z3.Int(f"steps {distance.value}")
    length = z3.If(count > 0, count, 1 - count)
    return length if sign(distance) > 0 else -length


def same(left: Cell, right: Cell) -> Term:
    """Return whether two cells compare equal, null with null."""
    return any_of(
        all_of(left.null, right.null),
        all_of(negation(left.null), negation(right.null), equal(left.value, right.value)),
    )


def identical(left: Cell, right: Cell) -> Term:
    """Return whether nothing can tell two cells apart."""
    return all_of(same(left, right), any_of(left.null, equal(left.shade, right.shade)))


def flat(cells: Iterable[Cell]) -> list[Term]:
    """Return cells as the inputs of a function; what is behind a null must not matter to it."""
    terms: list[Term] = []
    for cell in cells:
        terms += [
            cell.null,
            either(cell.null, zero(cell.value), cell.value),
            either(cell.null, ZERO, cell.shade),
        ]
    return terms


def _truth(expr: Compare | IsNull | IsIn | Not | And | Or, value: Callable[[Expr], Cell]) -> Cell:
    match expr:
        case Compare():
            return _compare(expr.op, value(expr.left), value(expr.right))
        case IsNull():
            return boolean(value(expr.arg).null)
        case IsIn():
            found = (_compare(Comparison.EQ, value(expr.arg), value(v)) for v in expr.values)
            return reduce(_or, found)
        case Not():
            return _not(value(expr.arg))
        case And():
            return _not(reduce(_or, (_not(value(arg)) for arg in expr.args)))
        case Or():
            return reduce(_or, map(value, expr.args))


def boolean(value: Term) -> Cell:
    """Return a truth value that is known."""
    return Cell(FALSE, value, ZERO)


def no_value(kind: DataType) -> Cell:
    """Return the null of a type."""
    return Cell(TRUE, FALSE if kind == "boolean" else ZERO, ZERO)


def _not(cell: Cell) -> Cell:
    return Cell(cell.null, negation(cell.value), cell.shade)


def _or(left: Cell, right: Cell) -> Cell:
    true = any_of(
        all_of(negation(left.null), left.value), all_of(negation(right.null), right.value)
    )
    return Cell(all_of(any_of(left.null, right.null), negation(true)), true, ZERO)


def _compare(op: Comparison, left: Cell, right: Cell) -> Cell:
    if op is Comparison.SAME:
        return boolean(same(left, right))
    null = any_of(left.null, right.null)
    if op is Comparison.EQ:
        return Cell(null, equal(left.value, right.value), ZERO)
    return Cell(null, _ORDER[op](ordinal(left.value), ordinal(right.value)), ZERO)


def ordinal(value: Term) -> Term:
    """Return a value as a number, in the order of its type."""
    return either(value, number(1), ZERO) if is_bool(value) else value
