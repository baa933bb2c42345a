"""Answers of a store held against the oracle: pairs of a whole output, and single rows both ways.

An answer that is exact must be the oracle's; a superset must contain it. Nothing may ever be
missing. Where chance decided what the output is (a limit between peers), that holds for what it
decided in this run.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from re import sub
from typing import TypeAlias

from lineage_core.errors import UnsupportedError
from lineage_core.infer import infer
from lineage_core.plan.program import LineageProgram, StepKind
from lineage_core.plan.relation import Join, Plan, children
from lineage_core.plan.ties import decidable
from lineage_core.query.answer import Answer, Precision, SourceAnswer
from tests.pipelines.lake import Lake, Written
from tests.pipelines.pipeline import Pipeline

Pairs: TypeAlias = set[tuple[int, int]]

_OWN_FAULT = "cannot answer this"
"""What a refusal says that names no operator or function: the engine was asked nonsense."""


def programs(plan: Plan) -> Mapping[str, LineageProgram]:
    """Return the programs that runs of a plan may record, by how they have intermediates."""
    ways = {"saved": (StepKind.SAVED,), "either": (StepKind.COMPUTED, StepKind.SAVED)}
    decided = decidable(plan)
    return {name: infer(plan, ways=kinds, decided=decided) for name, kinds in ways.items()}


@dataclass
class Tally:
    """How many answers about a scan below an operator there were, and how many were exact.

    The keys are a way to answer and the name of an operator. `kinds` counts the steps of programs,
    `reasons` what made answers supersets, `refused` what the engine refused to compute.
    """

    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    exact: Counter[tuple[str, str]] = field(default_factory=Counter)
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, way: str, plan: Plan, sources: Sequence[SourceAnswer]) -> None:
        """Count what an answer says about the sources of `plan`."""
        above = _above(plan)
        for part in (part for source in sources for part in source.parts):
            for name in above[part.at] | {"all"}:
                self.asked[way, name] += 1
                self.exact[way, name] += not part.reasons
            self.reasons.update((way, _kind_of(why)) for why in part.reasons[:1])


def check(pipeline: Pipeline, lake: Lake, tally: Tally) -> None:
    """Ask about every row of a pipeline, backward and forward, in every way there is.

    Raises:
        AssertionError: an answer is wrong; the message shows the pipeline.
    """
    written = lake.write(pipeline)
    recorded = programs(pipeline.plan)
    asked: dict[LineageProgram, Question] = {}
    both_ways = pipeline.seed % len(set(recorded.values()))
    for way, program in recorded.items():
        tally.kinds.update((way, step.kind) for step in program.steps)
        if program not in asked:
            run = lake.commit(pipeline, written, program)
            thoroughly = len(asked) == both_ways
            asked[program] = Question(pipeline, lake, written, run)
            checked = Question.check if thoroughly else Question.check_backward
            _asked(way, asked[program], tally, checked)
        tally.add(way, pipeline.plan, asked[program].found)
    for way in ("replay", "iterative"):
        question = replace(asked[recorded["saved"]], strategy=way)
        if way == "replay" and not recorded["either"].saved and pipeline.seed % 5:
            question = asked[recorded["either"]]  # replay evaluates the same program
        else:
            _asked(way, question, tally, Question.check_backward)
        tally.add(way, pipeline.plan, question.found)
    if pipeline.seed % 3 == 0:
        question = replace(asked[recorded["saved"]], strategy="index")
        _asked("index", question, tally, Question.check_indexed)
        tally.add("index", pipeline.plan, question.found)


def _asked(
    way: str, question: Question, tally: Tally, checked: Callable[[Question], object]
) -> None:
    try:
        checked(question)
    except UnsupportedError as error:
        if _OWN_FAULT in error.what:
            raise AssertionError(f"{way}: {error.__cause__}\n{question}") from error
        tally.refused[way, error.what.partition(" (operator")[0]] += 1
    except Exception as error:
        raise AssertionError(f"{way}: {error}\n{question}") from error


@dataclass
class Question:
    """One captured run of a pipeline, to be asked about its rows by a strategy.

    `found` are the sources of the last answer about all rows.
    """

    pipeline: Pipeline
    lake: Lake
    written: Written
    run: str
    strategy: str = "saved"
    found: tuple[SourceAnswer, ...] = ()

    @cached_property
    def truth(self) -> Mapping[str, Pairs]:
        """The true pairs, by dataset."""
        truth: dict[str, Pairs] = {}
        for scan in self.pipeline.scans:
            dataset = self.written.sources[scan.source].dataset
            truth.setdefault(dataset, set()).update(self.occurrence(scan.at))
        return truth

    def occurrence(self, at: int) -> Pairs:
        """Return the true pairs of one scan."""
        lineage = self.pipeline.lineage
        return {(out, rid) for out, made in enumerate(lineage) for rid in made.get(at, ())}

    def check(self) -> None:
        """Compare the answers with the oracle's: backward, forward, and about single rows."""
        found = self.check_backward()
        for dataset, pairs in found.items():
            self.check_forward(dataset, pairs)
        choice = random.Random(self.pipeline.seed)
        if self.pipeline.rows:
            self.check_row(choice.randrange(len(self.pipeline.rows)), found)
        datasets = [dataset for dataset, pairs in found.items() if pairs]
        if datasets:
            dataset = choice.choice(datasets)
            self.check_row_forward(dataset, found[dataset], choice)

    def check_backward(self) -> Mapping[str, Pairs]:
        """Compare the answer about all rows with the oracle's; return its pairs, by dataset."""
        self.found = self.backward().sources
        found: dict[str, Pairs] = {}
        missing = {d for d, pairs in self.truth.items() if pairs} - {s.dataset for s in self.found}
        assert not missing, f"no answer about {missing}"
        for source in self.found:
            found[source.dataset] = _pairs(source)
            self.compare(
                "backward", source, found[source.dataset], self.truth.get(source.dataset, set())
            )
            if len(source.parts) > 1:
                self.check_occurrences(source)
        return found

    def check_indexed(self) -> None:
        """Build the run's indexes, and compare what they answer."""
        self.lake.store.index(run=self.run, engine="duckdb")
        self.check()

    def compare(self, what: str, source: SourceAnswer, found: Pairs, true: Pairs) -> None:
        """Check what was found about a dataset, as exactly as it says it is."""
        self.compare_sets(what, source.precision is Precision.EXACT, found, true)

    def compare_sets(self, what: str, exact: bool, found: Pairs, true: Pairs) -> None:
        missing, wrong = sorted(true - found), sorted(found - true)
        assert not missing, f"{what}: missing {missing}"
        if exact:
            assert not wrong, f"{what}: said to be exact, but has {wrong}"

    def backward(self, rids: Sequence[int] | None = None) -> Answer:
        return self.lake.store.backward(
            self.written.output.dataset,
            rids=rids,
            run=self.run,
            strategy=self.strategy,
            engine="duckdb",
        )

    def forward(self, dataset: str, rids: Sequence[int] | None = None) -> Answer:
        return self.lake.store.forward(
            dataset, rids=rids, run=self.run, strategy=self.strategy, engine="duckdb"
        )

    def check_occurrences(self, source: SourceAnswer) -> None:
        """Check the rows of each scan of a dataset."""
        for number, part in enumerate(source.parts):
            rids = {(0, rid) for rid in source.rids(number).to_pylist()}
            true = {(0, rid) for _, rid in self.occurrence(part.at)}
            self.compare_sets(f"scan {part.at}", not part.reasons, rids, true)

    def check_forward(self, dataset: str, backward: Pairs) -> None:
        """Check that forward is the inverse of backward."""
        outputs = self.forward(dataset).outputs
        pairs = {pair for output in outputs for pair in _pairs(output)}
        exact = all(output.precision is Precision.EXACT for output in outputs)
        self.compare_sets("forward", exact, pairs, self.truth.get(dataset, set()))
        assert pairs == backward, "forward is not the inverse of backward"

    def check_row_forward(self, dataset: str, pairs: Pairs, choice: random.Random) -> None:
        """Check the answer forward from one row against that about all of them."""
        name = dataset.rpartition("/")[2]
        rid = choice.choice([rid for t in self.pipeline.tables if t.name == name for rid in t.rows])
        answer = self.forward(dataset, [rid])
        reached = {rid for output in answer.outputs for rid in output.rids().to_pylist()}
        assert reached == {out for out, own in pairs if own == rid}, f"forward from row {rid}"

    def check_row(self, row: int, found: Mapping[str, Pairs]) -> None:
        """Check the answer about one row against that about all of them."""
        for source in self.backward([row]).sources:
            rids = {(row, rid) for rid in source.rids().to_pylist()}
            whole = {(out, rid) for out, rid in found[source.dataset] if out == row}
            assert rids == whole, f"row {row} alone has {rids}, among all rows {whole}"

    def __str__(self) -> str:
        programs = dict.fromkeys(p.path.relations.program for s in self.found for p in s.parts)
        return "\n".join([str(self.pipeline), *map(_shown, programs)])


def _pairs(source: SourceAnswer) -> Pairs:
    table = source.pairs()
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _kind_of(reason: str) -> str:
    """Return a reason without the place of the operator and the names of columns."""
    return sub(r"\(operator \d+\)", "", sub(r"\bc\d+\b", "c", reason))


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
