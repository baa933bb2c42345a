"""Rows of windows are numbered, and what numbers them is not cut down."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lineage_core.plan.expr import (
    TRUE,
    Anchor,
    Column,
    Expr,
    Frame,
    FrameUnit,
    Literal,
    WindowCall,
    conj,
    same,
)
from lineage_core.plan.positions import (
    counting,
    numbered,
    numberings,
    over_partitions,
    tells_apart,
)
from lineage_core.plan.relation import (
    Aggregate,
    Field,
    Filter,
    Named,
    Plan,
    Scan,
    SortKey,
    Window,
    output,
)
from lineage_core.plan.traverse import nodes
from lineage_core.plan.unique import keys
from lineage_core.pushdown import Claim, Obligation, Proved, Refuted, reduce
from lineage_core.verify import prove

G, T, V = (Field(i, name, "long") for i, name in enumerate("gtv", start=1))
SCAN = Scan(1, 0, "t", (G, T, V))


def column(field: Field) -> Column:
    return Column(field.id, field.type)


def frame(unit: FrameUnit, lower: int | None, upper: int | None) -> Frame:
    bounds = (None if bound is None else Literal(bound, "integer") for bound in (lower, upper))
    return Frame(unit, *bounds)


def window(*calls: WindowCall, child: Plan = SCAN, order: tuple[Field, ...] = (T,)) -> Window:
    sorting = tuple(SortKey(column(field), True, True) for field in order)
    made = tuple(Named(10 + i, f"w{i}", call, call.type) for i, call in enumerate(calls))
    return Window(0, (column(G),), sorting, made, child)


def over(name: str, unit: FrameUnit, lower: int | None, upper: int | None) -> WindowCall:
    return WindowCall(name, (column(V),), "long", frame(unit, lower, upper))


LAST_TWO = over("sum", FrameUnit.ROWS, -1, 0)
RANK = WindowCall("row_number", (), "integer", frame(FrameUnit.ROWS, None, 0))


@pytest.mark.parametrize(
    ("plan", "counts"),
    [
        (window(LAST_TWO), True),
        (window(over("lag", FrameUnit.ROWS, -1, -1)), True),
        (window(LAST_TWO, RANK), True),
        (window(LAST_TWO, over("sum", FrameUnit.RANGE, None, 0)), True),
        (window(RANK), False),
        (window(over("sum", FrameUnit.ROWS, None, None)), False),
        (window(over("sum", FrameUnit.RANGE, None, 0)), False),
        (window(LAST_TWO, over("sum", FrameUnit.RANGE, -5, 0)), False),
        (window(LAST_TWO, order=()), False),
    ],
)
def test_which_windows_count_rows(plan: Window, counts: bool) -> None:
    assert counting(plan) == ({0} if counts else set())


def test_a_numbered_plan_offers_the_same_columns() -> None:
    plan = Filter(7, same(column(G), Literal(1, "long")), window(LAST_TWO, RANK))
    made = numbered(plan, {0})
    assert output(made) == output(plan)
    assert numberings(made) == {8}, "a place after all others"
    (outer,) = (n for n in nodes(made) if isinstance(n, Window) and n.at == 0)
    summed, ranked = (c.expr for c in outer.columns)
    assert isinstance(summed, WindowCall) and summed.frame == frame(FrameUnit.RANGE, -1, 0)
    assert ranked == RANK
    number = outer.order[0].expr
    assert isinstance(number, Column)
    assert frozenset((G.id, number.id)) in keys(outer.child)
    assert numbered(plan, ()) is plan


def test_only_a_key_tells_rows_apart() -> None:
    """Rows that are equal in every column tie as well: one may be in a frame, the other not."""
    assert not tells_apart(window(LAST_TWO, order=(T, V)), 0)
    groups = Aggregate(2, (column(G), column(T)), (*map(named, (G, T)),), SCAN)
    assert tells_apart(window(LAST_TWO, child=groups), 0)


def named(field: Field) -> Named:
    return Named(field.id, field.name, column(field), field.type)


def numbering() -> Window:
    (found,) = (n for n in nodes(numbered(window(LAST_TWO), {0})) if n.at in {2})
    assert isinstance(found, Window)
    return found


def anchored(*fields: Field) -> Expr:
    return conj(same(column(f), Anchor(f.id, f.type)) for f in fields)


def test_what_numbers_rows_is_cut_down_to_partitions_at_most() -> None:
    made = numbering()
    number = made.columns[0]
    wanted = conj(
        [anchored(G, T), same(Column(number.id, number.type), Anchor(number.id, number.type))]
    )
    assert reduce(made, wanted, prove) == (anchored(G),)
    assert reduce(made, anchored(T), prove) == (TRUE,)


def test_numbers_are_of_whole_partitions() -> None:
    """The twin: were a number made from its row alone, that row would be proven to be enough."""
    made, wanted = numbering(), anchored(G, T)
    for operator, verdict in ((made, Proved), (over_partitions(made), Refuted)):
        claim = Obligation(operator, wanted, (wanted,), 0, Claim.REDUCES, premise=False)
        assert isinstance(prove(claim), verdict)
    assert over_partitions(SCAN) is SCAN
    other = replace(made, columns=(Named(10, "w", LAST_TWO, "long"),))
    assert over_partitions(other) is other
