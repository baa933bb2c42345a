"""Rid indexes: lineage as compressed relations, looked up without being unpacked (DESIGN 4.7)."""

from __future__ import annotations

from lineage_core.index.provrc import Ranges, decode, encode
from lineage_core.index.relation import Relation, relation

__all__ = ["Ranges", "Relation", "decode", "encode", "relation"]
