"""Operators that make several rows of one: `explode`, `inline`, `stack` and their like."""

from __future__ import annotations

from lineage_core.capture.node import Node
from lineage_core.execute.jvm import items
from lineage_core.plan.expr import Call, Unknown
from lineage_core.plan.functions import GENERATORS
from lineage_core.plan.relation import Generate, Plan, output

_NAMES = {"pos_explode": "posexplode"}


def read_generate(node: Node) -> Plan | None:
    """Read Catalyst's `Generate`."""
    generator = node.expression(node.tree["generator"], 0)
    if isinstance(generator, Unknown) and generator.deterministic:
        name = _NAMES.get(generator.name, generator.name)
        if name in GENERATORS:
            generator = Call(name, generator.args, generator.type)
    unread = set(items(node.java.unrequiredChildIndex()))
    kept = tuple(f for i, f in enumerate(output(node.children[0])) if i not in unread)
    made = node.made(node.tree["generatorOutput"])
    return Generate(node.at, generator, bool(node.tree["outer"]), kept, made, node.children[0])
