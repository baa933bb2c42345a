"""The one traversal of expressions and plans; iterative, so that depth never is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

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
    conj,
    data_type,
    disj,
    negate,
)
from lineage_core.plan.relation import Plan, children
from lineage_core.plan.types import is_comparable

T = TypeVar("T")


def operands(expr: Expr) -> tuple[Expr, ...]:
    """Return the immediate sub-expressions of `expr`, left to right, without value sets."""
    match expr:
        case Column() | Anchor() | Literal():
            return ()
        case Compare():
            return (expr.left, expr.right)
        case IsNull() | IsIn() | Not():
            return (expr.arg,)
        case And() | Or() | Call() | Unknown():
            return expr.args
        case AggregateCall() | WindowCall():
            return expr.args if expr.filter is None else (*expr.args, expr.filter)


def with_operands(expr: Expr, args: tuple[Expr, ...]) -> Expr:
    """Return `expr` over other sub-expressions, in the order of `operands`, simplified."""
    match expr:
        case Column() | Anchor() | Literal():
            return expr
        case Compare():
            return Compare(expr.op, args[0], args[1])
        case IsNull() | IsIn():
            return replace(expr, arg=args[0])
        case Not():
            return negate(args[0])
        case And():
            return conj(args)
        case Or():
            return disj(args)
        case Call() | Unknown():
            return replace(expr, args=args)
        case AggregateCall(filter=None) | WindowCall(filter=None):
            return replace(expr, args=args)
        case AggregateCall() | WindowCall():
            return replace(expr, args=args[:-1], filter=args[-1])


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield `expr` and every expression below it, in pre-order."""
    stack = [expr]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(operands(current)))


def rewrite(expr: Expr, rule: Callable[[Expr], Expr | None]) -> Expr:
    """Return `expr` with the outermost sub-expressions that `rule` has an answer for replaced."""
    done: dict[int, Expr] = {}
    stack: list[tuple[Expr, bool]] = [(expr, False)]
    while stack:
        current, ready = stack.pop()
        if ready:
            before = operands(current)
            after = tuple(done[id(arg)] for arg in before)
            changed = any(new is not old for new, old in zip(after, before, strict=True))
            done[id(current)] = with_operands(current, after) if changed else current
        elif id(current) not in done:
            replacement = rule(current)
            if replacement is not None:
                done[id(current)] = replacement
            else:
                stack.append((current, True))
                stack.extend((arg, False) for arg in operands(current))
    return done[id(expr)]


def substitute(expr: Expr, columns: Mapping[int, Expr]) -> Expr:
    """Return `expr` with each `Column` whose id is in `columns` replaced."""
    return rewrite(expr, lambda e: columns.get(e.id) if isinstance(e, Column) else None)


def column_ids(expr: Expr) -> frozenset[int]:
    """Return the ids of the row columns `expr` refers to."""
    return frozenset(e.id for e in walk(expr) if isinstance(e, Column))


def anchor_ids(expr: Expr) -> frozenset[int]:
    """Return the ids of the anchor columns `expr` refers to."""
    return frozenset(e.id for e in walk(expr) if isinstance(e, Anchor))


def evaluable(expr: Expr) -> bool:
    """Whether the value of `expr` can be computed again from a row and an anchor row alone."""
    stack = [expr]
    while stack:
        match stack.pop():
            case Unknown() | AggregateCall() | WindowCall():
                return False
            case Column(type=type) | Anchor(type=type) if not is_comparable(type):
                return False
            case IsNull(Column() | Anchor()):
                pass  # which is known of a value of any type
            case Call(args=args):
                # A function may be one of values that cannot be compared.
                stack.extend(arg for arg in args if not isinstance(arg, Column))
            case Compare(left=left) if not is_comparable(data_type(left)):
                return False
            case other:
                stack.extend(operands(other))
    return True


def nodes(plan: Plan) -> Iterator[Plan]:
    """Yield `plan` and every operator below it, in pre-order."""
    stack = [plan]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(children(current)))


def fold(plan: Plan, rule: Callable[[Plan, tuple[T, ...]], T]) -> T:
    """Return what `rule` makes of `plan`, given what it made of each of its inputs."""
    done: dict[int, T] = {}
    stack: list[tuple[Plan, bool]] = [(plan, False)]
    while stack:
        current, ready = stack.pop()
        if ready:
            done[id(current)] = rule(current, tuple(done[id(c)] for c in children(current)))
        elif id(current) not in done:
            stack.append((current, True))
            stack.extend((child, False) for child in children(current))
    return done[id(plan)]
