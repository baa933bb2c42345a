"""Logical inference: from a captured plan to its lineage program (PredTrace 3.3, 5)."""

from lineage_core.infer.infer import COMPUTE, infer
from lineage_core.infer.links import Link, link
from lineage_core.infer.place import Size, Sizes

__all__ = ["COMPUTE", "Link", "Size", "Sizes", "infer", "link"]
