"""Mutation testing of pushdown: would anyone notice a mistake in a rule?

Every mutant of the rules and of the search is put in the place of the module it was made from, and
the tests are run until one fails. First those that prove: what the right rules' proofs take is
known, so z3 is asked about a mutant only what is new in it. Then those of the rules' candidates and
of the search by themselves; then random pipelines, where the mutant infers other programs for them
than the right rules do.

A rule only proposes, so most mistakes cannot make an answer wrong. They make it a superset where
it could be exact, and that is what the proofs notice; or they leave it exact, by a predicate that
is longer or less selective than it could be, or with a reason that is not the right one, and that
is what the tests of candidates notice. A mutant that means the same as the original
is listed in `equivalent_mutants.txt`, with the reason. It is run as well: a listed mutant that some
test notices is no equivalent.

    python -m tests.verify.mutants [--sample N] [--pipelines N] [--workers N]

prints the table, and fails if fewer than 95 % of the mutants that differ are caught, if one that
is not caught is not listed, or if one that is listed is caught or does not exist.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import itertools
import os
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FunctionType, ModuleType

from lineage_core import codec, open_store
from lineage_core.plan import expr
from tests.pipelines.check import Tally, check, programs
from tests.pipelines.lake import Lake
from tests.pipelines.pipeline import pipeline
from tests.verify.mutate import Mutant, mutants

_RULES = ("aggregate", "expand", "filter", "generate", "join", "order", "project", "union")
MUTATED = (
    *(f"lineage_core.pushdown.rules.{name}" for name in (*_RULES, "window")),
    "lineage_core.pushdown.push",
    "lineage_core.pushdown.binding",
)
_LISTED = Path(__file__).with_name("equivalent_mutants.txt")
_SECONDS = 15
_SHARE = 0.95


class Fate(StrEnum):
    """Who noticed a mutant."""

    PROOFS = "a proof"
    RULES = "a rule's candidates"
    PIPELINES = "a pipeline"
    HUNG = "no end in sight"
    SURVIVED = "nobody"


@dataclass(frozen=True)
class Result:
    """A mutant's fate; `by` is the test that noticed, or how far its programs are others."""

    mutant: Mutant
    fate: Fate
    by: str


_TESTS = {
    Fate.PROOFS: ("tests.verify.test_proofs", "tests.verify.test_operators"),
    Fate.RULES: (
        "tests.verify.test_candidates",
        "tests.verify.test_search",
        "tests.infer.test_infer",
    ),
}


@dataclass(frozen=True)
class Case:
    """A test with its arguments; `fate` is that of a mutant it fails for."""

    name: str
    run: Callable[[], object]
    fate: Fate


def cases() -> Iterator[Case]:
    """Yield the tests of the rules, with their arguments; none that needs a fixture."""
    for fate, modules in _TESTS.items():
        for test in (t for name in modules for t in vars(import_module(name)).values()):
            if inspect.isfunction(test) and test.__name__.startswith("test_"):
                for arguments in _arguments(test):
                    name = f"{test.__name__}[{', '.join(map(str, arguments.values()))}]"
                    yield Case(name, partial(test, **arguments), fate)


def _arguments(test: FunctionType) -> Iterator[dict[str, object]]:
    marks = [mark.args for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    ways: list[list[dict[str, object]]] = []
    for names, values in marks:
        if names == "extra":  # that the bounds are large enough was shown with the right rules
            values = [0]
        one = isinstance(names, str)
        ways.append([{names: v} if one else dict(zip(names, v, strict=True)) for v in values])
    for chosen in itertools.product(*ways):
        arguments = {name: value for way in chosen for name, value in way.items()}
        if arguments.keys() == inspect.signature(test).parameters.keys():
            yield arguments


def graft(mutant: Mutant) -> None:
    """Put the mutant in the place of its module, for everyone who has functions of that."""
    module = import_module(mutant.module)
    scratch = ModuleType(mutant.module)
    for name in ("FALSE", "TRUE", "Compare", "Comparison", "Not", "conj", "disj"):
        for place in (module, scratch):  # what a mistake may refer to
            vars(place).setdefault(name, getattr(expr, name))
    exec(compile(mutant.source, mutant.module, "exec"), scratch.__dict__)
    for name, value in vars(scratch).items():
        there = vars(module).get(name)
        if isinstance(value, FunctionType) and value.__module__ == mutant.module:
            assert isinstance(there, FunctionType)
            there.__code__, there.__defaults__ = value.__code__, value.__defaults__
            there.__kwdefaults__ = value.__kwdefaults__
        elif not name.startswith("__") and not isinstance(value, FunctionType):
            setattr(module, name, value)


class Trial:
    """Runs the tests against mutants, each in a process of its own.

    The tests are run with the right rules first: that they pass, and what z3 said, is known to
    every process after that.
    """

    def __init__(self, pipelines: int) -> None:
        self._cases = tuple(cases())
        self._seeds = range(pipelines)
        for case in self._cases:
            case.run()
        self._programs = {seed: _programs(seed) for seed in self._seeds}

    def run(self, mutant: Mutant) -> tuple[Fate, str]:
        """Return the mutant's fate, and by whom; this process is spoilt for others."""
        graft(mutant)
        for case in self._cases:
            try:
                case.run()
            except Exception as error:
                return case.fate, f"{case.name}, {type(error).__name__}"
        return self._run_pipelines()

    def _run_pipelines(self) -> tuple[Fate, str]:
        other = []
        with tempfile.TemporaryDirectory() as folder:
            lake = Lake(Path(folder), open_store(f"{folder}/store"))
            for seed in self._seeds:
                try:
                    if _programs(seed) != self._programs[seed]:
                        other.append(seed)
                        check(pipeline(seed), lake, Tally())
                except Exception as error:
                    return Fate.PIPELINES, f"pipeline {seed}, {type(error).__name__}"
        return Fate.SURVIVED, f"other programs for {len(other)} pipelines {other[:5]}"


def _programs(seed: int) -> Mapping[str, str]:
    recorded = programs(pipeline(seed).plan)
    return {way: codec.dumps(program) for way, program in recorded.items()}


def _in_child(trial: Trial, mutant: Mutant, answer: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    answer.send(trial.run(mutant))


def results(trial: Trial, chosen: Sequence[Mutant], workers: int) -> Iterator[Result]:
    """Yield the fates of mutants, as they become known."""
    context = get_context("fork")  # what z3 said of the right rules comes along
    waiting = list(reversed(chosen))
    running: dict[Connection, Mutant] = {}
    while waiting or running:
        while waiting and len(running) < workers:
            mutant = waiting.pop()
            ours, theirs = context.Pipe(duplex=False)
            context.Process(target=_in_child, args=(trial, mutant, theirs), daemon=True).start()
            theirs.close()
            running[ours] = mutant
        for ready in wait(list(running)):
            assert isinstance(ready, Connection)
            mutant = running.pop(ready)
            try:
                yield Result(mutant, *ready.recv())
            except EOFError:
                yield Result(mutant, Fate.HUNG, "")


def all_mutants() -> list[Mutant]:
    """Return the mutants of the rules and of the search."""
    found: list[Mutant] = []
    for name in MUTATED:
        found += mutants(name, inspect.getsource(import_module(name)))
    return found


def listed() -> dict[str, str]:
    """Return why mutants are equivalent, by their descriptions."""
    reasons: dict[str, str] = {}
    reason = ""
    for line in _LISTED.read_text().splitlines():
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif line:
            reasons[line] = reason
    return reasons


def sample(found: Sequence[Mutant], size: int) -> list[Mutant]:
    """Return some of the mutants: another choice only where mutants are others."""

    def digest(mutant: Mutant) -> bytes:
        return hashlib.sha256(str(mutant).encode()).digest()

    return sorted(found, key=digest)[:size]


def table(found: Sequence[Result], equivalent: Mapping[str, str]) -> str:
    """Return how many mutants there were of each module and what became of them."""
    columns = ("mutants", *(fate.name.lower() for fate in Fate), "equivalent", "caught")
    rows = [("module", *columns)]
    for name in (*MUTATED, "all"):
        mine = [r for r in found if name in (r.mutant.module, "all")]
        fates = Counter(r.fate for r in mine)
        same = sum(r.fate is Fate.SURVIVED and str(r.mutant) in equivalent for r in mine)
        fates[Fate.SURVIVED] -= same  # only what nobody noticed and nobody explains
        counts = (len(mine), *(fates[fate] for fate in Fate), same)
        share = f"{_share(mine, equivalent):.1%}" if mine else "-"
        rows.append((name.removeprefix("lineage_core."), *map(str, counts), share))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:{'>' if i else '<'}{widths[i]}}" for i, cell in enumerate(row))
        for row in rows
    )


def _share(found: Sequence[Result], equivalent: Mapping[str, str]) -> float:
    """Return the share of mutants caught, of those that are not equivalent."""
    survived = [r for r in found if r.fate is Fate.SURVIVED]
    same = sum(str(r.mutant) in equivalent for r in survived)
    return (len(found) - len(survived)) / max(len(found) - same, 1)


def complaints(
    found: Sequence[Result], equivalent: Mapping[str, str], known: Sequence[Mutant]
) -> Iterator[str]:
    """Yield what is wrong: with the tests, or with the list."""
    if _share(found, equivalent) < _SHARE:
        yield f"fewer than {_SHARE:.0%} of the mutants are caught"
    for result in found:
        is_listed = str(result.mutant) in equivalent
        if result.fate is Fate.SURVIVED and not is_listed:
            yield f"not caught: {result.mutant} ({result.by})"
        if result.fate is not Fate.SURVIVED and is_listed:
            yield f"listed as equivalent, but caught ({result.by}): {result.mutant}"
    for name in equivalent.keys() - set(map(str, known)):
        yield f"listed, but no mutant: {name}"


def main(arguments: Sequence[str]) -> int:
    """Print the table and what is wrong; return 1 if anything is."""
    parser = argparse.ArgumentParser(description="mutation testing of pushdown")
    parser.add_argument("--sample", type=int, help="how many mutants (all)")
    parser.add_argument("--pipelines", type=int, default=60, help="pipelines for a mutant (60)")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time (2)")
    parser.add_argument("--show", action="store_true", help="say of each mutant who caught it")
    options = parser.parse_args(arguments)
    os.nice(10)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache  # a verdict on one mutant is known to the next
        known = all_mutants()
        chosen = known if options.sample is None else sample(known, options.sample)
        found = []
        for result in results(Trial(options.pipelines), chosen, options.workers):
            found.append(result)
            if options.show:
                print(f"{result.mutant}: {result.fate}: {result.by}", flush=True)
    print(table(found, listed()))
    wrong = list(complaints(found, listed(), known))
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
