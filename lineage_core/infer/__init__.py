"""Logical inference: from a captured plan to its lineage program (PredTrace 3.3, 5)."""

from lineage_core.infer.infer import COMPUTE, infer
from lineage_core.infer.links import Link, link

__all__ = ["COMPUTE", "Link", "infer", "link"]
