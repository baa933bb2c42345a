"""Backward, forward and pairs: the evaluations of a lineage program over snapshots (DESIGN 4.3)."""

from lineage_core.index.record import Direction
from lineage_core.query.answer import Answer, Part, Precision, SourceAnswer

__all__ = ["Answer", "Direction", "Part", "Precision", "SourceAnswer"]
