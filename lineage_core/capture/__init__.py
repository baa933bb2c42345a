"""Capture: what a write in Spark is about to compute, as plan, sources and output (DESIGN 4.1)."""

from lineage_core.capture.catalyst import CapturedPlan, read_dataframe, read_plan

__all__ = ["CapturedPlan", "read_dataframe", "read_plan"]
