"""Which Catalyst expression means what in the IR: `RULES`.

A rule is given an expression whose operands are read, and answers None where the IR has no form for
exactly this meaning. What the JSON leaves out (modes, escape characters) is asked of Java.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lineage_core.capture import zoned
from lineage_core.capture.literals import (
    INTEGRAL,
    has_collation,
    is_nested,
    is_numeric,
    read_literal,
    read_type,
)
from lineage_core.capture.met import Met, snake
from lineage_core.capture.own import OWN
from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Call,
    Compare,
    Comparison,
    Expr,
    IsNull,
    Literal,
    Unknown,
    data_type,
    disj,
    is_in,
    negate,
    same,
)

_WIDENS = {
    "byte": ("byte",),
    "short": ("byte", "short"),
    "integer": ("byte", "short", "integer"),
    "long": ("byte", "short", "integer", "long"),
}
"""Which integers every one of a type fits."""

_AGGREGATES = {
    "Average": "avg",
    "StddevSamp": "stddev_samp",
    "StddevPop": "stddev_pop",
    "VarianceSamp": "var_samp",
    "VariancePop": "var_pop",
    "BitAndAgg": "bit_and",
    "BitOrAgg": "bit_or",
    "BitXorAgg": "bit_xor",
    "CovPopulation": "covar_pop",
    "CovSample": "covar_samp",
    "HyperLogLogPlusPlus": "approx_count_distinct",
    "ApproximatePercentile": "percentile_approx",
}
"""Aggregate functions whose SQL name is not their class name in snake case."""


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
        return None if met.collated else Compare(op, met.args[0], met.args[1])

    return rule


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
    if (before, after) in zoned.CASTS:
        return zoned.zoned_cast(met, after)
    narrows = after in INTEGRAL and before not in _WIDENS[after]
    narrows = narrows and (is_numeric(before) or before == "timestamp")
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
    if not values or met.collated:
        return None
    literals = [value for value in values if isinstance(value, Literal)]
    if len(literals) == len(values):
        return is_in(arg, literals)
    return disj(Compare(Comparison.EQ, arg, value) for value in values)


def _function(name: str, *types: str) -> Callable[[Met], Expr | None]:
    """A function of the same meaning, as long as its operands are of `types` (any by default)."""

    def rule(met: Met) -> Expr | None:
        if met.collated or any(is_nested(data_type(arg)) for arg in met.args):
            return None
        if any(data_type(arg) != type for arg, type in zip(met.args, types, strict=False)):
            return None
        return met.call(name)

    return rule


def _concat(met: Met) -> Expr | None:
    kinds = {is_nested(data_type(arg)) or data_type(arg) for arg in met.args}
    return met.call("concat") if kinds in ({"string"}, {True}) and not met.collated else None


def _of_text(name: str, operands: int) -> Callable[[Met], Expr | None]:
    """A function of so many operands, the first of which is text."""

    def rule(met: Met) -> Expr | None:
        if len(met.args) != operands or data_type(met.args[0]) != "string":
            return None
        return None if met.collated else met.call(name)

    return rule


def _joined_text(met: Met) -> Expr | None:
    texts = all(data_type(arg) == "string" for arg in met.args)
    return met.call("concat_ws") if texts else None


def _substring(met: Met) -> Expr | None:
    return met.call("substring") if data_type(met.args[0]) == "string" else None


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
        _aggregate_name(met, function),
        function.args + _flags(met),
        function.type,
        bool(met.tree["isDistinct"]),
        filters[0] if filters else None,
    )


def _function_class(met: Met) -> str:
    return str(met.java().aggregateFunction().getClass().getSimpleName())


def _aggregate_name(met: Met, function: Unknown) -> str:
    kind = _function_class(met)
    if kind == "Sum" and function.type in INTEGRAL:
        mode = met.java().aggregateFunction().evalContext().evalMode()
        return "wrapping_sum" if str(mode) == "LEGACY" else "sum"
    return _AGGREGATES.get(kind, function.name)


def _flags(met: Met) -> tuple[Expr, ...]:
    """Return what an aggregate function is told beside its operands, if it is told anything."""
    function = met.java().aggregateFunction
    match _function_class(met):
        case "First" | "Last" | "AnyValue":
            return (Literal(True, "boolean"),) if function().ignoreNulls() else ()
        case "Percentile":
            return (Literal(True, "boolean"),) if function().reverse() else ()
        case "HyperLogLogPlusPlus":
            return (Literal(float(function().relativeSD()), "double"),)
    return ()


RULES: Mapping[str, Callable[[Met], Expr | None]] = {
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
    "StringTrim": _of_text("trim", 1),
    "StringTrimLeft": _of_text("ltrim", 1),
    "StringTrimRight": _of_text("rtrim", 1),
    "StringLPad": _of_text("lpad", 3),
    "StringRPad": _of_text("rpad", 3),
    "StringReplace": _of_text("replace", 3),
    "StringRepeat": _of_text("repeat", 2),
    "StringInstr": _of_text("instr", 2),
    "StringTranslate": _of_text("translate", 3),
    "InitCap": _of_text("initcap", 1),
    "ConcatWs": _joined_text,
    "RLike": _of_text("rlike", 2),
    "RegExpExtract": _of_text("regexp_extract", 3),
    "RegExpReplace": _of_text("regexp_replace", 4),
    "Floor": _function("floor"),
    "Ceil": _function("ceil"),
    "Round": _function("round"),
    "Sqrt": _function("sqrt"),
    "Exp": _function("exp"),
    "Log": _function("ln"),
    "Pow": _function("power"),
    "IsNaN": _function("isnan"),
    "DayOfWeek": _function("dayofweek", "date"),
    "DayOfYear": _function("dayofyear", "date"),
    "WeekOfYear": _function("weekofyear", "date"),
    "LastDay": _function("last_day", "date"),
    "AddMonths": _function("add_months", "date", "integer"),
    "Year": _function("year", "date"),
    "Quarter": _function("quarter", "date"),
    "Month": _function("month", "date"),
    "DayOfMonth": _function("day", "date"),
    "DateAdd": _function("date_add", "date", "integer"),
    "DateSub": _function("date_sub", "date", "integer"),
    "DateDiff": _function("date_diff", "date", "date"),
    "AggregateExpression": _aggregate,
    **OWN,
    **zoned.RULES,
}
"""How each Catalyst expression is read; a rule that answers None leaves it to `Unknown`."""
