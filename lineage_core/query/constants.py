"""Read the constants of a `where` text, as Spark would."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal, InvalidOperation
from math import isinf

from sqlglot import exp

from lineage_core.plan.expr import DataType
from lineage_core.query.coercion import Constant, Mismatch, converted

_QUOTED = {
    quote: re.compile(rf"{quote}(?:[^{quote}\\]|\\.|{quote}{quote})*{quote}", re.DOTALL)
    for quote in ("'", '"')
}
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "%": "\\%", "_": "\\_"}

_CAST_TYPES: dict[object, DataType] = {
    exp.DataType.Type.BOOLEAN: "boolean",
    exp.DataType.Type.TINYINT: "byte",
    exp.DataType.Type.SMALLINT: "short",
    exp.DataType.Type.INT: "integer",
    exp.DataType.Type.BIGINT: "long",
    exp.DataType.Type.FLOAT: "float",
    exp.DataType.Type.DOUBLE: "double",
    exp.DataType.Type.TEXT: "string",
    exp.DataType.Type.DATE: "date",
    exp.DataType.Type.TIMESTAMPTZ: "timestamp",
    exp.DataType.Type.TIMESTAMPNTZ: "timestamp_ntz",
}


def read_constant(node: exp.Expr, text: str) -> Constant | None:
    """Return the constant that `node` of the parsed `text` is, or None if it is none.

    Raises:
        Mismatch: it is one, but not a valid one.
    """
    match node:
        case exp.Null():
            return Constant(None, "void")
        case exp.Boolean():
            return Constant(bool(node.this), "boolean")
        case exp.Neg():
            return _negative(node, text)
        case exp.HexString():
            return _binary(node)
        case exp.Literal():
            return _literal(node, text)
        case exp.Concat() if all(
            isinstance(e, exp.Literal) and e.is_string for e in node.expressions
        ):
            return _string(node, text)
        case exp.Cast():
            inner = read_constant(node.this.unnest(), text)
            target = _cast_type(node.to)
            return None if inner is None or target is None else converted(inner, target)
        case _:
            return None


def _literal(node: exp.Literal, text: str) -> Constant:
    if not node.is_string:
        return _number(node.name)
    if "start" not in node.meta:  # the digits of a number with the suffix BD
        return Constant(node.name, "string")
    return _string(node, text)


def _negative(node: exp.Neg, text: str) -> Constant | None:
    inner = read_constant(node.this.unnest(), text)
    if inner is None or isinstance(inner.value, bool | str | bytes | date | None):
        return None
    return Constant(-inner.value, inner.type)


def _number(text: str) -> Constant:
    try:
        if re.search(r"[eE]", text):
            if isinf(float(text)):
                raise Mismatch(f"{text} is too large for a double")
            return Constant(float(text), "double")
        value = Decimal(text)
    except (InvalidOperation, ValueError):
        raise Mismatch(f"{text} is no number") from None
    return Constant(int(value), "long") if "." not in text else Constant(value, "decimal")


def _binary(node: exp.HexString) -> Constant:
    try:
        return Constant(bytes.fromhex(node.name), "binary")
    except ValueError:
        raise Mismatch("a binary constant needs an even number of hexadecimal digits") from None


def _string(node: exp.Expr, text: str) -> Constant:
    """Return a string as Spark reads it: with backslash escapes, a doubled quote for a quote."""
    start = min(part.meta["start"] for part in node.walk() if "start" in part.meta)
    quote = text[start]
    match = _QUOTED[quote].match(text, start)
    assert match is not None  # the parser found a string there
    following = text[match.end() :].lstrip()
    if isinstance(node, exp.Concat) and following.startswith(("'", '"')):
        raise Mismatch("strings side by side are not allowed")
    return Constant(_unescaped(match[0][1:-1], quote), "string")


def _unescaped(raw: str, quote: str) -> str:
    def replace(match: re.Match[str]) -> str:
        if match[0] == quote * 2:
            return quote
        if match[1] not in _ESCAPED:
            raise Mismatch(f"the escape \\{match[1]} is not allowed in a string")
        return _ESCAPED[match[1]]

    return re.sub(rf"\\(.)|{quote}{quote}", replace, raw, flags=re.DOTALL)


def _cast_type(type: exp.DataType) -> DataType | None:
    if type.this == exp.DataType.Type.DECIMAL and len(type.expressions) == 2:
        precision, scale = (param.name for param in type.expressions)
        return f"decimal({precision},{scale})"
    return _CAST_TYPES.get(type.this) if not type.expressions else None
