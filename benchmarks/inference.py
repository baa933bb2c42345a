"""Logical inference: plan to lineage program, with nothing proven yet and with all proofs known.

The solver is loaded beforehand. `cold` makes every proof with it; `disk` finds the proofs of
earlier processes in files; `cached` is a process that has seen a plan of this shape before.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from timing import in_turns

from lineage_core.infer import infer
from lineage_core.plan.program import StepKind
from lineage_core.plan.relation import Plan
from lineage_core.plan.ties import decidable
from lineage_core.pushdown import Prover
from lineage_core.verify.memory import Memory
from lineage_core.verify.prover import RememberingProver


def measure(plan: Plan, rounds: int) -> dict[str, Any]:
    """Return the times of inferring the program of a captured plan."""

    def infer_with(prove: Prover) -> None:
        infer(
            plan,
            ways=(StepKind.COMPUTED, StepKind.SAVED),
            decided=decidable(plan),
            prove=prove,
        )

    with tempfile.TemporaryDirectory() as folder:
        memory, known = Path(folder), RememberingProver(None)
        infer_with(RememberingProver(Memory(memory)))
        times = in_turns(
            {
                "cold": lambda _: infer_with(RememberingProver(None)),
                "disk": lambda _: infer_with(RememberingProver(Memory(memory))),
                "cached": lambda _: infer_with(known),
            },
            rounds,
        )
    return {"times": {name: found.as_json() for name, found in times.items()}}
