"""Capture: what a write in Spark is about to compute, as plan, sources and output (DESIGN 4.1)."""

from lineage_core.capture.catalyst import CapturedPlan, read_dataframe, read_plan
from lineage_core.capture.session import Capture

__all__ = ["Capture", "CapturedPlan", "read_dataframe", "read_plan"]
