"""Read a user's `where` text as a predicate over a dataset's columns.

Spark's spelling, and little of it: columns, constants, comparisons, IN, BETWEEN, IS NULL, LIKE,
AND, OR, NOT. Anything else could mean other things on other engines, or reach other data, and is
refused with its place. The result is bound: columns are positions in the snapshot, constants have
their column's type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from lineage_core.datasets import display
from lineage_core.errors import AmbiguousError, NotFoundError, PredicateError
from lineage_core.plan.expr import (
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    IsNull,
    Literal,
    conj,
    disj,
    is_in,
    negate,
)
from lineage_core.query.coercion import Constant, Mismatch, aligned, coerced
from lineage_core.query.columns import find_column
from lineage_core.query.constants import read_constant
from lineage_core.snapshot import Snapshot

T = TypeVar("T")

_MAX_DEPTH = 100
_MAX_LENGTH = 4_000_000
_CONTEXT = 60

_ALLOWED = (
    "use columns, constants, =, <>, <, <=, >, >=, <=>, "
    "IN (...), BETWEEN, IS NULL, LIKE, AND, OR, NOT"
)

_COMPARISONS: dict[type[exp.Expr], Comparison] = {
    exp.EQ: Comparison.EQ,
    exp.LT: Comparison.LT,
    exp.LTE: Comparison.LE,
    exp.GT: Comparison.GT,
    exp.GTE: Comparison.GE,
    exp.NullSafeEQ: Comparison.SAME,
}

_MIRRORED = {
    Comparison.LT: Comparison.GT,
    Comparison.LE: Comparison.GE,
    Comparison.GT: Comparison.LT,
    Comparison.GE: Comparison.LE,
}

_NAMES: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.Query, "a subquery"),
    (exp.Exists, "a subquery"),
    (exp.Star, "*"),
    (exp.Block, "more than one statement"),
    (exp.Dot, "a part of a column"),
    (exp.Bracket, "a part of a column"),
    (exp.Placeholder, "a parameter"),
    (exp.Parameter, "a parameter"),
    (exp.Case, "CASE"),
    (exp.Tuple, "a tuple"),
    (exp.Interval, "an interval"),
    (exp.Cast, "a conversion of anything but a constant"),
    (exp.Binary, "an operator other than a comparison"),
    (exp.Unary, "an operator other than NOT"),
    (exp.Func, "a function call"),
    (exp.Condition, "this"),
)


def parse_where(text: str, snapshot: Snapshot) -> Expr:
    """Return what `text` states about a row of `snapshot`, whose i-th column is `Column(i)`.

    Raises:
        PredicateError: it does not parse, names no column, compares what cannot be compared, or
            uses something not allowed. The message shows the place.
    """
    try:
        return _Binder(text, snapshot).predicate(_parse(text))
    except RecursionError:
        raise PredicateError("the condition is nested too deeply", hint=_ALLOWED) from None


def _parse(text: str) -> exp.Expr:
    if len(text) > _MAX_LENGTH:
        raise PredicateError(
            f"the condition is {len(text)} characters long",
            hint="give many values with rows= or rids=",
        )
    try:
        text.encode()
        found = sqlglot.Dialect.get_or_raise("spark").tokenize(text)
        _check_tokens(text, found)
        return sqlglot.parse_one(text, read="spark", into=exp.Condition)
    except ParseError as error:
        raise _syntax(text, error) from None
    except (SqlglotError, UnicodeEncodeError) as error:
        what = (
            "a quote is not closed"
            if isinstance(error, SqlglotError)
            else "it is not valid Unicode"
        )
        raise PredicateError(f"the condition cannot be read: {what}", hint=_ALLOWED) from None


def _check_tokens(text: str, found: list[Token]) -> None:
    depth = 0
    for token in found:
        if token.comments:
            raise _refusal(text, token.start, "a comment is not allowed")
        if token.token_type is TokenType.SEMICOLON:
            raise _refusal(text, token.start, "more than one statement is not allowed")
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.end == token.start else 0
        if depth > _MAX_DEPTH:
            raise _refusal(text, token.start, f"more than {_MAX_DEPTH} parentheses are open")
    if not found:
        raise PredicateError("the condition is empty", hint=_ALLOWED)


class _Binder:
    """Turns sqlglot's tree into the IR; refuses by default."""

    def __init__(self, text: str, snapshot: Snapshot) -> None:
        self._text = text
        self._snapshot = snapshot

    def predicate(self, node: exp.Expr) -> Expr:
        node = node.unnest()
        match node:
            case exp.And():
                return conj([self.predicate(part) for part in node.flatten()])
            case exp.Or():
                return disj([self.predicate(part) for part in node.flatten()])
            case exp.Not():
                return negate(self.predicate(node.this))
            case exp.Boolean():
                return Literal(bool(node.this), "boolean")
            case exp.Column():
                return self._truth(node)
            case exp.NEQ():
                return negate(self._compare(node, Comparison.EQ))
            case _ if type(node) in _COMPARISONS:
                return self._compare(node, _COMPARISONS[type(node)])
            case _:
                return self._test(node)

    def _test(self, node: exp.Expr) -> Expr:
        match node:
            case exp.In():
                return _negated(node, self._is_in(node))
            case exp.Between():
                return _negated(node, self._between(node))
            case exp.Is():
                return self._is_null(node)
            case exp.Like() | exp.Escape():
                return self._like(node)
            case _:
                raise self._not_allowed(node)

    def _truth(self, node: exp.Column) -> Expr:
        column = self._column(node)
        if column.type != "boolean":
            raise self._refuse(
                node, f"column {node.name} is {column.type}, not boolean; compare it with something"
            )
        return column

    def _compare(self, node: exp.Expr, op: Comparison) -> Expr:
        left, right = self._operand(node.this), self._operand(node.expression)
        match left, right:
            case Column(), Column():
                return self._checked(node, lambda: aligned(op, left, right))
            case Column(), Constant():
                return self._against(node, op, left, right)
            case Constant(), Column():
                return self._against(node, _MIRRORED.get(op, op), right, left)
            case _:
                raise self._refuse(node, "two constants are compared; compare with a column")

    def _is_in(self, node: exp.In) -> Expr:
        if any(node.args.get(key) for key in ("query", "unnest", "field")):
            raise self._refuse(node, "a subquery is not allowed")
        column = self._column(node.this)
        plain: list[Literal] = []
        other: list[Expr] = []
        for item in node.expressions:
            match self._coerced(Comparison.EQ, column, item):
                case Compare(_, same, Literal() as value) if same == column:
                    plain.append(value)
                case widened:
                    other.append(widened)
        return disj([*([is_in(column, plain)] if plain else []), *other])

    def _between(self, node: exp.Between) -> Expr:
        if node.args.get("symmetric"):
            raise self._refuse(node, "SYMMETRIC is not allowed")
        column = self._column(node.this)
        low = self._coerced(Comparison.GE, column, node.args["low"])
        return conj([low, self._coerced(Comparison.LE, column, node.args["high"])])

    def _coerced(self, op: Comparison, column: Column, node: exp.Expr) -> Expr:
        return self._against(node, op, column, self._constant(node))

    def _against(self, node: exp.Expr, op: Comparison, column: Column, constant: Constant) -> Expr:
        padded = self._padded(column, constant)
        return self._checked(node, lambda: coerced(op, column, padded))

    def _padded(self, column: Column, constant: Constant) -> Constant:
        """Return what a `char(n)` column is compared with: Spark makes both sides as long."""
        type = self._snapshot.columns[column.id].type
        if not (type.startswith("char(") and isinstance(constant.value, str)):
            return constant
        length = int(type[len("char(") : -1])
        whole, rest = constant.value[:length], constant.value[length:]
        fits = not rest.strip(" ")
        return replace(constant, value=whole.ljust(length) if fits else constant.value)

    def _is_null(self, node: exp.Is) -> Expr:
        if not isinstance(node.expression, exp.Null):
            raise self._refuse(node, "IS is allowed with NULL and NOT NULL only")
        return IsNull(self._column(node.this))

    def _like(self, node: exp.Like | exp.Escape) -> Expr:
        like, escape = (
            (node.this, node.expression) if isinstance(node, exp.Escape) else (node, None)
        )
        if type(like) is not exp.Like:
            raise self._not_allowed(like)
        column = self._column(like.this)
        pattern = self._string(like.expression)
        mark = self._string(escape) if escape is not None else "\\"
        if column.type != "string":
            raise self._refuse(
                like, f"LIKE is for strings, and column {like.this.name} is {column.type}"
            )
        if len(mark) != 1 or not _is_pattern(pattern, mark):
            raise self._refuse(
                like.expression,
                f"in the pattern, {mark!r} must stand before %, _ or another {mark!r}",
            )
        args = (column, Literal(pattern, "string"), Literal(mark, "string"))
        return _negated(like, Call("like", args, "boolean"))

    def _operand(self, node: exp.Expr) -> Column | Constant:
        node = node.unnest()
        return self._column(node) if isinstance(node, exp.Column) else self._constant(node)

    def _constant(self, node: exp.Expr) -> Constant:
        constant = self._checked(node, lambda: read_constant(node.unnest(), self._text))
        if constant is None:
            raise self._not_allowed(node.unnest())
        return constant

    def _string(self, node: exp.Expr) -> str:
        constant = self._constant(node)
        if not isinstance(constant.value, str) or constant.type != "string":
            raise self._refuse(node, "a string is needed here")
        return constant.value

    def _column(self, node: exp.Expr) -> Column:
        node = node.unnest()
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            raise self._not_allowed(node, "; a column is needed here")
        if node.args.get("table"):
            raise self._refuse(
                node,
                "a column is written without its table, and parts of columns cannot be asked for",
            )
        try:
            ordinal = find_column(self._snapshot, node.name)
        except (NotFoundError, AmbiguousError) as error:
            what = f"{display(self._snapshot.dataset)} has no column {node.name!r}"
            if isinstance(error, AmbiguousError):
                what = (
                    f"several columns of {display(self._snapshot.dataset)} are called {node.name!r}"
                )
            raise _refusal(self._text, _start(node), what, error.hint) from None
        type = self._snapshot.columns[ordinal].type
        return Column(ordinal, "string" if type.startswith(("char(", "varchar(")) else type)

    def _checked(self, node: exp.Expr, build: Callable[[], T]) -> T:
        try:
            return build()
        except Mismatch as mismatch:
            names = {i: column.name for i, column in enumerate(self._snapshot.columns)}
            raise self._refuse(node, mismatch.about(names)) from None

    def _not_allowed(self, node: exp.Expr, more: str = "") -> PredicateError:
        name = next(
            name for kind, name in _NAMES if isinstance(node, kind) or kind is exp.Condition
        )
        return self._refuse(node, f"{name} is not allowed{more}")

    def _refuse(self, node: exp.Expr, what: str) -> PredicateError:
        return _refusal(self._text, _start(node), what)


def _negated(node: exp.Expr, predicate: Expr) -> Expr:
    return negate(predicate) if node.args.get("negate") else predicate


def _is_pattern(pattern: str, escape: str) -> bool:
    """Whether each escape character of a LIKE pattern escapes something, as Spark demands."""
    i = 0
    while i < len(pattern):
        if pattern[i] == escape:
            i += 1
            if i == len(pattern) or pattern[i] not in ("%", "_", escape):
                return False
        i += 1
    return True


def _start(node: exp.Expr) -> int:
    return min((n.meta["start"] for n in node.walk() if "start" in n.meta), default=0)


def _syntax(text: str, error: ParseError) -> PredicateError:
    detail = error.errors[0] if error.errors else {}
    lines = text.split("\n")
    line, column = int(detail.get("line") or 1), int(detail.get("col") or 1)
    start = sum(len(before) + 1 for before in lines[: line - 1]) + column - 1
    return _refusal(text, min(max(start, 0), len(text)), "the condition does not parse here")


def _refusal(text: str, start: int, what: str, hint: str = _ALLOWED) -> PredicateError:
    """Return the error that shows `text` around character `start` with a caret below it."""
    begin = text.rfind("\n", 0, start) + 1
    end = text.find("\n", start)
    line = text[begin : len(text) if end < 0 else end]
    at = start - begin
    low = max(0, at - _CONTEXT)
    shown = line[low : at + _CONTEXT].replace("\t", " ")
    return PredicateError(f"{what}\n  {shown}\n  {' ' * (at - low)}^", hint=hint)
