"""Pairs of rids in order, each once: packed into one number, and where they do not fit into one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lineage_core.query.pairing import SCHEMA, sorted_pairs
from lineage_core.snapshot import RID_SHIFT

LAST_ROW = (1 << RID_SHIFT) - 1
LAST_FILE = (1 << (63 - RID_SHIFT)) - 1

few = st.integers(0, 3)
files = few | st.integers(0, LAST_FILE)
rows = few | st.integers(0, LAST_ROW)
rids = st.builds(lambda file, row: file << RID_SHIFT | row, files, rows)
GREATEST = LAST_FILE << RID_SHIFT | LAST_ROW


@given(st.lists(st.tuples(rids, rids), max_size=40))
@example([(3, 1), (3, 1), (0, 2), (3, 0), (0, 2)])  # packed
@example([(GREATEST, GREATEST), (0, 0), (GREATEST, 0), (0, GREATEST), (0, 0)])  # not packed
def test_sorted_pairs_are_a_sorted_set(pairs: list[tuple[int, int]]) -> None:
    columns = [[pair[side] for pair in pairs] for side in (0, 1)]
    found = sorted_pairs(pa.table(columns, schema=SCHEMA))
    assert found.schema == SCHEMA
    assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == sorted(
        set(pairs)
    )


@pytest.mark.parametrize("type", [pa.int32(), pa.int64(), pa.uint32()])
def test_rids_may_come_in_other_types_and_chunks(type: pa.DataType) -> None:
    chunks = [pa.array(part, type) for part in ([5, 1], [], [5])]
    outs = pa.chunked_array(chunks, type)
    found = sorted_pairs(pa.table([outs, outs], names=SCHEMA.names))
    assert found.to_pylist() == [{name: rid for name in SCHEMA.names} for rid in (1, 5)]
