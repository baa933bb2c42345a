"""How a question is answered: which program of a captured output is evaluated (DESIGN 4.6).

A run records one program: of what it saved, and what is computed again. From its plan others can be
inferred at any time: `replay` has nothing saved and computes every intermediate again, `iterative`
has no intermediates at all.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import StrEnum
from threading import Lock

from lineage_core.errors import NotFoundError, UnsupportedError
from lineage_core.infer import COMPUTE, infer, link
from lineage_core.plan.program import LineageProgram, StepKind
from lineage_core.plan.relation import Limit, Plan, Project
from lineage_core.plan.ties import decidable, numbering, tie_question
from lineage_core.query.relations import Computed, Relations, bind, compute
from lineage_core.store.manifest import OutputRecord

_REMEMBERED = 256
"""Programs that a store keeps, each of some hundred kilobytes at most."""


class Strategy(StrEnum):
    """How a question is answered.

    AUTO: by the run's rid indexes where there are some; else by the recorded program, or by
        `REPLAY` where that is exact for more sources.
    SAVED: by the recorded program.
    REPLAY: every intermediate is computed again from the sources.
    ITERATIVE: by the predicates on the sources alone, refined by each other (algorithm 3).
    INDEX: by the run's rid indexes.
    """

    AUTO = "auto"
    SAVED = "saved"
    REPLAY = "replay"
    ITERATIVE = "iterative"
    INDEX = "index"


def check_strategy(name: str) -> Strategy:
    """Return the strategy called `name`.

    Raises:
        NotFoundError: there is none.
    """
    if name not in [strategy.value for strategy in Strategy]:
        known = ", ".join(repr(strategy.value) for strategy in Strategy)
        raise NotFoundError(f"there is no strategy {name!r}", hint=f"use one of {known}")
    return Strategy(name)


class Programs:
    """What questions about captured outputs are evaluated over, worked out once for each output.

    Records do not change, so neither do the programs inferred from their plans, nor what was
    computed to choose between them. Safe to use from several threads.

    Args:
        uri: makes an absolute URI of a path of the store.
    """

    def __init__(self, uri: Callable[[str], str]) -> None:
        self._uri = uri
        self._known: OrderedDict[tuple[int, Strategy], tuple[OutputRecord, Relations]] = (
            OrderedDict()
        )
        self._lock = Lock()

    def relations(
        self, output: OutputRecord, strategy: Strategy, count: Callable[[Computed], int]
    ) -> Relations:
        """Return what a question about `output` is evaluated over.

        Args:
            output: the record of the write.
            strategy: how the question is answered.
            count: computes a plan of a single count.

        Raises:
            UncapturedError: the write was recorded, but not its lineage or its files.
            UnsupportedError: the strategy needs the plan, which was not recorded.
        """
        key = (id(output), strategy)  # of the record that is kept with what was found
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key][1]
        found = self._found(output, strategy, count)
        with self._lock:
            self._known[key] = (output, found)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return found

    def _found(
        self, output: OutputRecord, strategy: Strategy, count: Callable[[Computed], int]
    ) -> Relations:
        """Return the first of the programs that are exact for most sources."""
        best: Relations | None = None
        for found in _programs(output, self._uri, strategy):
            blurred = _blurred(found.program)
            if best is not None and blurred >= _blurred(best.program):
                continue
            if all(_holds(output, place, count) for place in found.program.assumed):
                best = found
                if not blurred:
                    break
        assert best is not None, "the last one assumes nothing"
        return best


def _holds(output: OutputRecord, place: int, count: Callable[[Computed], int]) -> bool:
    """Whether no rows tie at the boundary of the limit, or in the order of the window, there."""
    assert output.plan is not None
    top = output.plan
    while isinstance(top, Project):
        top = top.child
    if isinstance(top, Limit) and top.at == place and 0 <= output.rows < top.count:
        return True  # it cut nothing off
    plan, boundary = tie_question(output.plan, place)
    return count(compute(output, plan)) <= boundary


def _programs(
    output: OutputRecord, uri: Callable[[str], str], strategy: Strategy
) -> Iterator[Relations]:
    """Yield what a strategy may be evaluated over; the last one holds for any data."""
    recorded = bind(output, uri)
    plan = output.plan
    if strategy in (Strategy.AUTO, Strategy.SAVED):
        yield recorded
        if plan is None or (strategy is Strategy.SAVED and not recorded.program.assumed):
            return
    if plan is None:
        raise UnsupportedError(
            f"the plan that wrote {output.dataset} was not recorded, so nothing can be inferred",
            hint="use strategy='saved'",
        )
    if strategy is Strategy.ITERATIVE:
        program, links = link(plan, _inferred(output, plan, (), frozenset()))
        yield replace(bind(output, uri, program), links=links)
        return
    if strategy is not Strategy.SAVED:
        decided = decidable(plan) | numbering(plan)
        yield bind(output, uri, _inferred(output, plan, COMPUTE, decided))
    # What a limit or a frame took where rows tie is not to be known: this says so.
    yield bind(output, uri, _inferred(output, plan, COMPUTE, frozenset()))


def _inferred(
    output: OutputRecord, plan: Plan, ways: tuple[StepKind, ...], decided: frozenset[int]
) -> LineageProgram:
    formats = {number: source.format for number, source in enumerate(output.inputs)}
    return infer(plan, ways=ways, formats=formats, decided=decided, name=output.dataset)


def _blurred(program: LineageProgram) -> int:
    """Return how many sources the program answers with supersets."""
    return sum(bool(program.steps[source].superset) for source in program.sources)
