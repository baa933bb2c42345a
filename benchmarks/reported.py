"""What others report, on their machines: never to be mixed with what was measured here.

PredTrace: SIGMOD 2025 paper, TPC-H SF1 on PostgreSQL 12. The baselines GProM, Panda and Trace are
its authors' runs. Smoke: VLDB 2018 paper, as PredTrace cites it.
"""

from __future__ import annotations

from typing import Final

PREDTRACE_SUPERSETS: Final = frozenset({16, 17, 21, 22})
"""The queries for which PredTrace without saved data returns false positives."""

PREDTRACE_RATE: Final = "mean 6.6 %, zero on 18"

QUERY_MS: Final = {
    "PredTrace": "14 / 226.6 / 2,253.9",
    "PredTrace, nothing saved": "mean 3,852",
    "GProM": "65 / 22,272 / 330,182 (Q17 and Q20 not finished)",
    "Panda": "41 / 678 / 2,168 (5 queries)",
    "Trace": "2.4 / 1,344 / 3,707",
}
"""Milliseconds of a lineage question of one row: least / mean / most."""

OVERHEAD: Final = "10.35 % (PredTrace, 4 queries), 14.5 % (Smoke, the same 4)"

SAVED: Final = "4.5 MB mean, 34 MB max (PredTrace)"

INFERENCE: Final = "below 1 s (PredTrace)"

EXACT: Final = "22 (PredTrace), 5 to 17 (others)"
