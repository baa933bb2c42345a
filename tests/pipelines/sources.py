"""Small tables with everything that goes wrong in big ones: nulls, NaN, duplicates, skew, nothing.

The rows of a table lie in one file or two, so that rids are not just numbers from zero.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from lineage_core.plan.expr import DataType
from lineage_core.snapshot import RID_SHIFT
from tests.pipelines.interpreter import Table
from tests.pipelines.values import Value

ARRAY = '{"type":"array","elementType":"long","containsNull":true}'

VALUES: Mapping[DataType, Sequence[Value]] = {
    "long": [None, 0, 1, 1, 1, 2, 3, 5],
    "integer": [None, 0, 1, 2, 2],
    "string": [None, "", "a", "a", "a ", "ä", "b"],
    "double": [None, 0.0, -0.0, math.nan, 1.5, 1.5, -2.25],
    "boolean": [None, True, True, False],
    ARRAY: [None, (), (1,), (1, None), (2, 2, 3)],
}

_COLUMNS = (
    ("k", "long"),
    ("j", "long"),
    ("n", "integer"),
    ("s", "string"),
    ("x", "double"),
    ("b", "boolean"),
    ("xs", ARRAY),
)


def random_table(choice: random.Random, name: str) -> Table:
    """Return a table of up to twelve rows; most have a unique column `id`."""
    columns = [("k", "long"), *choice.sample(_COLUMNS[1:], choice.randint(1, 4))]
    rows: list[tuple[Value, ...]] = []
    for _ in range(choice.choice([0, 1, 3, 4, 5, 6, 7, 8, 10, 12])):
        if rows and choice.random() < 0.15:
            rows.append(choice.choice(rows))
        else:
            rows.append(tuple(choice.choice(VALUES[type]) for _, type in columns))
    if choice.random() < 0.6:
        columns.insert(0, ("id", "long"))
        ids = choice.sample(range(20), len(rows))
        rows = [(id, *row) for id, row in zip(ids, rows, strict=True)]
    first = choice.choice([len(rows), len(rows), choice.randint(0, len(rows))])
    rids = [*range(first), *(1 << RID_SHIFT | i for i in range(len(rows) - first))]
    return Table(name, tuple(columns), dict(zip(rids, rows, strict=True)))
