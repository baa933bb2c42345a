"""How a question is answered: which program of a captured output is evaluated (DESIGN 4.6).

A run records one program: of what it saved, and what is computed again. From its plan others can be
inferred at any time: `replay` has nothing saved and computes every intermediate again, `iterative`
has no intermediates at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from lineage_core.errors import NotFoundError, UnsupportedError
from lineage_core.infer import COMPUTE, infer, link
from lineage_core.plan.program import LineageProgram, StepKind
from lineage_core.query.relations import Relations, bind
from lineage_core.store.manifest import OutputRecord


class Strategy(StrEnum):
    """How a question is answered.

    AUTO: by the recorded program; by `REPLAY` where that is exact for more sources.
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
        UnsupportedError: it is not available in this version.
    """
    if name not in [strategy.value for strategy in Strategy]:
        known = ", ".join(repr(strategy.value) for strategy in Strategy)
        raise NotFoundError(f"there is no strategy {name!r}", hint=f"use one of {known}")
    if name == Strategy.INDEX:
        raise UnsupportedError(
            "strategy 'index' is not available in this version", hint="use strategy='auto'"
        )
    return Strategy(name)


def relations(
    output: OutputRecord, uri: Callable[[str], str], strategy: Strategy = Strategy.AUTO
) -> Relations:
    """Return what a question about `output` is evaluated over.

    Raises:
        UncapturedError: the write was recorded, but not its lineage or its files.
    """
    recorded = bind(output, uri)
    if strategy is Strategy.SAVED:
        return recorded
    if strategy is Strategy.AUTO and not _blurred(recorded.program):
        return recorded
    if strategy is Strategy.ITERATIVE:
        assert output.plan is not None
        program, links = link(output.plan, _inferred(output, ()))
        return replace(bind(output, uri, program), links=links)
    inferred = _inferred(output, COMPUTE)
    if strategy is Strategy.AUTO and _blurred(inferred) >= _blurred(recorded.program):
        return recorded
    return bind(output, uri, inferred)


def _inferred(output: OutputRecord, ways: tuple[StepKind, ...]) -> LineageProgram:
    assert output.plan is not None and output.program is not None
    formats = {number: source.format for number, source in enumerate(output.inputs)}
    return infer(output.plan, ways=ways, formats=formats, name=output.program.target.name)


def _blurred(program: LineageProgram) -> int:
    """Return how many sources the program answers with supersets."""
    return sum(bool(program.steps[source].superset) for source in program.sources)
