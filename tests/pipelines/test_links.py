"""Links mean what they say: held against the interpreter's lineage, row by row, no engine asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from lineage_core.infer import Link, link
from lineage_core.plan.expr import TRUE, Column, Compare, Comparison, conjuncts
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import Join, Plan, Scan, Union, output
from lineage_core.plan.traverse import nodes
from tests.pipelines.interpreter import Row
from tests.pipelines.pipeline import Pipeline, pipeline
from tests.pipelines.values import Values, holds


def links(plan: Plan) -> tuple[LineageProgram, tuple[Link, ...]]:
    steps = [Step(StepKind.TARGET, -1, TRUE, output(plan), plan.at, "out")]
    scans = [node for node in nodes(plan) if isinstance(node, Scan)]
    steps += [Step(StepKind.SOURCE, 0, TRUE, (), s.at, s.name, s.source) for s in scans]
    return link(plan, LineageProgram(tuple(steps)))


class Sources:
    """The values of source rows, by step and rid: of the columns that the step offers."""

    def __init__(self, made: Pipeline, program: LineageProgram) -> None:
        self.rows: dict[int, Mapping[int, Values]] = {}
        for number in program.sources:
            step = program.steps[number]
            table = made.tables[step.source]
            names = [name for name, _ in table.columns]
            places = {f.id: names.index(f.name) for f in step.columns}
            self.rows[number] = {
                rid: {id: values[place] for id, place in places.items()}
                for rid, values in table.rows.items()
            }

    def partners(self, found: Link, rid: int) -> set[int]:
        mine = self.rows[found.step][rid]
        others = self.rows[found.other].items()
        return {other for other, row in others if holds(found.condition, {**mine, **row})}


def _check(found: Link, row: Row, sources: Sources, program: LineageProgram) -> int:
    at, other = program.steps[found.step].at, program.steps[found.other].at
    lineage = row.lineage.get(at, frozenset())
    for rid in lineage:
        partners = sources.partners(found, rid)
        if found.excludes:
            assert not partners, f"{found}: {rid} has {partners}"
        else:
            made = row.lineage.get(other, frozenset())
            assert partners & made, f"{found}: {rid} has {partners}, none of {made}"
    return len(lineage)


def test_every_lineage_row_satisfies_every_link() -> None:
    checked: Counter[str] = Counter()
    for seed in range(2500):
        made = pipeline(seed)
        program, all_links = links(made.plan)
        sources = Sources(made, program)
        kinds = {node.kind.value for node in nodes(made.plan) if isinstance(node, Join)}
        kinds |= {"union"} if any(isinstance(n, Union) for n in nodes(made.plan)) else set()
        for found in all_links:
            try:
                rows = sum(_check(found, row, sources, program) for row in made.rows)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{made}") from None
            names = {"excludes"} if found.excludes else {_shape(found), *kinds}
            checked.update({name: rows for name in names})
    few = {name: count for name, count in checked.items() if count < 100}
    assert not few, "it would prove little"
    assert {"columns", "more", "excludes", "union", "inner", "left_outer", "right_outer",
            "full_outer", "left_semi", "left_anti", "existence"} <= checked.keys()  # fmt: skip


def _shape(found: Link) -> str:
    plain = all(
        isinstance(part, Compare)
        and part.op is Comparison.EQ
        and isinstance(part.left, Column)
        and isinstance(part.right, Column)
        for part in conjuncts(found.condition)
    )
    return "columns" if plain else "more"
