"""Answers of a store held against the oracle: pairs of a whole output, and single rows both ways.

An answer that is exact must be the oracle's; a superset must contain it. Nothing may ever be
missing. Where chance decided what the output is (a limit between peers), several answers are right,
and only that nothing of the run's own lineage is missing can be asked for.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from lineage_core.errors import UnsupportedError
from lineage_core.infer import infer
from lineage_core.plan.program import LineageProgram, StepKind
from lineage_core.plan.relation import Join, Plan, children
from lineage_core.query.answer import Answer, Precision, SourceAnswer
from tests.pipelines.lake import Lake, Written
from tests.pipelines.pipeline import Pipeline

Pairs: TypeAlias = set[tuple[int, int]]

_OWN_FAULT = "cannot answer this"
"""What a refusal says that names no operator or function: the engine was asked nonsense."""


def programs(plan: Plan) -> Mapping[str, LineageProgram]:
    """Return the programs of a plan, by the way in which it has intermediates."""
    ways = {
        "saved": (StepKind.SAVED,),
        "computed": (StepKind.COMPUTED,),
        "either": (StepKind.COMPUTED, StepKind.SAVED),
        "neither": (),
    }
    return {mode: infer(plan, ways=kinds) for mode, kinds in ways.items()}


@dataclass
class Tally:
    """How many answers about a scan below an operator there were, and how many were exact.

    The keys are a mode and the name of an operator. `kinds` counts the steps of programs,
    `refused` what the engine refused to compute.
    """

    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    exact: Counter[tuple[str, str]] = field(default_factory=Counter)
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, mode: str, plan: Plan, program: LineageProgram) -> None:
        """Count what a program says about the sources of `plan`."""
        above = _above(plan)
        for step in program.steps:
            self.kinds[mode, step.kind] += 1
            if step.kind is not StepKind.SOURCE:
                continue
            for name in above[step.at] | {"all"}:
                self.asked[mode, name] += 1
                self.exact[mode, name] += not step.superset
            self.reasons.update(why.partition(" (")[0] for why in step.superset)


def check(pipeline: Pipeline, lake: Lake, tally: Tally) -> None:
    """Ask about every row of a pipeline, backward and forward, with every program it has.

    Raises:
        AssertionError: an answer is wrong; the message shows the pipeline.
    """
    written = lake.write(pipeline)
    for mode, program in programs(pipeline.plan).items():
        tally.add(mode, pipeline.plan, program)
        run = lake.commit(pipeline, written, program)
        try:
            Question(pipeline, lake, written, run).check()
        except UnsupportedError as error:
            if _OWN_FAULT in error.what:
                raise AssertionError(f"{mode}: {error.__cause__}\n{pipeline}") from error
            tally.refused[mode, error.what.partition(" (operator")[0]] += 1
        except Exception as error:
            raise AssertionError(f"{mode}: {error}\n{pipeline}\n{_shown(program)}") from error


@dataclass
class Question:
    """One captured run of a pipeline, to be asked about its rows."""

    pipeline: Pipeline
    lake: Lake
    written: Written
    run: str
    truth: dict[str, Pairs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for scan in self.pipeline.scans:
            dataset = self.written.sources[scan.source].dataset
            self.truth.setdefault(dataset, set()).update(self.occurrence(scan.at))

    def occurrence(self, at: int) -> Pairs:
        """Return the true pairs of one scan."""
        lineage = self.pipeline.lineage()
        return {(out, rid) for out, made in enumerate(lineage) for rid in made.get(at, ())}

    def check(self) -> None:
        """Compare the answers with the oracle's."""
        answer = self.backward()
        found = {source.dataset: source for source in answer.sources}
        missing = {dataset for dataset, pairs in self.truth.items() if pairs} - found.keys()
        assert not missing, f"no answer about {missing}"
        choice = random.Random(self.pipeline.seed)
        for dataset, source in found.items():
            pairs = _pairs(source)
            self.check_occurrences(source)
            self.compare("backward", source, pairs, self.truth.get(dataset, set()))
            self.check_forward(dataset, pairs, choice)
        if self.pipeline.rows:
            self.check_row(choice.randrange(len(self.pipeline.rows)), found)

    def compare(self, what: str, source: SourceAnswer, found: Pairs, true: Pairs) -> None:
        """Check what was found about a dataset, as exactly as it says it is."""
        self.compare_sets(what, source.precision is Precision.EXACT, found, true)

    def compare_sets(self, what: str, exact: bool, found: Pairs, true: Pairs) -> None:
        missing, wrong = sorted(true - found), sorted(found - true)
        assert not missing, f"{what}: missing {missing}"
        if exact and not self.pipeline.tied:
            assert not wrong, f"{what}: said to be exact, but has {wrong}"

    def backward(self, rids: Sequence[int] | None = None) -> Answer:
        return self.lake.store.backward(
            self.written.output.dataset,
            rids=rids,
            run=self.run,
            strategy="saved",
            engine="duckdb",
        )

    def forward(self, dataset: str, rids: Sequence[int] | None = None) -> Answer:
        return self.lake.store.forward(
            dataset, rids=rids, run=self.run, strategy="saved", engine="duckdb"
        )

    def check_occurrences(self, source: SourceAnswer) -> None:
        """Check the rows of each scan of a dataset."""
        for number, part in enumerate(source.parts):
            rids = {(0, rid) for rid in source.rids(number).to_pylist()}
            true = {(0, rid) for _, rid in self.occurrence(part.at)}
            self.compare_sets(f"scan {part.at}", not part.reasons, rids, true)

    def check_forward(self, dataset: str, backward: Pairs, choice: random.Random) -> None:
        """Check that forward is the inverse of backward, over all rows and for one of them."""
        outputs = self.forward(dataset).outputs
        pairs = {pair for output in outputs for pair in _pairs(output)}
        exact = all(output.precision is Precision.EXACT for output in outputs)
        self.compare_sets("forward", exact, pairs, self.truth.get(dataset, set()))
        if exact and not self.pipeline.tied:
            assert pairs == backward, "forward is not the inverse of backward"
        name = dataset.rpartition("/")[2]
        (table,) = (t for t in self.pipeline.tables if t.name == name)
        if not table.rows:
            return
        rid = choice.choice(list(table.rows))
        answer = self.forward(dataset, [rid])
        reached = {rid for output in answer.outputs for rid in output.rids().to_pylist()}
        assert reached == {out for out, own in pairs if own == rid}, f"forward from row {rid}"

    def check_row(self, row: int, found: Mapping[str, SourceAnswer]) -> None:
        """Check the answer about one row against that about all of them."""
        answer = self.backward([row])
        for source in answer.sources:
            rids = {(row, rid) for rid in source.rids().to_pylist()}
            true = {(out, rid) for out, rid in self.truth.get(source.dataset, set()) if out == row}
            self.compare(f"row {row}", source, rids, true)
            whole = {(out, rid) for out, rid in _pairs(found[source.dataset]) if out == row}
            assert rids == whole, f"row {row} alone has {rids}, among all rows {whole}"


def _pairs(source: SourceAnswer) -> Pairs:
    table = source.pairs()
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _above(plan: Plan) -> dict[int, set[str]]:
    """Return of each operator, by place, the names of the operators above it."""
    above: dict[int, set[str]] = {plan.at: set()}
    stack = [plan]
    while stack:
        node = stack.pop()
        name = node.kind.value if isinstance(node, Join) else type(node).__name__
        for child in children(node):
            above[child.at] = above[node.at] | {name}
            stack.append(child)
    return above


def _shown(program: LineageProgram) -> str:
    return "\n".join(_step_lines(program))


def _step_lines(program: LineageProgram) -> Iterator[str]:
    for number, step in enumerate(program.steps):
        columns = [f.id for f in step.columns]
        yield (
            f"step {number}: {step.kind} {step.name} (operator {step.at}) of {step.anchor}, "
            f"columns {columns}: {step.predicate} {step.superset}"
        )
