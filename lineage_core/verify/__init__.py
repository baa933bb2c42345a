"""Proofs by z3 on bounded symbolic tables: is a pushdown exact? (PredTrace 4.2)."""

from lineage_core.verify.memory import Memory
from lineage_core.verify.prover import RememberingProver, prove

__all__ = ["Memory", "RememberingProver", "prove"]
