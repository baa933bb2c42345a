"""The wire format: everything it writes it reads back, and it reads nothing else."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage_core import codec
from lineage_core.errors import CorruptError
from lineage_core.plan.expr import (
    Anchor,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    Literal,
    Not,
)
from lineage_core.plan.relation import Field, Filter, Join, JoinKind, Opaque, Plan, Scan, Values
from lineage_core.store.manifest import RunRecord, Timing

LEAVES = (Column, Anchor, Literal, Scan, Values)
NESTING = tuple(set(typing.get_args(Expr) + typing.get_args(Plan)) - set(LEAVES))
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=8),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(),
    bool: st.booleans(),
    types.NoneType: st.none(),
}


@cache
def values(hint: Any, depth: int) -> st.SearchStrategy[Any]:
    """Return a strategy for all values of a type hint with at most `depth` nested nodes."""
    arguments = typing.get_args(hint)
    if hint in SCALARS:
        return SCALARS[hint]
    if typing.get_origin(hint) is tuple and arguments[-1] is Ellipsis:
        return st.lists(values(arguments[0], depth), max_size=2).map(tuple)
    if typing.get_origin(hint) is tuple:
        return st.tuples(*(values(argument, depth) for argument in arguments))
    if arguments:
        kinds = [kind for kind in arguments if depth > 0 or kind not in NESTING]
        return st.one_of([values(kind, depth) for kind in kinds])
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    below = depth - 1 if hint in NESTING else depth
    hints = typing.get_type_hints(hint)
    return st.builds(hint, **{f.name: values(hints[f.name], below) for f in fields(hint)})


def deep(wrap: Callable[[Any], Any], leaf: Any, depth: int) -> Any:
    for _ in range(depth):
        leaf = wrap(leaf)
    return leaf


SCAN = Scan(0, 0, "orders", (Field(1, "k", "long"),))
COLUMN = Column(1, "long")
DEEP: dict[str, tuple[type, Callable[[Any], Any], Any]] = {
    "filter": (Filter, lambda plan: Filter(1, COLUMN, plan), SCAN),
    "join": (Join, lambda plan: Join(1, JoinKind.INNER, COLUMN, SCAN, plan), SCAN),
    "opaque": (Opaque, lambda plan: Opaque(1, "x", "y", (), (SCAN, plan)), SCAN),
    "not": (Not, Not, COLUMN),
    "call": (Call, lambda expr: Call("add", (COLUMN, expr), "long"), COLUMN),
}


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=150)
@given(st.one_of([values(kind, 3) for kind in NESTING + LEAVES] + [values(RunRecord, 2)]))
def test_every_value_reads_back(value: Any) -> None:
    text = codec.dumps(value)
    back = codec.loads(text, type(value))
    assert repr(back) == repr(value)  # unlike ==, tells 1 from True, and NaN is itself
    assert codec.dumps(back) == text
    assert codec.loads(text.encode(), type(value)) is not None
    assert text.isascii()


def test_the_strategy_reaches_every_class_of_both_unions() -> None:
    assert all(is_dataclass(kind) for kind in NESTING + LEAVES)
    assert len(NESTING) + len(LEAVES) == len(typing.get_args(Expr)) + len(typing.get_args(Plan))


@pytest.mark.parametrize("name", DEEP)
def test_depth_is_no_limit(name: str) -> None:
    kind, wrap, leaf = DEEP[name]
    text = codec.dumps(deep(wrap, leaf, 5000))
    assert codec.dumps(codec.loads(text, kind)) == text
    assert text != codec.dumps(deep(wrap, leaf, 4999))
    json.loads(text)  # any JSON reader can read it: its nesting is bounded


def test_a_shared_part_is_written_once_and_shared_again() -> None:
    value = deep(lambda expr: Call("add", (expr, expr), "long"), COLUMN, 200)  # 2^200 as a tree
    text = codec.dumps(value)
    assert len(text) < 200 * 100
    back = codec.loads(text, Call)
    assert back.args[0] is back.args[1]


def test_sharing_does_not_change_the_text() -> None:
    shared = Not(COLUMN)
    apart = Call("add", (Not(Column(1, "long")), Not(Column(1, "long"))), "long")
    assert codec.dumps(Call("add", (shared, shared), "long")) == codec.dumps(apart)


def test_equal_numbers_have_one_text_where_a_type_makes_them_equal() -> None:
    assert codec.dumps(Timing("save", 1)) == codec.dumps(Timing("save", 1.0))


def test_literals_of_different_kinds_are_different() -> None:
    alike = [Literal(value, "x") for value in (1, 1.0, True, "1", None, "None", 0, 0.0, -0.0)]
    assert len({codec.digest(literal) for literal in alike}) == len(alike)


def test_an_integer_no_engine_has_is_not_written() -> None:
    with pytest.raises(TypeError):
        codec.dumps(Literal(2**63, "long"))


@pytest.mark.parametrize("value", [{"a": 1}, [1], b"x", object(), Literal])
def test_what_is_no_data_is_not_written(value: object) -> None:
    with pytest.raises(TypeError):
        codec.dumps(value)


def node(**changes: Any) -> str:
    """Return the text of a `Not` in which some fields of its only node are changed."""
    return json.dumps({"nodes": [{"$": "Not", "arg": COLUMN_TREE} | changes], "value": 0})


COLUMN_TREE = {"$": "Column", "id": 1, "type": "long"}

HOSTILE: dict[str, str | bytes] = {
    "empty": "",
    "no JSON": "{",
    "not UTF-8": b"\xff\xfe\xfd",
    "a list": "[]",
    "null": "null",
    "no nodes": '{"value":0}',
    "more keys": '{"nodes":[],"value":0,"x":1}',
    "nodes no list": '{"nodes":{},"value":0}',
    "node no object": '{"nodes":[1],"value":0}',
    "class no string": node(**{"$": ["Not"]}),
    "class unhashable": node(**{"$": {}}),
    "class unknown": node(**{"$": "Popen"}),
    "class of the module": node(**{"$": "CorruptError"}),
    "class without nesting": json.dumps({"nodes": [COLUMN_TREE], "value": 0}),
    "another class than asked": json.dumps({"nodes": [], "value": COLUMN_TREE}),
    "field missing": '{"nodes":[{"$":"Not"}],"value":0}',
    "field added": node(extra=1),
    "field twice": '{"nodes":[{"$":"Not","arg":1,"arg":0}],"value":0}',
    "itself": node(arg=0),
    "a later node": node(arg=7),
    "a node before the first": node(arg=-1),
    "a boolean for a node": node(arg=False),
    "a float for a node": node(arg=0.0),
    "value no node": '{"nodes":[],"value":0}',
    "value negative": json.dumps({"nodes": [{"$": "Not", "arg": COLUMN_TREE}], "value": -1}),
    "id a float": node(arg=COLUMN_TREE | {"id": 1.0}),
    "id a boolean": node(arg=COLUMN_TREE | {"id": True}),
    "id a text": node(arg=COLUMN_TREE | {"id": "1"}),
    "id of 64 bits and one": node(arg=COLUMN_TREE | {"id": 2**63}),
    "id of 5000 digits": node().replace('"id": 1', '"id": 1' + "0" * 5000),
    "type null": node(arg=COLUMN_TREE | {"type": None}),
    "NaN": node().replace('"id": 1', '"id": NaN'),
    "infinity": node().replace('"id": 1', '"id": -Infinity'),
    "1e999": node().replace('"id": 1', '"id": 1e999'),
    "float of no name": node(
        arg={"$": "Literal", "type": "x", "value": {"$": "float", "value": "Nan"}}
    ),
    "float of a list": node(
        arg={"$": "Literal", "type": "x", "value": {"$": "float", "value": []}}
    ),
    "float of nothing": node(arg={"$": "Literal", "type": "x", "value": {"$": "float"}}),
    "deep list": "[" * 100_000,
    "deep object": '{"nodes":' * 100_000,
    "deep inside": node().replace('"type": "long"', '"type": ' + "[" * 5000 + "]" * 5000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_corrupt(name: str) -> None:
    with pytest.raises(CorruptError):
        codec.loads(HOSTILE[name], Not)


def test_the_hostile_texts_differ_from_a_good_one() -> None:
    assert codec.loads(node(), Not) == Not(COLUMN)


def test_an_enumeration_has_only_its_values() -> None:
    text = codec.dumps(Compare(Comparison.EQ, COLUMN, COLUMN))
    for wrong in ('"=="', "[]", "null", "{}"):
        with pytest.raises(CorruptError):
            codec.loads(text.replace('"="', wrong), Compare)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(values(Filter, 2), st.data())
def test_a_manipulated_text_is_corrupt_or_another_value(value: Any, data: st.DataObject) -> None:
    tree = json.loads(codec.dumps(value))
    spots = [(tree, key) for key in tree]
    for box, key in spots:
        inner = box[key]
        spots += [(inner, k) for k in (inner if isinstance(inner, dict) else ())]
        spots += [(inner, i) for i in range(len(inner) if isinstance(inner, list) else 0)]
    box, key = data.draw(st.sampled_from(spots))
    box[key] = data.draw(JSON)
    try:
        changed = codec.loads(json.dumps(tree), Filter)
    except CorruptError:
        return
    assert codec.loads(codec.dumps(changed), Filter) is not None
    assert isinstance(changed, Filter)
