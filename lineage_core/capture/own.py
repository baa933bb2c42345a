"""Catalyst expressions that are one of Spark's SQL functions of their operands, and nothing else.

They are computed again by Spark itself, so all that has to be known is that no mode of theirs, no
setting of the session and no other row decides their value, and that they never raise an error for
values that the run did not meet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lineage_core.capture.literals import INTEGRAL
from lineage_core.capture.met import Met
from lineage_core.plan.expr import Call, Expr, IsNull, Literal, data_type

_SEED = 42
"""What the SQL functions `hash` and `xxhash64` begin with."""

_MAP = '{"type":"map"'

_NAMES: Mapping[str, str] = {
    # text
    "Ascii": "ascii",
    "BitLength": "bit_length",
    "Chr": "chr",
    "FindInSet": "find_in_set",
    "FormatNumber": "format_number",
    "GetJsonObject": "get_json_object",
    "Hex": "hex",
    "Levenshtein": "levenshtein",
    "OctetLength": "octet_length",
    "Overlay": "overlay",
    "RegExpExtractAll": "regexp_extract_all",
    "Reverse": "reverse",
    "SoundEx": "soundex",
    "StringLocate": "locate",
    "StringSpace": "space",
    "StringSplit": "split",
    "SubstringIndex": "substring_index",
    # digests
    "Crc32": "crc32",
    "Md5": "md5",
    "Sha1": "sha1",
    "Sha2": "sha2",
    # numbers
    "Acos": "acos",
    "Asin": "asin",
    "Atan": "atan",
    "Atan2": "atan2",
    "BitwiseAnd": "bitwise_and",
    "BitwiseNot": "bitwise_not",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "Cbrt": "cbrt",
    "Cos": "cos",
    "Cosh": "cosh",
    "Expm1": "expm1",
    "Hypot": "hypot",
    "Log10": "log10",
    "Log1p": "log1p",
    "Log2": "log2",
    "Logarithm": "log",
    "NaNvl": "nanvl",
    "Pmod": "pmod",
    "Rint": "rint",
    "RoundCeil": "ceil",
    "RoundFloor": "floor",
    "ShiftLeft": "shiftleft",
    "ShiftRight": "shiftright",
    "ShiftRightUnsigned": "shiftrightunsigned",
    "Signum": "signum",
    "Sin": "sin",
    "Sinh": "sinh",
    "Tan": "tan",
    "Tanh": "tanh",
    "ToDegrees": "degrees",
    "ToRadians": "radians",
    # dates, and instants apart from any time zone of the session
    "DateFromUnixDate": "date_from_unix_date",
    "FromUTCTimestamp": "from_utc_timestamp",
    "ToUTCTimestamp": "to_utc_timestamp",
    "TruncDate": "trunc",
    "UnixDate": "unix_date",
    "UnixMicros": "unix_micros",
    "UnixMillis": "unix_millis",
    "UnixSeconds": "unix_seconds",
    "WeekDay": "weekday",
    # arrays, maps and structs
    "ArrayContains": "array_contains",
    "ArrayDistinct": "array_distinct",
    "ArrayExcept": "array_except",
    "ArrayIntersect": "array_intersect",
    "ArrayJoin": "array_join",
    "ArrayMax": "array_max",
    "ArrayMin": "array_min",
    "ArrayPosition": "array_position",
    "ArrayRemove": "array_remove",
    "ArrayUnion": "array_union",
    "ArraysOverlap": "arrays_overlap",
    "CreateArray": "array",
    "CreateMap": "map",
    "CreateNamedStruct": "named_struct",
    "Flatten": "flatten",
    "GetArrayItem": "get",
    "MapEntries": "map_entries",
    "MapKeys": "map_keys",
    "MapValues": "map_values",
    "SortArray": "sort_array",
}


def _own(name: str) -> Callable[[Met], Expr | None]:
    return lambda met: None if met.collated else met.call(name)


def _hash(name: str) -> Callable[[Met], Expr | None]:
    def rule(met: Met) -> Expr | None:
        return None if met.collated or met.tree["seed"] != _SEED else met.call(name)

    return rule


def _integral_divide(met: Met) -> Expr | None:
    return Call("div", met.args, "long") if data_type(met.args[0]) in INTEGRAL else None


def _bround(met: Met) -> Expr | None:
    # Whole numbers may overflow, which is an error or not.
    return None if data_type(met.args[0]) in INTEGRAL else met.call("bround")


def _size(met: Met) -> Expr | None:
    size = Call("size", met.args, "integer")
    if not met.tree["legacySizeOfNull"]:
        return size
    return Call("case_when", (IsNull(met.args[0]), Literal(-1, "integer"), size), "integer")


def _element(met: Met) -> Expr | None:
    if met.collated:
        return None
    match met.args[1]:
        case Literal(0) if data_type(met.args[1]) in INTEGRAL:
            return None  # an error in an array, whatever the mode
        case Literal():
            return met.call("element_at")
    # Any place, 0 as well, may come from a row that the run did not ask for.
    return met.call("element_at") if data_type(met.args[0]).startswith(_MAP) else None


def _field(met: Met) -> Expr | None:
    name = Literal(str(met.java().field().name()), "string")
    return Call("field", (met.args[0], name), met.type)


def _struct_field(met: Met) -> Expr | None:
    name = Literal(str(met.java().extractFieldName()), "string")
    return Call("field", (met.args[0], name), met.type)


OWN: Mapping[str, Callable[[Met], Expr | None]] = {
    **{kind: _own(name) for kind, name in _NAMES.items()},
    "BRound": _bround,
    "ElementAt": _element,
    "GetArrayStructFields": _field,
    "GetMapValue": _element,
    "GetStructField": _struct_field,
    "IntegralDivide": _integral_divide,
    "KnownNotContainsNull": lambda met: met.args[0],
    "Murmur3Hash": _hash("hash"),
    "Size": _size,
    "XxHash64": _hash("xxhash64"),
}
"""How each is read; a rule that answers None leaves it to `Unknown`."""
