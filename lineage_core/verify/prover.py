"""The prover others use: it asks z3 only what was never asked before.

Most obligations of a plan have a shape that some plan had before, so a run pays for looking
verdicts up: in this process, then in the user's memory on disk. z3 is not even loaded then.
"""

from __future__ import annotations

from functools import cache, lru_cache

from lineage_core.pushdown.obligation import Obligation, Verdict
from lineage_core.verify.memory import Memory, default_folder
from lineage_core.verify.shape import shape


class RememberingProver:
    """Answers obligations by their shape.

    Args:
        memory: verdicts of earlier runs, and where new ones go; None to know those of this process
            alone.
    """

    def __init__(self, memory: Memory | None) -> None:
        self._memory = memory
        self._verdict = lru_cache(maxsize=8192)(self._recall_or_decide)

    def __call__(self, obligation: Obligation, *, extra: int = 0) -> Verdict:
        """Answer whether the claim of `obligation` holds, for tables of any size.

        Args:
            obligation: what is claimed.
            extra: rows to have in each table beyond those that are enough (`operators.sizes`).
        """
        return self._verdict(shape(obligation), extra)

    def _recall_or_decide(self, obligation: Obligation, extra: int) -> Verdict:
        known = None if self._memory is None else self._memory.recall(obligation, extra)
        if known is not None:
            return known
        from lineage_core.verify.decide import decide  # not before: loading z3 takes its time

        verdict = decide(obligation, extra)
        if self._memory is not None:
            self._memory.keep(obligation, verdict, extra)
        return verdict


def prove(obligation: Obligation, *, extra: int = 0) -> Verdict:
    """Answer whether the claim of `obligation` holds, with the memory in the user's cache."""
    return _of_user()(obligation, extra=extra)


@cache
def _of_user() -> RememberingProver:
    folder = default_folder()
    return RememberingProver(None if folder is None else Memory(folder))
