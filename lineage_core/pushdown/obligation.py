"""What a pushdown claims, as data: obligations a prover answers, and the outcome for each input.

Pushing `F(o, a)` through an operator means to find for each input a predicate `G(x, a)` that
selects the lineage of the output rows `o` that `F` relates to the anchor row `a` (PredTrace 3.2,
4.2). Three claims make that precise; each carries the premise that *some* output row satisfies `F`,
for the target row of a lineage question does exist. Only below an aggregate without grouping
columns that need not be so: its one row is there even when its input is empty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from lineage_core.plan.expr import Expr
from lineage_core.plan.relation import Plan
from lineage_core.plan.unique import Keys


class Claim(StrEnum):
    """What is to be proven of a pushdown.

    COVERS: every input row that contributed to an output row satisfying `F` is selected.
    PRECISE: every selected input row contributed to an output row satisfying `F`.
    REPRODUCES: over the selected input rows alone, the operator gives every output row satisfying
    `F`, as often as before.
    REDUCES: over the selected rows of this input, the operator gives the same output rows
    satisfying `F` as over all rows, as often, whether there are any or not. Then the input can be
    cut down to them before computing again (MagicPush's relaxed pushdown); it says nothing about
    contribution.
    """

    COVERS = "covers"
    PRECISE = "precise"
    REPRODUCES = "reproduces"
    REDUCES = "reduces"


@dataclass(frozen=True, slots=True)
class Obligation:
    """A claim about pushing `predicate` through `operator`.

    Attributes:
        operator: the operator; only its own fields and its inputs' columns matter.
        predicate: `F(o, a)`, over the operator's output and the anchor.
        pushed: one `G` per input, over the input's columns and the anchor `a`; or, when `saved`,
            the operator's own output row `o` as its anchor: the output was saved, and the rows of
            it that satisfy `F` select the inputs.
        input: which input the claim is about (all of them for REPRODUCES).
        claim: what is claimed.
        saved: whether the operator's output is saved.
        premise: whether some output row is known to satisfy `F`.
        keys: for each input, sets of columns on which no two of its rows agree.
        present: for each input, columns without nulls.
    """

    operator: Plan
    predicate: Expr
    pushed: tuple[Expr, ...]
    input: int
    claim: Claim
    saved: bool = False
    premise: bool = True
    keys: tuple[Keys, ...] = ()
    present: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Proved:
    """The claim holds for tables of any size."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """The claim fails; `counterexample` tells on which rows, with made-up values."""

    counterexample: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """The prover gave up; never taken for a proof."""

    reason: str


Verdict: TypeAlias = Proved | Refuted | Undecided
Prover: TypeAlias = Callable[[Obligation], Verdict]


@dataclass(frozen=True, slots=True)
class Exact:
    """`predicate` selects the lineage rows of this input: all of them and no others."""

    predicate: Expr


@dataclass(frozen=True, slots=True)
class Superset:
    """`predicate` selects all lineage rows of this input, perhaps others; `why` says from what."""

    predicate: Expr
    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing is known of this input's lineage but that it lies in the input."""

    why: str


Outcome: TypeAlias = Exact | Superset | Refused
