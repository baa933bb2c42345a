"""Every operator in words."""

from __future__ import annotations

import pytest

from lineage_core.cli.operators import does, labels
from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Call,
    Column,
    Compare,
    Comparison,
    Frame,
    FrameUnit,
    Literal,
    WindowCall,
)
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Field,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Named,
    Offset,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    Union,
    Values,
    Window,
)

A, B, C = Column(1, "long"), Column(2, "long"), Column(3, "long")
ONE, NULL = Literal(1, "long"), Literal(None, "long")
LEFT = Scan(8, 0, "file:///data/left", (Field(1, "a", "long"), Field(2, "b", "long")))
RIGHT = Scan(9, 1, "s3://lake/right.parquet", (Field(3, "c d", "long"),))
SUM = AggregateCall("sum", (B,), "long", False, None)
RANK = WindowCall("rank", (), "integer", Frame(FrameUnit.ROWS, None, Literal(0, "integer")))
SAME = Compare(Comparison.EQ, A, C)
KEPT = Named(1, "a", A, "long")


def join(kind: JoinKind, exists: Field | None = None) -> Join:
    return Join(0, kind, SAME, LEFT, RIGHT, exists)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (LEFT, "reads /data/left"),
        (RIGHT, "reads s3://lake/right.parquet"),
        (Values(0, (*LEFT.columns, *RIGHT.columns)), "rows of no dataset: a, b, `c d`"),
        (Filter(0, Compare(Comparison.LT, A, ONE), LEFT), "where a < 1"),
        (Project(0, (KEPT,), LEFT), "keeps a"),
        (Project(0, (Named(5, "x", A, "long"), KEPT), LEFT), "x = a; keeps a"),
        (Project(0, (), LEFT), "no column"),
        (join(JoinKind.INNER), "inner on a = `c d`"),
        (join(JoinKind.LEFT_OUTER), "left outer on a = `c d`"),
        (join(JoinKind.RIGHT_OUTER), "right outer on a = `c d`"),
        (join(JoinKind.FULL_OUTER), "full outer on a = `c d`"),
        (join(JoinKind.LEFT_SEMI), "semi on a = `c d`"),
        (join(JoinKind.LEFT_ANTI), "anti on a = `c d`"),
        (
            join(JoinKind.EXISTENCE, Field(5, "exists", "boolean")),
            "existence on a = `c d`; adds exists",
        ),
        (Join(0, JoinKind.INNER, TRUE, LEFT, RIGHT), "cross, every pair of rows"),
        (Join(0, JoinKind.LEFT_OUTER, TRUE, LEFT, RIGHT), "left outer, every pair of rows"),
        (Union(0, LEFT.columns[:1], ((1,), (3,)), (LEFT, RIGHT)), "all rows of 2 inputs"),
        (Aggregate(0, (A,), (KEPT,), LEFT), "distinct a"),
        (Aggregate(0, (A,), (KEPT, Named(5, "s", SUM, "long")), LEFT), "group by a: s = sum(b)"),
        (
            Aggregate(0, (), (Named(5, "s", SUM, "long"),), LEFT),
            "all rows as one group: s = sum(b)",
        ),
        (
            Expand(0, ((A, B, ONE), (A, NULL, NULL)), (*LEFT.columns, Field(6, "g", "long")), LEFT),
            "each row 2 times, with b, g as (b, 1), (NULL, NULL)",
        ),
        (
            Generate(
                0, Call("explode", (A,), "long"), True, LEFT.columns, (Field(5, "e", "long"),), LEFT
            ),
            "each row with every row of explode(a) as e, rows without any too",
        ),
        (
            Window(
                0, (A,), (SortKey(B, False, False),), (Named(5, "r", RANK, "integer"),), LEFT
            ),
            "partition by a, order by b DESC: r = rank() OVER rows from the first to the row",
        ),
        (
            Window(0, (), (), (Named(5, "r", RANK, "integer"),), LEFT),
            "all rows as one partition: r = rank() OVER rows from the first to the row",
        ),
        (Sort(0, (SortKey(A, True, True), SortKey(B, False, False)), True, LEFT), "by a, b DESC"),
        (
            Sort(0, (SortKey(A, True, False), SortKey(B, False, True)), False, LEFT),
            "by a NULLS LAST, b DESC NULLS FIRST within partitions",
        ),
        (Limit(0, 3, LEFT), "at most 3 rows"),
        (Offset(0, 3, LEFT), "without the first 3 rows"),
        (Opaque(0, "MapGroups", "a function", (), (LEFT,)), "MapGroups: a function"),
    ],
)
def test_words(node: Plan, text: str) -> None:
    assert does(node, labels(node)) == text
