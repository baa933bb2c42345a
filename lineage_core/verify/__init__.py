"""Proofs by z3 on bounded symbolic tables: is a pushdown exact? (PredTrace 4.2)."""

from lineage_core.verify.prove import prove

__all__ = ["prove"]
