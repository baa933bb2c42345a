"""Long texts and whole trees cross the gateway as they are, in few calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from py4j.clientserver import ClientServerConnection
from pyspark.sql import SparkSession

from lineage_core.execute.jvm import items, java_class, preorder, text


@pytest.mark.parametrize("length", [0, 1, 100_000])
def test_texts_of_any_length(spark: SparkSession, length: int) -> None:
    said = 'é "\\\n\t😀'[:length] + "x" * max(0, length - 8)
    java = java_class(spark, "java.lang.StringBuilder")(said)
    assert text(spark, java, "toString") == said


def test_a_plan_as_json(spark: SparkSession) -> None:
    plan = spark.range(5).selectExpr(*(f"id + {i} c{i}" for i in range(200)))
    java = plan._jdf.queryExecution().analyzed()
    said = text(spark, java, "toJSON")
    assert said == java.toJSON()
    assert len(said) > 8 << 10


def test_a_tree_is_listed_as_its_json_is(spark: SparkSession) -> None:
    frame = spark.range(5).filter("id > 1")
    for _ in range(100):
        frame = frame.union(spark.range(3)).filter("id < 9")
    java = frame._jdf.queryExecution().analyzed()
    names = [node.getClass().getName() for node in preorder(spark, java)]
    assert names == [node["class"] for node in json.loads(java.toJSON())]
    assert names == [node.getClass().getName() for node in _walked(java)]


def _walked(plan: Any) -> list[Any]:
    found, stack = [], [plan]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(reversed(items(node.children())))
    return found


def test_reading_a_tree_takes_as_many_calls_however_big_it_is(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    send = ClientServerConnection.send_command

    def counted(self: ClientServerConnection, command: str) -> object:
        if not command.startswith("m\n"):  # forgetting objects takes its own time
            sent.append(command)
        return send(self, command)

    frame = spark.range(5).filter("id > 1")
    small = frame._jdf.queryExecution().analyzed()
    big = frame.union(frame).union(frame)._jdf.queryExecution().analyzed()
    monkeypatch.setattr(ClientServerConnection, "send_command", counted)
    calls = []
    for plan in (small, small, big):
        sent.clear()
        preorder(spark, plan)
        text(spark, plan, "toJSON")
        calls.append(len(sent))
    assert 0 < calls[1] == calls[2]
