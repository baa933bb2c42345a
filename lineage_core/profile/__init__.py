"""Profiling: which values of a dataset violate a functional dependency, and in which rows (Smoke
6.5.2)."""

from lineage_core.profile.check import METHODS, check
from lineage_core.profile.notation import Dependency, read_dependency
from lineage_core.profile.table import holds_files
from lineage_core.profile.violations import Violations, graph

__all__ = [
    "METHODS",
    "Dependency",
    "Violations",
    "check",
    "graph",
    "holds_files",
    "read_dependency",
]
