"""Mutants of a module: its source with one small mistake each.

The mistakes are those one makes in a pushdown rule: a comparison or a side the wrong way round, a
conjunct, a null check or a candidate forgotten, `=` for `<=>`, a column left in where the anchor
belongs. What a mistake replaces is a piece of source text, so a mutant reads like the original, and
its description (module, function, piece, what stands there instead) outlives other edits.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Sub: ast.Add,
    ast.Add: ast.Sub,
}
_MEMBERS: dict[str, dict[str, tuple[str, ...]]] = {
    "Comparison": {
        "SAME": ("EQ",),
        "EQ": ("SAME",),
        "LT": ("LE", "GT"),
        "GT": ("GE", "LT"),
    },
    "FrameUnit": {"RANGE": ("ROWS",), "ROWS": ("RANGE",)},
    "JoinKind": {
        "INNER": ("LEFT_OUTER",),
        "LEFT_SEMI": ("EXISTENCE",),
        "LEFT_ANTI": ("LEFT_SEMI",),
        "RIGHT_OUTER": ("LEFT_OUTER",),
    },
    "Claim": {
        "COVERS": ("REPRODUCES",),
        "PRECISE": ("COVERS",),
        "REPRODUCES": ("COVERS",),
        "REDUCES": ("COVERS",),
    },
}
_PAIRS = (
    ("TRUE", "FALSE"),
    ("all", "any"),
    ("conj", "disj"),
    ("max", "min"),
    ("left", "right"),
    ("lower", "upper"),
    ("first", "later"),
    ("keeps_left", "keeps_right"),
    ("_not_before", "_not_after"),
    ("ascending", "nulls_first"),
)
_OTHER = {name: other for pair in _PAIRS for name, other in (pair, pair[::-1])}
_SIDES = {"same": 0, "Compare": 1, "Frame": 1, "SortKey": 1, "_side": 3, "_before": 0}
"""Functions whose arguments from this one on can be taken for each other."""


_Piece: TypeAlias = ast.expr | ast.pattern
_Element = TypeVar("_Element")


@dataclass(frozen=True)
class Mutant:
    """A module with one mistake.

    Attributes:
        module: the name of the module.
        function: where in it; empty outside of functions.
        old: the piece of source that is wrong now.
        new: what stands there.
        number: which of several equal mistakes in the function this is.
        source: the source of the mutated module.
    """

    module: str
    function: str
    old: str
    new: str
    number: int
    source: str

    def __str__(self) -> str:
        where = ".".join(filter(None, (self.module.partition(".")[2], self.function)))
        again = f" #{self.number}" if self.number > 1 else ""
        return f"{where}: {self.old} -> {self.new}{again}"


def mutants(module: str, source: str) -> Iterator[Mutant]:
    """Yield the mutants of a module, none equal to the module or to one before it."""
    tree = ast.parse(source)
    seen = {ast.dump(tree)}
    numbers: Counter[tuple[str, str, str]] = Counter()
    for function, node in _nodes(tree, ""):
        for old, new in _mistakes(node):
            text = _replaced(source, old, new)
            dumped = ast.dump(ast.parse(text))
            if dumped in seen:
                continue
            seen.add(dumped)
            mistake = (function, ast.unparse(old), ast.unparse(new))
            numbers[mistake] += 1
            yield Mutant(module, *mistake, numbers[mistake], text)


def _nodes(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield what can be wrong, and the function it is in: no types, no messages, no assertions."""
    yield function, node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "slice"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr | ast.Assert):
                inside = child.name if isinstance(child, ast.FunctionDef) else function
                yield from _nodes(child, inside)


def _mistakes(node: ast.AST) -> Iterator[tuple[_Piece, _Piece]]:
    """Yield the mistakes to make at a node: what is replaced, and by what."""
    match node:
        case ast.If(test=test):
            yield test, _negated(test)
        case ast.comprehension(ifs=conditions):
            for condition in conditions:
                yield condition, _negated(condition)
                yield condition, ast.Constant(True)
        case ast.match_case(guard=ast.expr() as guard):
            yield guard, _negated(guard)
            yield guard, ast.Constant(True)
        case ast.MatchOr():
            for patterns in _without_one(node.patterns):
                yield node, ast.MatchOr(patterns)
        case ast.expr():
            for changed in (*_operator(node), *_name(node), *_call(node), *_shorter(node)):
                yield node, changed
        case _:
            pass


def _operator(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left, [operator], right):
            for other in _COMPARISONS[type(operator)]:
                yield ast.Compare(left, [other()], right)
        case ast.Compare(left, [first, second], [middle, right]):
            yield ast.Compare(left, [first], [middle])
            yield ast.Compare(middle, [second], [right])
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
            for fewer in _without_one(values):
                yield ast.BoolOp(operator, fewer) if len(fewer) > 1 else fewer[0]
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
            yield ast.BinOp(left, _OPERATORS[type(operator)](), right)
        case ast.IfExp():
            yield ast.IfExp(_negated(node.test), node.body, node.orelse)
            yield node.body
            yield node.orelse
        case _:
            pass


def _name(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Attribute(ast.Name(kind) as owner, member) if kind in _MEMBERS:
            for other in _MEMBERS[kind].get(member, ()):
                yield ast.Attribute(owner, other, ast.Load())
        case ast.Attribute(owner, member, ast.Load()) if member in _OTHER:
            yield ast.Attribute(owner, _OTHER[member])
        case ast.Name(name, ast.Load()) if name in _OTHER:
            yield ast.Name(_OTHER[name])
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield ast.Constant(value + 1)
        case _:
            pass


def _call(node: ast.expr) -> Iterator[ast.expr]:
    """Yield a call with two sides swapped, or what is left when it is forgotten."""
    match node:
        case ast.Call(ast.Name(name), [*args], []):
            for i in range(_SIDES.get(name, len(args)), len(args) - 1):
                swapped = [*args[:i], args[i + 1], args[i], *args[i + 2 :]]
                yield ast.Call(node.func, swapped, [])
            if name == "same":
                equal = ast.Attribute(ast.Name("Comparison"), "EQ")
                yield ast.Call(ast.Name("Compare"), [equal, *args], [])
            if name in ("substitute", "Not"):
                yield args[0]
            if name == "IsNull":
                yield ast.Call(ast.Name("Not"), [node], [])
                yield ast.Name("FALSE")
            if name == "evaluable":
                yield ast.Constant(True)
        case _:
            pass


def _shorter(node: ast.expr) -> Iterator[ast.expr]:
    """Yield a collection without one of its elements."""
    match node:
        case ast.Tuple(elements, ast.Load()) | ast.List(elements, ast.Load()):
            for fewer in _without_one(elements):
                yield type(node)(fewer, ast.Load())
        case ast.Set(elements):
            for fewer in _without_one(elements):
                yield ast.Set(fewer)
        case _:
            pass


def _without_one(elements: Sequence[_Element]) -> Iterator[list[_Element]]:
    if len(elements) > 1:
        for i in range(len(elements)):
            yield [*elements[:i], *elements[i + 1 :]]


def _negated(test: ast.expr) -> ast.expr:
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.Compare(left, [operator], right):
            return ast.Compare(left, [_COMPARISONS[type(operator)][-1]()], right)
        case _:
            return ast.UnaryOp(ast.Not(), test)


def _replaced(source: str, old: _Piece, new: _Piece) -> str:
    """Return the source with another piece in the place of one of its own."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    assert old.end_lineno is not None and old.end_col_offset is not None
    start = starts[old.lineno - 1] + old.col_offset
    end = starts[old.end_lineno - 1] + old.end_col_offset
    text = ast.unparse(new)
    piece = text if isinstance(new, ast.pattern) else f"({text})"
    encoded = source.encode()
    return (encoded[:start] + piece.encode() + encoded[end:]).decode()
