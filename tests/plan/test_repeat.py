"""Which plans give the same rows when they are computed again, and which can be computed at all."""

from __future__ import annotations

import pytest

from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Call,
    Column,
    Expr,
    Frame,
    FrameUnit,
    IsNull,
    Literal,
    Unknown,
    WindowCall,
)
from lineage_core.plan.relation import (
    Aggregate,
    Expand,
    Field,
    Filter,
    Generate,
    Limit,
    Named,
    Offset,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    Values,
    Window,
    rid_field,
)
from lineage_core.plan.repeat import uncomputable, unrepeatable

K, S, X = Column(0, "integer"), Column(1, "string"), Column(2, "double")
FIELDS = (Field(0, "k", "integer"), Field(1, "s", "string"), Field(2, "x", "double"))
BARE = Scan(0, 0, "t", FIELDS)
SCAN = Scan(0, 0, "t", (*FIELDS, rid_field(BARE)))
RID = Column(rid_field(BARE).id, "long")
ONE = Literal(1, "integer")
SO_FAR = Frame(FrameUnit.ROWS, None, Literal(0, "integer"))
PEERS = Frame(FrameUnit.RANGE, None, Literal(0, "integer"))
WHOLE = Frame(FrameUnit.ROWS, None, None)


def by(*exprs: Expr) -> tuple[SortKey, ...]:
    return tuple(SortKey(expr, True, True) for expr in exprs)


def total(name: str, arg: Expr, type: str = "long") -> Plan:
    call = AggregateCall(name, (arg,), type, False, None)
    return Aggregate(5, (K,), (Named(9, "v", call, type),), SCAN)


def window(name: str, frame: Frame, *order: Expr, args: tuple[Expr, ...] = (K,)) -> Plan:
    call = WindowCall(name, args, "long", frame)
    return Window(5, (S,), by(*order), (Named(9, "v", call, "long"),), SCAN)


def column(type: str) -> Column:
    return Column(0, type)


SURE: dict[str, Plan] = {
    "count": total("count", X),
    "max of floats": total("max", X),
    "sum of integers": total("sum", K),
    "sum of decimals": total("sum", column("decimal(10,2)")),
    "avg of many digits": total("avg", column("decimal(12,2)")),
    "avg of shorts": total("avg", column("short")),
    "rank with ties": window("rank", SO_FAR, K),
    "row number by a key": window("row_number", SO_FAR, K, RID),
    "peers": window("sum", PEERS, K),
    "partition": window("sum", WHOLE),
    "first rows by a key": Limit(6, 3, Sort(5, by(K, RID), True, SCAN)),
    "first rows of equal rows": Limit(6, 3, Sort(5, by(K, S, X), True, BARE)),
    "no row but one": Limit(6, 3, Aggregate(5, (), (), SCAN)),
    "beyond": Offset(7, 2, Limit(6, 3, Sort(5, by(RID), True, SCAN))),
    "projected": Limit(
        6, 3, Project(5, (Named(9, "k", K, "integer"),), Sort(4, by(RID), True, SCAN))
    ),
    "function of unknown code": Filter(5, Unknown("udf", (K,), "boolean", True), SCAN),
}

UNSURE: dict[str, Plan] = {
    "random": Filter(5, Unknown("rand", (), "boolean", False), SCAN),
    "random key": Sort(5, by(Unknown("rand", (), "double", False)), True, SCAN),
    "random rows": Expand(5, ((Unknown("rand", (), "double", False),),), (FIELDS[2],), SCAN),
    "random list": Generate(5, Unknown("shuffle", (), "array", False), False, (), (), SCAN),
    "sum of floats": total("sum", X),
    "sum of floats within": Project(
        6, (Named(8, "v", Call("abs", (Column(9, "long"),), "long"), "long"),), total("sum", X)
    ),
    "avg of longs": total("avg", column("long")),
    "avg of few digits": total("avg", column("decimal(11,2)")),
    "first": total("first", K),
    "list": total("collect_list", K),
    "row number": window("row_number", SO_FAR, K),
    "lag": window("lag", SO_FAR, K),
    "rows so far": window("sum", SO_FAR, K),
    "floats of peers": window("sum", PEERS, K, args=(X,)),
    "first of a partition": window("first", WHOLE),
    "any rows": Limit(5, 3, SCAN),
    "ties": Limit(6, 3, Sort(5, by(K), True, SCAN)),
    "sorted apart": Limit(6, 3, Sort(5, by(RID), False, SCAN)),
    "all but any": Offset(6, 3, Sort(5, by(K), True, SCAN)),
    "below": Filter(9, IsNull(K), Limit(5, 3, SCAN)),
    "each partition": Opaque(5, "LocalLimit", "", FIELDS, (SCAN,)),
}


@pytest.mark.parametrize("name", SURE)
def test_the_same_rows_again(name: str) -> None:
    assert unrepeatable(SURE[name]) == ""


@pytest.mark.parametrize("name", UNSURE)
def test_perhaps_other_rows(name: str) -> None:
    assert "operator" in unrepeatable(UNSURE[name])


ARRAY = Column(3, '{"type":"array"}')

UNTOLD: dict[str, tuple[Plan, str]] = {
    "opaque": (Opaque(5, "MapGroups", "it runs code", (), (SCAN,)), "it runs code"),
    "literals": (Values(5, FIELDS), "not recorded"),
    "code": (Filter(5, Unknown("udf", (K,), "boolean", True), SCAN), "udf"),
    "code in an aggregate": (total("max", Unknown("udf", (K,), "long", True)), "udf"),
    "aggregate": (total("collect_list", K), "collect_list"),
    "window": (window("ewm", WHOLE), "ewm"),
    "window over code": (window("max", WHOLE, args=(Unknown("udf", (), "long", True),)), "udf"),
    "nested key": (Aggregate(5, (ARRAY,), (), SCAN), "array"),
    "nested order": (Sort(5, by(ARRAY), True, SCAN), "array"),
    "generator": (Generate(5, Unknown("udtf", (), "", True), False, (), (), SCAN), "Generate"),
}

TOLD: dict[str, Plan] = {
    **{name: plan for name, plan in SURE.items() if "code" not in name},
    "handed on": Project(5, (Named(3, "a", ARRAY, ARRAY.type),), SCAN),
    "nested null": Project(5, (Named(3, "a", Literal(None, ARRAY.type), ARRAY.type),), SCAN),
    "null or not": Filter(5, IsNull(ARRAY), SCAN),
    "explode": Generate(5, Call("explode", (ARRAY,), "struct"), False, (), (), SCAN),
    "sum plus one": Aggregate(
        5,
        (K,),
        (
            Named(
                9,
                "v",
                Call("add", (AggregateCall("sum", (K,), "long", False, TRUE), ONE), "long"),
                "long",
            ),
        ),
        SCAN,
    ),
}


@pytest.mark.parametrize("name", UNTOLD)
def test_what_the_ir_does_not_tell(name: str) -> None:
    plan, why = UNTOLD[name]
    assert why in uncomputable(plan)


@pytest.mark.parametrize("name", TOLD)
def test_what_the_ir_tells(name: str) -> None:
    assert uncomputable(TOLD[name]) == ""
