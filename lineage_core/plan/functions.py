"""The scalar functions the IR knows, by name, in Spark's meaning.

`capture` maps Catalyst expressions to these names, an engine maps the names to its own functions
and refuses one that it does not have in exactly this meaning. Anything else is captured as
`Unknown`.
"""

from __future__ import annotations

_COMMON = frozenset(
    {
        # arithmetic; a result that does not fit its type is null when evaluated again
        "add",
        "subtract",
        "multiply",
        "divide",
        "remainder",
        "negative",
        "abs",
        # cast to the call's type; null where the value does not convert
        "cast",
        # case_when(condition, value, ..., otherwise): otherwise is always given, a null literal by
        # default
        "case_when",
        "coalesce",
        "greatest",
        "least",
        # numbers
        "floor",
        "ceil",
        "round",  # round(value, digits): half away from zero
        "sqrt",
        "exp",
        "ln",  # null where the value is not positive
        "power",
        "isnan",
        "div",  # div(long, long): without remainder; null by 0
        "pmod",  # pmod(value, divisor): null by 0
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_not",
        # strings; positions count characters from 1
        "starts_with",
        "ends_with",
        "contains",
        "like",  # like(value, pattern, escape)
        "substring",  # substring(value, position, length)
        "length",
        "concat",
        "upper",
        "lower",
        "trim",
        "ltrim",
        "rtrim",
        "lpad",  # lpad(value, length, pad); `rpad` alike
        "rpad",
        "replace",  # replace(value, search, replacement)
        "repeat",
        "instr",
        "translate",
        "initcap",
        "concat_ws",  # concat_ws(separator, value, ...): values that are null are left out
        # Java's regular expressions
        "rlike",
        "regexp_extract",  # regexp_extract(value, pattern, group)
        "regexp_replace",  # regexp_replace(value, pattern, replacement, position)
        # dates
        "year",
        "quarter",
        "month",
        "day",
        "date_add",
        "date_sub",
        "date_diff",
        "dayofweek",
        "dayofyear",
        "weekofyear",
        "last_day",
        "add_months",
        # nested values
        "array",
        "map",  # map(key, value, ...)
        "named_struct",  # named_struct(name, value, ...)
        "get",  # get(array, position from 0): null beyond its ends
        "element_at",  # element_at(array, position from 1), element_at(map, key): null if missing
        "field",  # field(struct, name), field(array of structs, name)
        "size",  # of an array or map; null of null
    }
)
"""The functions that an engine other than Spark may have as well."""

SPARKS = frozenset(
    {
        "acos",
        "array_contains",
        "array_distinct",
        "array_except",
        "array_intersect",
        "array_join",
        "array_max",
        "array_min",
        "array_position",
        "array_remove",
        "array_union",
        "arrays_overlap",
        "ascii",
        "asin",
        "atan",
        "atan2",
        "bit_length",
        "bround",
        "cbrt",
        "chr",
        "cos",
        "cosh",
        "crc32",
        "date_from_unix_date",
        "degrees",
        "expm1",
        "find_in_set",
        "flatten",
        "format_number",
        "from_utc_timestamp",
        "get_json_object",
        "hash",
        "hex",
        "hypot",
        "levenshtein",
        "locate",
        "log",
        "log10",
        "log1p",
        "log2",
        "map_entries",
        "map_keys",
        "map_values",
        "md5",
        "nanvl",
        "octet_length",
        "overlay",
        "radians",
        "regexp_extract_all",
        "reverse",
        "rint",
        "sha1",
        "sha2",
        "shiftleft",
        "shiftright",
        "shiftrightunsigned",
        "signum",
        "sin",
        "sinh",
        "sort_array",
        "soundex",
        "space",
        "split",
        "substring_index",
        "tan",
        "tanh",
        "to_utc_timestamp",
        "trunc",
        "unix_date",
        "unix_micros",
        "unix_millis",
        "unix_seconds",
        "weekday",
        "xxhash64",
    }
)
"""The functions that are Spark's own, of the same name in its SQL."""

ZONED = frozenset(
    {
        "zoned_cast",  # between instants and what clocks and calendars show; text included
        "date_format",  # date_format(instant, pattern)
        "date_trunc",  # date_trunc(unit, instant)
        "from_unixtime",  # from_unixtime(seconds, pattern)
        "hour",
        "minute",
        "months_between",  # months_between(instant, instant, whether to round)
        "second",
        "to_timestamp",  # to_timestamp(text, pattern), null where it does not fit; `_ntz` alike
        "to_timestamp_ntz",
        "to_unix_timestamp",  # to_unix_timestamp(instant, date or text, pattern)
    }
)
"""The functions whose last operand is the id of the time zone they are computed in."""

FUNCTIONS = _COMMON | SPARKS | ZONED

AGGREGATES = frozenset(
    {
        "count",
        "sum",
        "avg",
        "min",
        "max",
        "bit_and",
        "bit_or",
        "bit_xor",
        "first",  # first(value), first(value, true) of values that are not null; `last` alike
        "last",
        "min_by",
        "max_by",
        "stddev_samp",
        "stddev_pop",
        "var_samp",
        "var_pop",
    }
)
"""The aggregate functions that can be computed again, in Spark's meaning; of frames too."""

POSITION = "position"
"""The number of a row in the order of its window; of plans that `plan.positions` made."""

RANKINGS = frozenset(
    {
        POSITION,
        "row_number",
        "rank",
        "dense_rank",
        "percent_rank",
        "cume_dist",
        "ntile",  # ntile(buckets)
    }
)
"""The window functions that give a row's place among the order values, whatever the frame."""

NEIGHBOURS = frozenset({"lag", "lead"})  # lag(value, offset, default); `lead` alike
"""The window functions that give the value of a row so many rows away."""

UNFRAMED = RANKINGS | NEIGHBOURS
"""The window functions whose frame is theirs, and not to be chosen."""

WINDOWS = UNFRAMED | {"nth_value"}  # nth_value(value, n)
"""The functions of windows alone."""

GENERATORS = frozenset(
    {
        "explode",  # explode(array): a row per element; explode(map): key and value
        "posexplode",  # the same, with the position from 0 before
        "inline",  # inline(array of structs): the fields of each
        "stack",  # stack(rows, value, ...): the values, dealt to so many rows
        "replicate_rows",  # replicate_rows(number, value, ...): the values, so many times
    }
)
"""The functions that make rows: the root of a Generate's expression, and nothing else."""
