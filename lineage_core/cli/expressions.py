"""Expressions of plans and lineage programs as text for people.

A column of the row at hand is written as the caller names it, one of the anchor row as the anchor's
name, a dot and the column. The text is for reading only; what is evaluated is the tree. It holds
literals of the user's query, so it belongs on the user's screen, never in a log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from lineage_core.plan.expr import (
    AggregateCall,
    Anchor,
    And,
    Call,
    Column,
    Compare,
    Expr,
    Frame,
    FrameUnit,
    IsIn,
    IsNull,
    Literal,
    Not,
    Or,
    Unknown,
    WindowCall,
)
from lineage_core.plan.functions import POSITION
from lineage_core.plan.traverse import operands

_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "remainder": "%"}
_LOOSE, _NOT, _COMPARISON, _SUM, _PRODUCT, _TIGHT = range(6)
_PLAIN = re.compile(r"[^\W\d]\w*")
_WORDS = frozenset({"and", "or", "not", "in", "is", "null", "true", "false", "as", "distinct"})
_BACKSLASH = Literal("\\", "string")
_MOST = 50_000
"""Characters of an expression that are written; a shared sub-expression doubles the text."""


def describe(
    expr: Expr, row: Mapping[int, str], anchor: Mapping[int, str], *, above: str = "anchor"
) -> str:
    """Return `expr` as text; `row` and `anchor` name the columns by id, `above` the anchor row.

    >>> describe(Not(IsNull(Anchor(2, "long"))), {}, {2: "key"})
    'anchor.key IS NOT NULL'
    """
    anchors = {id: f"{above}.{name}" for id, name in anchor.items()}
    done: dict[int, str] = {}
    stack = [(expr, False)]
    while stack:  # iterative: expressions may be deep
        current, ready = stack.pop()
        if id(current) in done:
            continue
        args = operands(current)
        if ready or not args:
            text = _node(current, [done[id(arg)] for arg in args], row, anchors)
            done[id(current)] = text if len(text) <= _MOST else f"{text[:_MOST]}…"
        else:
            stack.append((current, True))
            stack.extend((arg, False) for arg in args)
    return done[id(expr)]


def identifier(name: str) -> str:
    """Return a name as it is written among others: quoted unless it is a plain word.

    >>> identifier("total"), identifier("sum(price)")
    ('total', '`sum(price)`')
    """
    if _PLAIN.fullmatch(name) and name.lower() not in _WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def _node(expr: Expr, args: list[str], row: Mapping[int, str], anchors: Mapping[int, str]) -> str:
    match expr:
        case Column(id=id):
            return row.get(id, f"#{id}")
        case Anchor(id=id):
            return anchors.get(id, f"anchor.#{id}")
        case Literal():
            return _literal(expr)
        case Compare() | IsNull() | IsIn():
            return _compared(expr, args)
        case Not():
            return _negated(expr, args[0])
        case And() | Or():
            parts = (_within(a, text, _LOOSE + 1) for a, text in zip(expr.args, args, strict=True))
            return f" {type(expr).__name__.upper()} ".join(parts)
        case Call() | Unknown():
            return _call(expr, args)
        case AggregateCall() | WindowCall():
            return _of_rows(expr, args)


def _compared(expr: Compare | IsNull | IsIn, args: list[str]) -> str:
    texts = [_within(arg, text, _SUM) for arg, text in zip(operands(expr), args, strict=True)]
    match expr:
        case Compare(op=op):
            return f"{texts[0]} {op.value} {texts[1]}"
        case IsNull():
            return f"{texts[0]} IS NULL"
        case IsIn(values=values):
            return f"{texts[0]} IN ({', '.join(map(_literal, values))})"


def _negated(expr: Not, text: str) -> str:
    if isinstance(expr.arg, IsNull) and text.endswith("IS NULL"):
        return f"{text.removesuffix('NULL')}NOT NULL"
    return f"NOT {_within(expr.arg, text, _NOT)}"


def _call(expr: Call | Unknown, args: list[str]) -> str:
    if expr.name in _INFIX and len(args) == 2:
        strength = _strength(expr)
        left = _within(expr.args[0], args[0], strength)
        return f"{left} {_INFIX[expr.name]} {_within(expr.args[1], args[1], strength + 1)}"
    if expr.name == "like" and expr.args[2:] == (_BACKSLASH,):
        return f"like({args[0]}, {args[1]})"
    match expr:
        case Call("cast", (_,)):
            return f"cast({args[0]} AS {expr.type})"
        case Call("zoned_cast", (_, _)):
            return f"cast({args[0]} AS {expr.type} IN {args[1]})"
        case Call("field", (_, Literal(str(name)))):
            return f"{args[0]}.{name}"
    return f"{expr.name}({', '.join(args)})"


def _of_rows(call: AggregateCall | WindowCall, args: list[str]) -> str:
    if call.name == POSITION:
        return "the row's number"
    given = ", ".join(args[: len(call.args)])
    text = f"{call.name}({'DISTINCT ' if call.distinct else ''}{given})"
    if isinstance(call, WindowCall) and call.ignore_nulls:
        text += " IGNORE NULLS"
    if call.filter is not None:
        text += f" FILTER (WHERE {args[-1]})"
    return f"{text} OVER {_frame(call.frame)}" if isinstance(call, WindowCall) else text


def _frame(frame: Frame) -> str:
    if frame.lower is None and frame.upper is None:
        return "the whole partition"
    lower, upper = _bound(frame, frame.lower, "first"), _bound(frame, frame.upper, "last")
    return f"{frame.unit.value} from {lower} to {upper}"


def _bound(frame: Frame, bound: Literal | None, end: str) -> str:
    if bound is None:
        return f"the {end}"
    match bound.value:
        case 0 | 0.0:
            return "the row" if frame.unit is FrameUnit.ROWS else "its peers"
        case int() | float() as distance:
            return f"{abs(distance)} {'before' if distance < 0 else 'after'}"
        case other:
            text = str(other)
            return f"{text[1:]} before" if text.startswith("-") else f"{text} after"


def _within(expr: Expr, text: str, least: int) -> str:
    return text if _strength(expr) >= least else f"({text})"


def _strength(expr: Expr) -> int:
    """Return how strongly the outermost operator of `expr` binds."""
    match expr:
        case And() | Or():
            return _LOOSE
        case Not(IsNull()):
            return _COMPARISON
        case Not():
            return _NOT
        case Compare() | IsNull() | IsIn():
            return _COMPARISON
        case Call(name="add" | "subtract"):
            return _SUM
        case Call(name=name) if name in _INFIX:
            return _PRODUCT
        case _:
            return _TIGHT


def _literal(literal: Literal) -> str:
    match literal.value, literal.type:
        case None, _:
            return "NULL"
        case bool(value), _:
            return str(value).upper()
        case value, "string":
            return "'" + str(value).replace("'", "''") + "'"
        case int(value), "timestamp" | "timestamp_ntz":
            return f"{literal.type} '{_moment(value, literal.type)}'"
        case value, "date" | "timestamp" | "timestamp_ntz":
            return f"{literal.type} '{value}'"
        case value, _:
            return str(value)


def _moment(microseconds: int, type: str) -> str:
    try:
        found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    except OverflowError:  # Spark's years go further than Python's
        return f"{microseconds} microseconds since 1970"
    text = found.replace(tzinfo=None).isoformat(sep=" ")
    return f"{text} UTC" if type == "timestamp" else text
