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
