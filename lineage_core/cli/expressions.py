"""Predicates of lineage programs as text for people.

A column of the row at hand is written by its name, one of the anchor row as `anchor.name`. The text
is for reading only; what is evaluated is the tree.
"""

from __future__ import annotations

from collections.abc import Mapping

from lineage_core.plan.expr import (
    AggregateCall,
    Anchor,
    And,
    Call,
    Column,
    Compare,
    Expr,
    IsIn,
    IsNull,
    Literal,
    Not,
    Or,
    Unknown,
    WindowCall,
)
from lineage_core.plan.traverse import operands

_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "remainder": "%"}


def describe(predicate: Expr, row: Mapping[int, str], anchor: Mapping[int, str]) -> str:
    """Return `predicate` as text; `row` and `anchor` name the columns by id.

    >>> describe(Not(IsNull(Anchor(2, "long"))), {}, {2: "key"})
    'NOT (anchor.key IS NULL)'
    """
    done: dict[int, str] = {}
    stack = [(predicate, False)]
    while stack:  # iterative: predicates may be deep
        current, ready = stack.pop()
        args = operands(current)
        if ready or not args:
            done[id(current)] = _node(current, [done[id(arg)] for arg in args], row, anchor)
        else:
            stack.append((current, True))
            stack.extend((arg, False) for arg in args)
    return done[id(predicate)]


def _node(expr: Expr, args: list[str], row: Mapping[int, str], anchor: Mapping[int, str]) -> str:
    match expr:
        case Column(id=id):
            return row.get(id, f"#{id}")
        case Anchor(id=id):
            return f"anchor.{anchor.get(id, f'#{id}')}"
        case Literal():
            return _literal(expr)
        case Compare(op=op):
            return f"{_inner(expr.left, args[0])} {op.value} {_inner(expr.right, args[1])}"
        case IsNull():
            return f"{_inner(expr.arg, args[0])} IS NULL"
        case IsIn(values=values):
            return f"{_inner(expr.arg, args[0])} IN ({', '.join(map(_literal, values))})"
        case Not(arg=arg):
            return f"NOT {_inner(arg, args[0])}"
        case And() | Or():
            return f" {type(expr).__name__.upper()} ".join(map(_inner, expr.args, args))
        case Call() | Unknown() | AggregateCall() | WindowCall():
            return _call(expr, args)


def _call(expr: Call | Unknown | AggregateCall | WindowCall, args: list[str]) -> str:
    if expr.name in _INFIX and len(args) == 2:
        return f" {_INFIX[expr.name]} ".join(map(_inner, expr.args, args))
    if expr.name == "cast":
        return f"cast({args[0]} AS {expr.type})"
    return f"{expr.name}({', '.join(args)})"


def _inner(expr: Expr, text: str) -> str:
    """Return the text of an operand, in brackets when it has an operator of its own."""
    simple = Column | Anchor | Literal | AggregateCall | WindowCall | Unknown
    is_function = isinstance(expr, Call) and expr.name not in _INFIX
    return text if isinstance(expr, simple) or is_function else f"({text})"


def _literal(literal: Literal) -> str:
    if literal.value is None:
        return "NULL"
    if literal.type == "string":
        return "'" + str(literal.value).replace("'", "''") + "'"
    if literal.type in ("date", "timestamp", "timestamp_ntz"):
        return f"{literal.type} '{literal.value}'"
    return str(literal.value)
