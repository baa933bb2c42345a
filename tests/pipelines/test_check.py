"""The check notices wrong programs; operators without IR form are supersets that say so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import lineage_core as lc
from lineage_core.infer import infer
from lineage_core.plan.expr import FALSE, TRUE, Expr, IsNull, Literal, negate
from lineage_core.plan.program import LineageProgram, StepKind
from lineage_core.plan.relation import Filter, Opaque, Plan, Scan, output
from tests.pipelines.check import Question
from tests.pipelines.generator import Generator
from tests.pipelines.interpreter import Interpreter
from tests.pipelines.lake import Lake
from tests.pipelines.pipeline import Pipeline


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    store = lc.open_store(str(tmp_path / "store"))
    yield Lake(tmp_path / "lake", store)
    store.catalog.close()


def filtered() -> Pipeline:
    """Return a pipeline that keeps some rows of one table, and not others."""
    for seed in range(100):
        generator = Generator(random.Random(seed))
        fields = generator.tables[0].columns
        scan = generator.scan()
        if not isinstance(scan, Scan) or scan.source or len(output(scan)) < len(fields):
            continue
        key = next(c for c in generator.columns(scan) if c.type == "long")
        plan = Filter(generator.place(), negate(IsNull(key)), scan)
        interpreter = Interpreter(generator.tables, {})
        rows = interpreter.run(plan)
        if 0 < len(rows) < len(generator.tables[0].rows):
            made = interpreter.rows
            return Pipeline(seed, plan, generator.tables, {}, rows, made, interpreter.tied)
    raise AssertionError("no seed has such a table")


def asked(pipeline: Pipeline, lake: Lake, program: LineageProgram) -> None:
    written = lake.write(pipeline)
    Question(pipeline, lake, written, lake.commit(pipeline, written, program)).check()


def broken(plan: Plan, predicate: Expr, *why: str) -> LineageProgram:
    """Return the program of a plan with another predicate on its source."""
    target, source = infer(plan).steps
    return LineageProgram((target, replace(source, predicate=predicate, superset=why)))


def test_a_right_program_passes(lake: Lake) -> None:
    made = filtered()
    asked(made, lake, infer(made.plan))


def test_rows_that_are_missing_are_noticed_even_in_a_superset(lake: Lake) -> None:
    made = filtered()
    with pytest.raises(AssertionError, match="missing"):
        asked(made, lake, broken(made.plan, FALSE, "it says so"))


def test_rows_too_many_are_noticed_in_an_exact_answer(lake: Lake) -> None:
    made = filtered()
    with pytest.raises(AssertionError, match="said to be exact"):
        asked(made, lake, broken(made.plan, TRUE))


def test_rows_too_many_are_no_error_in_a_superset(lake: Lake) -> None:
    made = filtered()
    asked(made, lake, broken(made.plan, TRUE, "it says so"))


@pytest.mark.parametrize("ways", [(StepKind.SAVED,), (StepKind.COMPUTED,), ()])
def test_an_opaque_operator_is_named_and_covers_everything_below(ways: tuple[StepKind]) -> None:
    generator = Generator(random.Random(1))
    left, right = (Scan(at, 0, "t0", (generator.field("long"),)) for at in (1, 2))
    kept = negate(IsNull(generator.columns(left)[0]))
    below = Filter(3, kept, left)
    opaque = Opaque(77, "Mystery", "it has no IR form", output(left), (below, right))
    program = infer(opaque, ways=ways)
    sources = [step for step in program.steps if step.kind is StepKind.SOURCE]
    assert [step.at for step in sources] == [1, 2] and len(program.steps) == 3
    for step in sources:
        assert step.superset == ("Mystery (operator 77): it has no IR form",)
    assert [step.predicate for step in sources] == [kept, Literal(True, "boolean")]
