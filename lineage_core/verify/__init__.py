"""Proofs: is a pushdown exact? z3 on bounded symbolic tables, with counterexamples (PredTrace 4.2)."""

from lineage_core.verify.prove import prove

__all__ = ["prove"]
