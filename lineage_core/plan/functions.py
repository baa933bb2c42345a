"""The scalar functions the IR knows, by name, in Spark's meaning.

`capture` maps Catalyst expressions to these names, an engine maps the names to its own functions
and refuses one that it does not have in exactly this meaning. Anything else is captured as
`Unknown`.
"""

from __future__ import annotations

FUNCTIONS = frozenset(
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
        # dates
        "year",
        "quarter",
        "month",
        "day",
        "date_add",
        "date_sub",
        "date_diff",
    }
)

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

RANKINGS = frozenset(
    {
        "row_number",
        "rank",
        "dense_rank",
        "percent_rank",
        "cume_dist",
        "ntile",  # ntile(buckets)
        "lag",  # lag(value, offset, default); `lead` alike
        "lead",
    }
)
"""The window functions whose frame is theirs, and not to be chosen."""

WINDOWS = RANKINGS | {"nth_value"}  # nth_value(value, n)
"""The functions of windows alone."""

GENERATORS = frozenset({"explode", "posexplode", "inline", "stack", "replicate_rows"})
"""The functions that make rows: the root of a Generate's expression."""

GENERATORS = frozenset(
    {
        "explode",  # explode(array): a row per element; explode(map): key and value
        "posexplode",  # the same, with the position from 0 before
        "inline",  # inline(array of structs): the fields of each
        "stack",  # stack(rows, value, ...): the values, dealt to so many rows
        "replicate_rows",  # replicate_rows(number, value, ...): the values, so many times
    }
)
"""What stands as the generator of a `Generate`, and nowhere else, in Spark's meaning."""
