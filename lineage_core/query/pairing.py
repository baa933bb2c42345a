"""Relations of rids as tables of pairs; rids carried from one snapshot to another of its files."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lineage_core.query.evaluate import IN_RID, OUT_RID
from lineage_core.snapshot import RID_SHIFT, DataFile, Snapshot

SCHEMA = pa.schema([(OUT_RID, pa.int64()), (IN_RID, pa.int64())])

_NOWHERE = -1


def sorted_pairs(table: pa.Table) -> pa.Table:
    """Return pairs of rids (`SCHEMA`) in order, each once."""
    pairs = table.select(SCHEMA.names).cast(SCHEMA)
    return in_order(pairs.group_by(SCHEMA.names).aggregate([]))


def in_order(pairs: pa.Table) -> pa.Table:
    """Return pairs of rids (`SCHEMA`), none twice, in order."""
    pairs = pairs.select(SCHEMA.names).cast(SCHEMA)
    return pairs.sort_by([(name, "ascending") for name in SCHEMA.names]).combine_chunks()


def compose(first: pa.Table, second: pa.Table) -> pa.Table:
    """Return `first` followed by `second`: an `in_rid` of the one is an `out_rid` of the other."""
    left = first.rename_columns([OUT_RID, "via"])
    right = second.rename_columns(["via", IN_RID])
    return sorted_pairs(left.join(right, keys="via", join_type="inner"))


def carried(rids: pa.Int64Array, source: Snapshot, target: Snapshot) -> pa.Int64Array:
    """Return the rids in `target` of the rows `rids` of `source`, null where it lacks the file."""
    if source.id == target.id:
        return rids
    place = {file_identity(file): number for number, file in enumerate(target.files)}
    moved = np.array(
        [place.get(file_identity(f), _NOWHERE) for f in source.files] or [0], dtype=np.int64
    )
    before = rids.to_numpy(zero_copy_only=False)
    files = moved[before >> RID_SHIFT]
    after = (files << RID_SHIFT) | (before & ((1 << RID_SHIFT) - 1))
    return pa.array(after, pa.int64(), mask=files == _NOWHERE)


def carried_pairs(table: pa.Table, column: str, source: Snapshot, target: Snapshot) -> pa.Table:
    """Return `table` with the rids of `column` carried over; pairs that cannot be are left out."""
    if source.id == target.id:
        return table
    rids = carried(table.column(column).combine_chunks(), source, target)
    return table.set_column(table.column_names.index(column), column, rids).drop_null()


def in_files(rids: pa.Int64Array, files: frozenset[int]) -> pa.BooleanArray:
    """Return which of `rids` belong to one of the files numbered so."""
    numbers = pc.shift_right(rids, pa.scalar(RID_SHIFT, pa.int64()))
    return pc.is_in(numbers, pa.array(sorted(files), pa.int64()))


def file_identity(file: DataFile) -> tuple[str, int, str]:
    return file.path, file.size, file.digest
