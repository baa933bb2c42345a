"""What capturing costs: operators over zipfian tables, queries of TPC-H (Smoke 6.1, 6.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import capturing
import zipf
from capturing import Bench
from workload import Workload

GROUP_BY = (
    "select z, count(*) as n, sum(v) as s, sum(v * v) as ss, sum(sqrt(v)) as r,"
    " min(v) as low, max(v) as high from zipf group by z"
)
PK_FK = "select gids.id as gid, zipf.* from gids, zipf where gids.id = zipf.z"
MANY_TO_MANY = (
    "select a.id as a_id, a.z as a_z, a.v as a_v, b.id as b_id, b.v as b_v"
    " from zipf1 a, zipf2 b where a.z = b.z"
)
TPCH = (1, 3, 10, 12)

GROUPED = ((100_000, 100), (100_000, 10_000), (1_000_000, 100), (1_000_000, 10_000))
JOINED = ((100_000, 100), (100_000, 10_000), (1_000_000, 100), (1_000_000, 10_000))
MATCHED = ((1_000, 10), (10_000, 10), (1_000, 100), (10_000, 100))
"""Rows of the right table, and the values of the left one's `z`."""


def group_bys(
    bench: Bench, data: Path, sizes: Sequence[tuple[int, int]], rounds: int
) -> Iterator[dict[str, Any]]:
    for rows, groups in sizes:
        bench.views(zipf=zipf.table(data, 1, rows, groups))
        found = capturing.measure(bench, GROUP_BY, rounds)
        yield {"operator": "group-by", "n": rows, "g": groups, **found}


def pk_fk_joins(
    bench: Bench, data: Path, sizes: Sequence[tuple[int, int]], rounds: int
) -> Iterator[dict[str, Any]]:
    for rows, groups in sizes:
        bench.views(gids=zipf.keys(data, groups), zipf=zipf.table(data, 1, rows, groups))
        found = capturing.measure(bench, PK_FK, rounds)
        yield {"operator": "pk-fk join", "n": rows, "g": groups, **found}


def many_to_many_joins(
    bench: Bench, data: Path, sizes: Sequence[tuple[int, int]], rounds: int
) -> Iterator[dict[str, Any]]:
    for rows, groups in sizes:
        left = zipf.table(data, 1, 1_000, groups)
        bench.views(zipf1=left, zipf2=zipf.table(data / "right", 1, rows, 100))
        found = capturing.measure(bench, MANY_TO_MANY, rounds)
        yield {"operator": "m:n join", "n": rows, "g": groups, **found}


def tpch(
    bench: Bench, workload: Workload, queries: Sequence[int], rounds: int
) -> Iterator[dict[str, Any]]:
    for query in queries:
        yield {"query": query, **capturing.measure(bench, workload.text(query), rounds)}
