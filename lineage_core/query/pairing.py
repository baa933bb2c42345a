"""Relations of rids as tables of pairs; rids carried from one snapshot to another of its files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lineage_core.index.cells import Cells, boxes
from lineage_core.query.evaluate import IN_RID, OUT_RID
from lineage_core.snapshot import RID_SHIFT, DataFile, Snapshot

SCHEMA = pa.schema([(OUT_RID, pa.int64()), (IN_RID, pa.int64())])

_NOWHERE = -1
_ROW = (1 << RID_SHIFT) - 1

_Rids: TypeAlias = npt.NDArray[np.int64]


def sorted_pairs(table: pa.Table) -> pa.Table:
    """Return pairs of rids (`SCHEMA`), none of them null, in order, each once."""
    outs, ins = (table.column(name).cast(pa.int64()).to_numpy() for name in SCHEMA.names)
    if not len(outs):
        return SCHEMA.empty_table()
    dense = _Dense.of(outs), _Dense.of(ins)
    if dense[0].size * dense[1].size <= np.iinfo(np.int64).max:
        # One number a pair: sorted many times as fast as two columns are.
        codes = np.sort(dense[0].codes(outs) * dense[1].size + dense[1].codes(ins))
        outs, ins = np.divmod(codes[_starts(codes)], dense[1].size)
        outs, ins = dense[0].rids(outs), dense[1].rids(ins)
    else:
        order = np.lexsort((ins, outs))
        outs, ins = outs[order], ins[order]
        first = _starts(outs) | _starts(ins)
        outs, ins = outs[first], ins[first]
    return pa.table([outs, ins], schema=SCHEMA)


@dataclass(frozen=True, slots=True)
class _Dense:
    """Numbers for rids, in their order and below `size`: no file has more than `width` rows."""

    width: int
    size: int

    @staticmethod
    def of(rids: _Rids) -> _Dense:
        width = int((rids & _ROW).max()) + 1
        return _Dense(width, (int(rids.max() >> RID_SHIFT) + 1) * width)

    def codes(self, rids: _Rids) -> _Rids:
        return (rids >> RID_SHIFT) * self.width + (rids & _ROW)

    def rids(self, codes: _Rids) -> _Rids:
        files, rows = np.divmod(codes, self.width)
        return (files << RID_SHIFT) | rows


def _starts(values: _Rids) -> npt.NDArray[np.bool_]:
    """Return where a value differs from the one before it."""
    return np.concatenate(([True], values[1:] != values[:-1]))


def ordered(rids: pa.Array | pa.ChunkedArray) -> pa.Int64Array:
    """Return rids, none of them null, in order."""
    # NumPy sorts the long runs that scans in several threads leave faster than Arrow does.
    return pa.array(np.sort(rids.cast(pa.int64()).to_numpy()))


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
    after = (files << RID_SHIFT) | (before & _ROW)
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


def of_files(files: frozenset[int]) -> Cells:
    """Return all rids of the files numbered so."""
    low = np.array([sorted(files)], dtype=np.int64) << RID_SHIFT
    return boxes(low, low | _ROW)


def file_identity(file: DataFile) -> tuple[str, int, str]:
    return file.path, file.size, file.digest
