"""What events may say about predicates and reasons: operators and column names, never a value.

A literal of a predicate can be personal data, and an event goes to people who may not see the rows.
The whole predicate is in the store, for those who may read that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lineage_core.plan.expr import (
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
)
from lineage_core.plan.program import LineageProgram
from lineage_core.plan.traverse import operands

MASK = "?"
DEPTH = 12
LENGTH = 600
_ELLIPSIS = "..."

# What may hold a value in a sentence: anything quoted, and any number but an operator's place.
_VALUE = re.compile(
    r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|(?<!operator )(?<![\w])[-+]?\d[\w.:+-]*", re.DOTALL
)

_CLASS = re.compile(r"[A-Za-z_]+(?:Error|Exception)(?=$|:)")


def step_shape(program: LineageProgram, number: int) -> str:
    """Return the predicate of a step of `program` with every literal replaced by `?`."""
    step = program.steps[number]
    if step.anchor < 0:
        return ""
    above = program.steps[step.anchor]
    prefix = "output" if step.anchor == 0 else f"step{step.anchor}"
    names = {field.id: field.name for field in step.columns}
    anchors = {field.id: f"{prefix}.{field.name}" for field in above.columns}
    return shortened(shape(step.predicate, names, anchors))


Names = Mapping[int, str]


def shape(expr: Expr, names: Names, anchors: Names, depth: int = DEPTH) -> str:
    """Return the form of `expr`: its operators and columns; `...` below `depth` levels."""
    if depth == 0:
        return _ELLIPSIS
    match expr:
        case Column():
            return names.get(expr.id, f"#{expr.id}")
        case Anchor():
            return anchors.get(expr.id, f"anchor#{expr.id}")
        case Literal():
            return MASK
    return _combined(expr, [shape(arg, names, anchors, depth - 1) for arg in operands(expr)])


def _combined(expr: Expr, parts: list[str]) -> str:
    match expr:
        case Compare():
            return f"{parts[0]} {expr.op} {parts[1]}"
        case IsNull():
            return f"{parts[0]} IS NULL"
        case IsIn():
            return f"{parts[0]} IN ({MASK})"
        case Not():
            return f"NOT ({parts[0]})"
        case And() | Or():
            return "(" + f" {type(expr).__name__.upper()} ".join(parts) + ")"
        case Call():
            return f"{expr.name}({', '.join(parts)})"
        case _:  # a user's function: its name is his own text
            return f"{type(expr).__name__.lower()}({', '.join(parts)})"


def masked(text: str) -> str:
    """Return a reason with all that may be a value replaced by `?`: quoted text and numbers."""
    return shortened(_VALUE.sub(MASK, text))


def failure(text: str) -> str:
    """Return what an event may say of a failure: its first words, and an exception's class.

    An exception's own message may quote rows without quotation marks; by convention it follows the
    first colon, so nothing but a class name is taken from there.
    """
    what, _, rest = text.strip().partition("\n")[0].partition(":")
    kind = _CLASS.match(rest.strip())
    return masked(what) + (f": {kind[0]}" if kind else "")


def shortened(text: str, length: int = LENGTH) -> str:
    """Return `text`, cut to `length` characters."""
    return text if len(text) <= length else text[: length - len(_ELLIPSIS)] + _ELLIPSIS
