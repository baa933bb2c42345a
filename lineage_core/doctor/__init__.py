"""The doctor: is this installation fit to capture and to answer, and if not, what to do."""

from lineage_core.doctor.check import Check, Subject, Verdict
from lineage_core.doctor.examine import examine

__all__ = ["Check", "Subject", "Verdict", "examine"]
