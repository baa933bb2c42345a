"""Lineage questions about what a pipeline wrote, beside the baselines, in turns.

One-row questions go by rid and take the output's rows in turn (a sample of it); what they give is
the rids of all sources, or with `rows` the source rows whole. Nothing is kept between questions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazy import Lazy
from pipeline import Pipeline
from scan import columns_read, scan
from timing import Action, in_turns
from workload import OUT_RID, Output

from lineage_core.query.answer import Answer
from lineage_core.query.relations import bind

SAMPLE = 5
SAVING = ("inject", "defer")
"""The modes that save intermediates where they can."""


def measure(pipeline: Pipeline, modes: Sequence[str], rounds: int) -> dict[str, Any]:
    """Return the times of questions about the newest captured runs, and of the baselines."""
    lazy = Lazy(pipeline.workload, pipeline.query)
    one = in_turns(_of_one_row(pipeline, lazy, modes), rounds, patience=30)
    every = in_turns(_of_all_rows(pipeline, lazy), min(rounds, 3), patience=10)
    return {
        "rows": Output(pipeline.output("auto")).rows.num_rows,
        "one": {name: found.as_json() for name, found in one.items()},
        "all": {name: found.as_json() for name, found in every.items()},
    }


def _of_one_row(pipeline: Pipeline, lazy: Lazy, modes: Sequence[str]) -> dict[str, Action]:
    sample = Output(pipeline.output("auto")).sample(SAMPLE).to_pylist()

    def ask(mode: str, strategy: str, fetch: Callable[[Answer], None]) -> Action:
        rows = Output(pipeline.output(mode)).sample(SAMPLE).column(OUT_RID).to_pylist()

        def action(round: int) -> None:
            rid = rows[round % len(rows)]
            fetch(pipeline.ask(mode, strategy, [rid]))

        return action

    read = columns_read(bind(pipeline.record("auto"), pipeline.store.artifacts.uri))
    return {
        "rids": ask("auto", "auto", fetch_rids),
        "rows": ask("auto", "auto", _rows),
        **{f"rids_{mode}": ask(mode, "saved", fetch_rids) for mode in modes if mode in SAVING},
        "replay": ask("auto", "replay", fetch_rids),
        "iterative": ask("auto", "iterative", fetch_rids),
        "query": lambda _: lazy.query(),
        "scan": lambda _: scan(lazy.connection, read),
        "provenance": lambda round: lazy.provenance(sample[round % len(sample)]),
        "trace": lambda round: lazy.trace(sample[round % len(sample)]),
    }


def _of_all_rows(pipeline: Pipeline, lazy: Lazy) -> dict[str, Action]:
    def pairs(strategy: str) -> Action:
        return lambda _: fetch_pairs(pipeline.ask("auto", strategy))

    return {
        "pairs": pairs("auto"),
        "replay": pairs("replay"),
        "provenance": lambda _: lazy.provenance_of_all(),
    }


def fetch_rids(answer: Answer) -> None:
    """Evaluate the rids of every source."""
    for source in answer.sources:
        source.rids()


def _rows(answer: Answer) -> None:
    for source in answer.sources:
        source.to_arrow()


def fetch_pairs(answer: Answer) -> None:
    """Evaluate the pairs of every source."""
    for source in answer.sources:
        source.pairs()
