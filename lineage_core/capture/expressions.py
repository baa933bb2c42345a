"""Catalyst expressions to IR expressions: only what means the same, everything else is `Unknown`.

Catalyst's JSON lists an expression tree in pre-order. It leaves out some facts (result types,
evaluation modes, escape characters, binary values); those are asked of the Java expression at the
same place. The walk is iterative, so that a condition of thousands of terms is no recursion error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from lineage_core.capture.literals import (
    INTEGRAL,
    has_collation,
    is_nested,
    is_numeric,
    read_literal,
    read_type,
)
from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Call,
    Column,
    Compare,
    Comparison,
    DataType,
    Expr,
    IsNull,
    Literal,
    Unknown,
    conj,
    data_type,
    disj,
    is_in,
    negate,
    same,
)

_ZONED = frozenset(
    {
        ("string", "timestamp"),
        ("date", "timestamp"),
        ("timestamp_ntz", "timestamp"),
        ("timestamp", "string"),
        ("timestamp", "date"),
        ("timestamp", "timestamp_ntz"),
    }
)
"""Casts whose result depends on the session's time zone, which no engine is told."""

_AGGREGATES = {
    "Average": "avg",
    "StddevSamp": "stddev_samp",
    "StddevPop": "stddev_pop",
    "VarianceSamp": "var_samp",
    "VariancePop": "var_pop",
}
"""Aggregate functions whose SQL name is not their class name in snake case."""


@dataclass(frozen=True, slots=True)
class Met:
    """A Catalyst expression met: its JSON, its operands as read, and the Java object behind it."""

    name: str
    tree: Mapping[str, Any]
    args: tuple[Expr, ...]
    java: Callable[[], Any]

    @property
    def type(self) -> DataType:
        return read_type(json.loads(self.java().dataType().json()))

    def call(self, name: str) -> Call:
        return Call(name, self.args, self.type)

    def unknown(self) -> Unknown:
        return Unknown(snake(self.name), self.args, self.type, bool(self.java().deterministic()))


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may refer to.

    Attributes:
        ids: the column behind each Catalyst attribute.
        subquery: gives the value of a scalar subquery, or None if it has no IR form.
    """

    ids: Mapping[int, int]
    subquery: Callable[[Met], Expr | None]


def read(tree: list[dict[str, Any]], scope: Scope, root: Callable[[], Any]) -> Expr:
    """Return the expression that the pre-order list `tree` holds; `root` gives its Java object."""
    parents = _parents(tree)
    chains: dict[int, list[Expr]] = {}  # operands of an And/Or below one of the same kind, by place
    stack: list[tuple[int, Expr]] = []
    for place in reversed(range(len(tree))):
        node = tree[place]
        name = class_name(node)
        taken = [stack.pop() for _ in range(node["num-children"])]
        if name in ("And", "Or"):
            terms = [t for i, arg in taken for t in chains.pop(i, [arg])]
            parent = parents[place][0]
            if parent >= 0 and class_name(tree[parent]) == name:
                chains[place] = terms
                stack.append((place, terms[0]))
            else:
                stack.append((place, conj(terms) if name == "And" else disj(terms)))
            continue
        args = tuple(arg for _, arg in taken)
        met = Met(name, node, args, partial(_java, root, parents, place))
        stack.append((place, _read_one(met, scope)))
    ((_, expr),) = stack
    return expr


def size(tree: list[dict[str, Any]], place: int) -> int:
    """Return how many elements of a pre-order list the expression at `place` takes."""
    open_, end = 1, place
    while open_:
        open_ += tree[end]["num-children"] - 1
        end += 1
    return end - place


def class_name(node: Mapping[str, Any]) -> str:
    """Return the class name, without its package, of a node or expression in Catalyst's JSON."""
    return str(node["class"]).rstrip("$").replace("$", ".").rpartition(".")[2]


def snake(name: str) -> str:
    """Return a class name as a function name: `CollectList` becomes `collect_list`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def by_bytes(expr: Expr) -> Expr:
    """Return `expr`, hidden as `Unknown` if equal values of it may differ in their bytes."""
    type = data_type(expr)
    return Unknown("collation", (expr,), type, True) if has_collation(type) else expr


def _parents(tree: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Return of each place its parent's (-1 for the root) and its number among the siblings."""
    found: list[tuple[int, int]] = []
    open_: list[tuple[int, int]] = []  # places that may await children, and how many have come
    for place in range(len(tree)):
        while open_ and open_[-1][1] == tree[open_[-1][0]]["num-children"]:
            open_.pop()
        if open_:
            parent, ordinal = open_.pop()
            open_.append((parent, ordinal + 1))
            found.append((parent, ordinal))
        else:
            found.append((-1, 0))
        open_.append((place, 0))
    return found


def _java(root: Callable[[], Any], parents: list[tuple[int, int]], place: int) -> Any:
    path = []
    while parents[place][0] >= 0:
        place, ordinal = parents[place]
        path.append(ordinal)
    java = root()
    for ordinal in reversed(path):
        java = java.children().apply(ordinal)
    return java


def _read_one(met: Met, scope: Scope) -> Expr:
    match met.name:
        case "AttributeReference":
            return _attribute(met, scope)
        case "ScalarSubquery":
            return scope.subquery(met) or met.unknown()
    rule = _RULES.get(met.name)
    return (rule and rule(met)) or met.unknown()


def _attribute(met: Met, scope: Scope) -> Expr:
    type = read_type(met.tree["dataType"])
    id = scope.ids.get(met.tree["exprId"]["id"])
    # What no input offers is a value of the rows around a subquery, or nobody's.
    return Unknown("attribute", (), type, False) if id is None else Column(id, type)


def _literal(met: Met) -> Expr | None:
    type = read_type(met.tree["dataType"])
    return read_literal(met.tree["value"], type, lambda: met.java().value())


def _inner(met: Met) -> Expr | None:
    return met.args[0]


def _fleeting(met: Met) -> Expr | None:
    """What Spark takes for a constant of the query, but is another one next time."""
    return Unknown(snake(met.name), (), met.type, False)


def _is_null(arg: Expr) -> Expr:
    match arg:
        case Call("case_when", (condition, Literal(value), Literal(None))) if value is not None:
            return negate(same(condition, TRUE))
    return IsNull(arg)


def _comparison(op: Comparison) -> Callable[[Met], Expr | None]:
    def rule(met: Met) -> Expr | None:
        return None if _collated(met) else Compare(op, met.args[0], met.args[1])

    return rule


def _collated(met: Met) -> bool:
    return any(has_collation(data_type(arg)) for arg in met.args)


def _arithmetic(name: str) -> Callable[[Met], Expr | None]:
    def rule(met: Met) -> Expr | None:
        type = met.type
        if not is_numeric(type):
            return None
        # Out of range, legacy integers wrap around; the IR's functions are null there.
        if type in INTEGRAL and str(met.java().evalContext().evalMode()) == "LEGACY":
            return None
        return Call(name, met.args, type)

    return rule


def _signed(name: str) -> Callable[[Met], Expr | None]:
    def rule(met: Met) -> Expr | None:
        type = data_type(met.args[0])
        wraps = type in INTEGRAL and not met.tree["failOnError"]
        return Call(name, met.args, type) if is_numeric(type) and not wraps else None

    return rule


def _cast(met: Met) -> Expr | None:
    before, after = data_type(met.args[0]), read_type(met.tree["dataType"])
    if any(is_nested(type) or has_collation(type) for type in (before, after)):
        return None
    if (before, after) in _ZONED:
        return None
    narrows = after in INTEGRAL and (is_numeric(before) or before == "timestamp")
    if narrows and str(met.java().evalMode()) == "LEGACY":
        return None  # wraps around, as in `_arithmetic`
    return Call("cast", met.args, after)


def _check_overflow(met: Met) -> Expr | None:
    return Call("cast", met.args, read_type(met.tree["dataType"]))


def _case_when(met: Met) -> Expr | None:
    type = met.type
    otherwise = () if len(met.args) % 2 else (Literal(None, type),)
    return Call("case_when", met.args + otherwise, type)


def _in(met: Met) -> Expr | None:
    arg, *values = met.args
    if not values or _collated(met):
        return None
    literals = [value for value in values if isinstance(value, Literal)]
    if len(literals) == len(values):
        return is_in(arg, literals)
    return disj(Compare(Comparison.EQ, arg, value) for value in values)


def _function(name: str, *types: str) -> Callable[[Met], Expr | None]:
    """A function of the same meaning, as long as its operands are of `types` (any by default)."""

    def rule(met: Met) -> Expr | None:
        if _collated(met) or any(is_nested(data_type(arg)) for arg in met.args):
            return None
        if any(data_type(arg) != type for arg, type in zip(met.args, types, strict=False)):
            return None
        return met.call(name)

    return rule


def _concat(met: Met) -> Expr | None:
    return met.call("concat") if all(data_type(arg) == "string" for arg in met.args) else None


def _trim(met: Met) -> Expr | None:
    return met.call("trim") if [data_type(arg) for arg in met.args] == ["string"] else None


def _substring(met: Met) -> Expr | None:
    # Positions from the end, or before the start, mean something else in other engines.
    match met.args:
        case (value, Literal(int(position)), Literal(int(length))) if position > 0 <= length:
            return met.call("substring") if data_type(value) == "string" else None
    return None


def _like(met: Met) -> Expr | None:
    if [data_type(arg) for arg in met.args] != ["string", "string"]:
        return None
    escape = Literal(str(met.java().escapeChar()), "string")
    return Call("like", (*met.args, escape), "boolean")


def _aggregate(met: Met) -> Expr | None:
    function, *filters = met.args
    if not isinstance(function, Unknown):
        return None
    return AggregateCall(
        _AGGREGATES.get(_function_class(met), function.name),
        function.args + _ignores_nulls(met),
        function.type,
        bool(met.tree["isDistinct"]),
        filters[0] if filters else None,
    )


def _function_class(met: Met) -> str:
    return str(met.java().aggregateFunction().getClass().getSimpleName())


def _ignores_nulls(met: Met) -> tuple[Expr, ...]:
    # `first(x)` and `first(x) ignore nulls` differ in this flag only.
    if _function_class(met) not in ("First", "Last", "AnyValue"):
        return ()
    ignores = bool(met.java().aggregateFunction().ignoreNulls())
    return (Literal(True, "boolean"),) if ignores else ()


_RULES: Mapping[str, Callable[[Met], Expr | None]] = {
    "Literal": _literal,
    # wrappers that change no value, or only which NaN or zero it is: equal to Spark
    "Alias": _inner,
    "SortOrder": _inner,
    "KnownNotNull": _inner,
    "KnownNullable": _inner,
    "KnownFloatingPointNormalized": _inner,
    "NormalizeNaNAndZero": _inner,
    "PromotePrecision": _inner,
    "EqualTo": _comparison(Comparison.EQ),
    "EqualNullSafe": _comparison(Comparison.SAME),
    "LessThan": _comparison(Comparison.LT),
    "LessThanOrEqual": _comparison(Comparison.LE),
    "GreaterThan": _comparison(Comparison.GT),
    "GreaterThanOrEqual": _comparison(Comparison.GE),
    "Not": lambda met: negate(met.args[0]),
    "IsNull": lambda met: _is_null(met.args[0]),
    "IsNotNull": lambda met: negate(_is_null(met.args[0])),
    "OuterReference": _fleeting,
    "CurrentDate": _fleeting,
    "CurrentTime": _fleeting,
    "CurrentTimestamp": _fleeting,
    "LocalTimestamp": _fleeting,
    "Now": _fleeting,
    "In": _in,
    "Add": _arithmetic("add"),
    "Subtract": _arithmetic("subtract"),
    "Multiply": _arithmetic("multiply"),
    "Divide": _arithmetic("divide"),
    "Remainder": _arithmetic("remainder"),
    "UnaryMinus": _signed("negative"),
    "Abs": _signed("abs"),
    "Cast": _cast,
    "CheckOverflow": _check_overflow,
    "CaseWhen": _case_when,
    "If": _case_when,
    "Coalesce": lambda met: met.call("coalesce"),
    "Greatest": _function("greatest"),
    "Least": _function("least"),
    "StartsWith": _function("starts_with", "string", "string"),
    "EndsWith": _function("ends_with", "string", "string"),
    "Contains": _function("contains", "string", "string"),
    "Like": _like,
    "Substring": _substring,
    "Length": _function("length", "string"),
    "Concat": _concat,
    "Upper": _function("upper", "string"),
    "Lower": _function("lower", "string"),
    "StringTrim": _trim,
    "Year": _function("year", "date"),
    "Quarter": _function("quarter", "date"),
    "Month": _function("month", "date"),
    "DayOfMonth": _function("day", "date"),
    "DateAdd": _function("date_add", "date", "integer"),
    "DateSub": _function("date_sub", "date", "integer"),
    "DateDiff": _function("date_diff", "date", "date"),
    "AggregateExpression": _aggregate,
}
"""How each Catalyst expression is read; a rule that answers None leaves it to `Unknown`."""
