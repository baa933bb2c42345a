"""A random pipeline with everything the oracle knows about it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

from lineage_core.plan.prune import prune
from lineage_core.plan.relation import Plan, Scan, Window, children, output
from lineage_core.plan.traverse import nodes
from tests.pipelines.generator import Generator
from tests.pipelines.interpreter import Interpreter, Lineage, Row, Table, TooBigError, merged
from tests.pipelines.values import Value, Values, canonical


@dataclass(frozen=True)
class Pipeline:
    """A plan, its sources, and what the interpreter made of them.

    Attributes:
        rows: the output rows, in the order in which they are written.
        made: the rows of every operator, by place.
        tied: whether chance decided which rows these are: then several answers may be right.
    """

    seed: int
    plan: Plan
    tables: Sequence[Table]
    literals: Mapping[int, Sequence[Values]]
    rows: Sequence[Row]
    made: Mapping[int, Sequence[Row]]
    tied: bool

    @property
    def scans(self) -> list[Scan]:
        return [node for node in nodes(self.plan) if isinstance(node, Scan)]

    @cached_property
    def lineage(self) -> list[Lineage]:
        """Return for each output row what it and the rows equal to it were made from."""
        alike: dict[tuple[Value, ...], list[Row]] = {}
        for row in self.rows:
            alike.setdefault(self.key(row), []).append(row)
        whole = {key: merged(rows) for key, rows in alike.items()}
        return [whole[self.key(row)] for row in self.rows]

    def key(self, row: Row) -> tuple[Value, ...]:
        """Return what two output rows share exactly if all their columns are the same."""
        return tuple(canonical(row.values[f.id]) for f in output(self.plan))

    def again(self, only: Lineage) -> set[tuple[Value, ...]]:
        """Return the keys of what the plan makes of its scans cut down to the rids in `only`."""
        rows = Interpreter(self.tables, self.literals, self.seed, only).run(self.plan)
        return {self.key(row) for row in rows}

    def __str__(self) -> str:
        lines = [f"pipeline {self.seed}{', tied' if self.tied else ''}", *_lines(self.plan)]
        for table in self.tables:
            lines.append(f"{table.name} ({', '.join(f'{n} {t}' for n, t in table.columns)})")
            lines += [f"  {rid}: {row}" for rid, row in table.rows.items()]
        lines += [f"Values {at}: {list(rows)}" for at, rows in self.literals.items()]
        ids = [f.id for f in output(self.plan)]
        lines.append(f"output ({', '.join(map(str, ids))})")
        for number, row in enumerate(self.rows):
            made = {at: sorted(rids) for at, rids in sorted(row.lineage.items())}
            lines.append(f"  {number}: {tuple(row.values[id] for id in ids)} from {made}")
        return "\n".join(lines)


def pipeline(seed: int) -> Pipeline:
    """Return the pipeline of a seed; of every eight, one may have orders with ties."""
    for attempt in range(100):
        choice = random.Random(f"{seed}.{attempt}")
        generator = Generator(choice, ties=seed % 8 == 7)
        plan = _used(generator.pipeline(choice.choice([1, 2, 3, 4, 5, 6, 8, 10])))
        interpreter = Interpreter(generator.tables, generator.literals, seed)
        try:
            rows = interpreter.run(plan)
        except TooBigError:
            continue
        if rows or choice.random() < 0.1:
            return Pipeline(
                seed,
                plan,
                generator.tables,
                generator.literals,
                rows,
                interpreter.rows,
                interpreter.tied,
            )
    raise AssertionError(f"no attempt at pipeline {seed} has rows")


def _used(plan: Plan) -> Plan:
    """Return `plan` without the window functions, or without any columns, that nobody asks for."""
    pruned = prune(plan, {f.id for f in output(plan)})
    return plan if _window_columns(plan) == _window_columns(pruned) else pruned


def _window_columns(plan: Plan) -> set[int]:
    return {c.id for node in nodes(plan) if isinstance(node, Window) for c in node.columns}


def _lines(plan: Plan) -> list[str]:
    """Return the operators of a plan, a line each, inputs indented below their operator."""
    lines = []
    stack = [(plan, 1)]
    while stack:
        node, depth = stack.pop()
        inputs = children(node)
        facts = (
            f"{f.name}={getattr(node, f.name)}"
            for f in fields(node)
            if f.name not in ("at", "child", "left", "right", "inputs")
        )
        lines.append(f"{'  ' * depth}{type(node).__name__} {node.at}: {', '.join(facts)}")
        stack += [(child, depth + 1) for child in reversed(inputs)]
    return lines
