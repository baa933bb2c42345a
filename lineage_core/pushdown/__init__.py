"""Pushdown: a predicate on an operator's output becomes predicates on its inputs."""

from lineage_core.pushdown.obligation import (
    Claim,
    Exact,
    Obligation,
    Outcome,
    Proved,
    Prover,
    Refused,
    Refuted,
    Superset,
    Undecided,
    Verdict,
)
from lineage_core.pushdown.push import RULES, always_from, push, reduce

__all__ = [
    "RULES",
    "Claim",
    "Exact",
    "Obligation",
    "Outcome",
    "Proved",
    "Prover",
    "Refused",
    "Refuted",
    "Superset",
    "Undecided",
    "Verdict",
    "always_from",
    "push",
    "reduce",
]
