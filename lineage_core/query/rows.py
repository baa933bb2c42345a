"""Sets of rows of one snapshot, as ranges of rids: united, cut and compared without unpacking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from lineage_core.datasets import display
from lineage_core.errors import UnsupportedError
from lineage_core.index.cells import Cells
from lineage_core.query.columns import find_column
from lineage_core.snapshot import Snapshot


class RowSet:
    """A set of rows of one snapshot.

    `|`, `&` and `-` give the rows of either, of both, and of the first alone; `len` counts them.
    All of that works on the ranges; rids and rows are made when they are asked for.

    Attributes:
        snapshot: what they are rows of.
        cells: their rids, as ranges.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        cells: Cells,
        read: Callable[[pa.Int64Array, Sequence[int]], pa.Table],
    ) -> None:
        """Describe a set.

        Args:
            read: gives rows by rid: `rid`, and columns by position.
        """
        self.snapshot = snapshot
        self.cells = cells
        self._read = read

    def __len__(self) -> int:
        return self.cells.count

    def __iter__(self) -> Iterator[int]:
        """Yield the rids, in order."""
        for low, high in zip(self.cells.low[0].tolist(), self.cells.high[0].tolist(), strict=True):
            yield from range(low, high + 1)

    def __or__(self, other: RowSet) -> RowSet:
        return self._with(self.cells | self._fitting(other))

    def __and__(self, other: RowSet) -> RowSet:
        return self._with(self.cells & self._fitting(other))

    def __sub__(self, other: RowSet) -> RowSet:
        return self._with(self.cells - self._fitting(other))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowSet):
            return NotImplemented
        return self.snapshot.id == other.snapshot.id and self.cells.same(other.cells)

    __hash__ = None  # type: ignore[assignment]  # equal sets may be cut into other ranges

    def __repr__(self) -> str:
        rows, ranges = len(self), len(self.cells)
        return f"<RowSet {display(self.snapshot.dataset)}: {rows:,} rows in {ranges:,} ranges>"

    def ranges(self) -> pa.Table:
        """Return the ranges of rids: `first` and `last`, which belongs to it."""
        return pa.table({"first": self.cells.low[0], "last": self.cells.high[0]})

    def rids(self) -> pa.Int64Array:
        """Return the rids, in order."""
        return pa.array(self.cells.to_numpy()[0])

    def to_arrow(
        self, columns: Sequence[str] | None = None, *, with_rid: bool = False
    ) -> pa.Table:
        """Return the rows, in the order of their rids.

        Args:
            columns: names of the columns to read; all by default.
            with_rid: put their rids before them, as column `rid`.
        """
        numbers: Sequence[int] = range(len(self.snapshot.columns))
        if columns is not None:
            numbers = [find_column(self.snapshot, name) for name in columns]
        table = self._read(self.rids(), numbers)
        return table if with_rid else table.drop_columns(["rid"])

    def _with(self, cells: Cells) -> RowSet:
        return RowSet(self.snapshot, cells, self._read)

    def _fitting(self, other: RowSet) -> Cells:
        if other.snapshot.id != self.snapshot.id:
            raise UnsupportedError(
                f"sets of rows are of two snapshots: of {display(self.snapshot.dataset)} and of "
                f"{display(other.snapshot.dataset)}",
                hint="rids belong to one snapshot; ask about the same run",
            )
        return other.cells
