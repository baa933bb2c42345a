"""The answer to a lineage question: per dataset, which rows, and how exact that is.

An answer is a description until someone asks for counts, rids, rows or pairs; what was read is
kept. Its relations may go over several runs: a `Part` is a path through one run's program and
what it goes on from.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from threading import RLock
from typing import TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc

from lineage_core.datasets import canonical, display
from lineage_core.errors import AmbiguousError, NotFoundError, UncapturedError, UnsupportedError
from lineage_core.index.cells import Cells
from lineage_core.index.record import Direction
from lineage_core.query.chain import Path
from lineage_core.query.columns import close_matches, find_column
from lineage_core.query.edges import Edge, edge_between, edge_of
from lineage_core.query.evaluate import IN_RID, OUT_RID, Question
from lineage_core.query.pairing import carried_pairs, compose, in_files, of_files, sorted_pairs
from lineage_core.query.reader import Reader, need_rids
from lineage_core.query.roles import UsedColumn, used_columns
from lineage_core.query.rows import RowSet
from lineage_core.query.selection import Rids
from lineage_core.snapshot import Snapshot

T = TypeVar("T")

_TWINS = "rows equal to those asked about in every column are answered together with them"


class Precision(StrEnum):
    """How the rows of an answer relate to the true lineage."""

    EXACT = "exact"
    SUPERSET = "superset"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One way to a dataset: a path through one run's program.

    Attributes:
        path: the path.
        reasons: why its rows may be too many; empty when exact.
        before: what it goes on from; None when it starts at the rows asked about.
    """

    path: Path
    reasons: tuple[str, ...] = ()
    before: SourceAnswer | None = None

    @property
    def at(self) -> int:
        """The place in the run's plan of the scan (the write) it ends at."""
        return self.path.relations.program.steps[self.path.steps[-1]].at


class SourceAnswer:
    """The rows of one snapshot of a dataset that an answer consists of.

    Attributes:
        dataset: the dataset's name.
        snapshot: the state of it that the rows, and their rids, belong to.
        parts: the ways the rows were reached: the occurrences of a dataset that was read more
            than once.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        parts: Sequence[Part],
        reader: Reader,
        *,
        gap: str = "",
        files: frozenset[int] | None = None,
    ) -> None:
        """Describe an answer.

        Args:
            gap: why the rows are not where the lineage really ends; empty when they are.
            files: numbers of the only files whose rows belong to the answer; None for all.
        """
        self.dataset = snapshot.dataset
        self.snapshot = snapshot
        self.parts = tuple(parts)
        self._reader = reader
        self._gap = gap
        self._files = files
        self._lock = RLock()
        self._kept: dict[object, object] = {}

    @property
    def precision(self) -> Precision:
        """How the rows relate to the true lineage: the worst of all that led to them."""
        if self._gap or not self.snapshot.format:
            return Precision.UNKNOWN
        return Precision.SUPERSET if self.reasons else Precision.EXACT

    @property
    def reason(self) -> str:
        """Why the answer is not exact; empty when it is."""
        return "; ".join(self.reasons)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The single reasons, each once, nearest to the rows asked about first."""
        found: list[str] = []
        for part in self.parts:
            found += part.before.reasons if part.before is not None else ()
            found += part.reasons
            if self._reader.twins(part.path):
                found.append(_TWINS)
        if not self.snapshot.format:
            found.append("it is not known what the dataset held when it was used")
        return tuple(dict.fromkeys([*found, self._gap] if self._gap else found))

    @property
    def occurrences(self) -> tuple[int, ...]:
        """For each part, the place in the plan where the dataset was read (forward: written)."""
        return tuple(part.at for part in self.parts)

    @property
    def columns(self) -> tuple[UsedColumn, ...]:
        """The columns of this source that the run which read it used, and in which roles.

        Raises:
            UnsupportedError: the dataset was written, not read: the answer goes forward.
        """
        return self._keep("columns", self._columns)

    def count(self) -> int:
        """Return how many rows there are."""
        if self.snapshot.has_rids or not self.snapshot.format:
            return self.ranges().count if self._is_indexed else len(self.rids())
        part = self._only_part()
        return self._keep("count", lambda: self._reader.count(part.path))

    def rids(self, occurrence: int | None = None) -> pa.Int64Array:
        """Return the sorted, distinct rids of the rows, or of one occurrence, by its position.

        Raises:
            UnsupportedError: the dataset's format has no rids, or nothing is known about its
                content.
            ChangedError: a file that the answer depends on is not what it was.
        """
        if occurrence is None:
            if self._is_indexed:
                return self._keep("rids", lambda: Rids(self.ranges()).rids)
            return self._keep("rids", lambda: self._rids(self.parts))
        part = self.parts[occurrence]
        return self._keep(occurrence, lambda: self._rids([part]))

    def ranges(self) -> Cells:
        """Return the rids as ranges: what an index gives, not unpacked.

        Raises:
            UnsupportedError: the dataset's format has no rids, or nothing is known about its
                content.
            ChangedError: a file that the answer depends on is not what it was.
        """
        return self._keep("ranges", self._ranges)

    def row_set(self) -> RowSet:
        """Return the rows as a set, to be united, cut or compared with others of the snapshot."""
        return RowSet(self.snapshot, self.ranges(), self._rows)

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        with_rid: bool = False,
        occurrence: int | None = None,
    ) -> pa.Table:
        """Return the rows, in the order of their rids.

        Args:
            columns: names of the columns to read; all by default.
            with_rid: put their rids before them, as column `rid`.
            occurrence: only the rows of one occurrence, by its position.
        """
        numbers: Sequence[int] = range(len(self.snapshot.columns))
        if columns is not None:
            numbers = [find_column(self.snapshot, name) for name in columns]
        if not self.snapshot.has_rids and self.snapshot.format:
            if with_rid:
                need_rids(self.snapshot)
            part = self._only_part() if occurrence is None else self.parts[occurrence]
            return self._reader.rows(part.path, tuple(numbers), rids=False)
        table = self._rows(self.rids(occurrence), numbers)
        return table if with_rid else table.drop_columns(["rid"])

    def _rows(self, rids: pa.Int64Array, columns: Sequence[int]) -> pa.Table:
        """Return rows of the snapshot: `rid`, and columns by position."""
        return self._reader.rows(self._by_rid(rids), tuple(columns), rids=True)

    def relation(
        self, columns: Sequence[int], *, with_rid: bool, rids: pa.Int64Array | None = None
    ) -> Question:
        """Return the query of the rows, to be a part of others on DuckDB: `k<i>`, and `rid`.

        Args:
            columns: positions of the columns to read.
            with_rid: whether to have their rids, too.
            rids: the only rows to have, a part of `rids()`; all by default.

        Raises:
            UnsupportedError: the rows have no ids, or DuckDB cannot read them as Spark does.
        """
        rows = self._by_rid(self.rids() if rids is None else rids)
        return self._reader.relation(rows, tuple(columns), rids=with_rid)

    def edges(self) -> list[tuple[Edge, pa.Int64Array]]:
        """Return, for each part, the indexes that lead to it and the rows they are asked about.

        There are none unless indexes lead to all rows, and to no others.
        """
        found = [edge_between(part.path) for part in self.parts]
        if self._gap or self._files is not None:
            return []
        edges = [edge for edge in found if edge is not None]
        if len(edges) < len(found):
            return []
        asked = (self._reader.selected(part.path).rids for part in self.parts)
        return list(zip(edges, asked, strict=True))

    def pairs(self) -> pa.Table:
        """Return the pairs (`out_rid`, `in_rid`) of the rows asked about and these, sorted."""
        return self._keep("pairs", self._pairs)

    def __repr__(self) -> str:
        count = self._known_count()
        rows = "not counted yet" if count is None else f"{count} rows"
        return f"<{type(self).__name__} {display(self.dataset)}: {rows}, {self.precision}>"

    def _columns(self) -> tuple[UsedColumn, ...]:
        if not self.parts:
            raise self._cannot_tell()
        if not all(_goes_down(part) for part in self.parts):
            raise UnsupportedError(
                f"{display(self.dataset)} was written, and only what was read has columns in use",
                hint="ask backward; its sources have columns",
            )
        read = ((part.path.relations.plan, part.at) for part in self.parts)
        return used_columns(self.snapshot, read)

    def _known_count(self) -> int | None:
        if "ranges" in self._kept:
            return cast(Cells, self._kept["ranges"]).count
        if "rids" in self._kept:
            return len(cast(pa.Array, self._kept["rids"]))
        return cast("int | None", self._kept.get("count"))

    @property
    def _is_indexed(self) -> bool:
        """Whether an index leads to the rows."""
        return any(edge_of(part.path) is not None for part in self.parts)

    def _ranges(self) -> Cells:
        self._need_parts()
        found = [self._reader.ranges(part.path) for part in self.parts]
        rows = found[0]
        for other in found[1:]:
            rows |= other
        return rows if self._files is None else rows & of_files(self._files)

    def _rids(self, parts: Sequence[Part]) -> pa.Int64Array:
        self._need_parts()
        found = [self._reader.rids(part.path) for part in parts]
        rids = found[0] if len(found) == 1 else pc.unique(pa.concat_arrays(found)).sort()
        return rids if self._files is None else rids.filter(in_files(rids, self._files))

    def _pairs(self) -> pa.Table:
        self._need_parts()
        found = [_pairs_of(part, self._reader) for part in self.parts]
        # The pairs of one way are in order, each once, as they are.
        table = found[0] if len(found) == 1 else sorted_pairs(pa.concat_tables(found))
        if self._files is None:
            return table
        column = IN_RID if _goes_down(self.parts[0]) else OUT_RID
        return table.filter(in_files(table.column(column).combine_chunks(), self._files))

    def _by_rid(self, rids: pa.Int64Array) -> Path:
        path = self.parts[0].path
        return Path(path.relations, path.steps[-1:], Rids(rids))

    def _need_parts(self) -> None:
        need_rids(self.snapshot)
        if not self.parts:
            raise self._cannot_tell()

    def _cannot_tell(self) -> UncapturedError:
        return UncapturedError(
            f"the rows of {display(self.dataset)} cannot be told: {self._gap}",
            hint="run the job that wrote it again under capture",
        )

    def _only_part(self) -> Part:
        if not self.parts:
            raise self._cannot_tell()
        if len(self.parts) == 1:
            return self.parts[0]
        raise UnsupportedError(
            f"{display(self.dataset)} was read {len(self.parts)} times, and its rows have no ids "
            "to tell the same row from an equal one",
            hint="ask for one occurrence: to_arrow(occurrence=0)",
        )

    def _keep(self, key: object, compute: Callable[[], T]) -> T:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = compute()
            return cast(T, self._kept[key])


class Answer:
    """The answer to one question: `sources` going backward, `outputs` going forward.

    Attributes:
        dataset: what was asked about.
        direction: which way.
    """

    def __init__(self, dataset: str, direction: Direction, found: Iterable[SourceAnswer]) -> None:
        self.dataset = dataset
        self.direction = direction
        self._found = tuple(found)

    @property
    def sources(self) -> tuple[SourceAnswer, ...]:
        """The datasets that the rows came from, in the order of their names."""
        return self._going(Direction.BACKWARD)

    @property
    def outputs(self) -> tuple[SourceAnswer, ...]:
        """The datasets that the rows went into, in the order of their names."""
        return self._going(Direction.FORWARD)

    def __getitem__(self, dataset: str) -> SourceAnswer:
        """Return the answer about one dataset, by its name or the end of its name."""
        found = self.states(dataset)
        if len(found) == 1:
            return found[0]
        names = sorted({display(answer.dataset) for answer in found})
        raise AmbiguousError(
            f"the answer has {len(found)} datasets called {dataset!r}: {', '.join(names)}",
            hint="look through sources or outputs; each has its own pairs()",
        )

    def states(self, dataset: str) -> tuple[SourceAnswer, ...]:
        """Return the answers about `dataset`, one for each state of it that was used.

        Raises:
            NotFoundError: the answer has no such dataset; the hint names similar ones.
        """
        found = tuple(answer for answer in self._found if is_called(answer.dataset, dataset))
        if not found:
            names = sorted({display(answer.dataset) for answer in self._found})
            raise NotFoundError(
                f"the answer has no dataset {dataset!r}", hint=close_matches(dataset, names)
            )
        return found

    def pairs(self, dataset: str) -> pa.Table:
        """Return the pairs (`out_rid`, `in_rid`) of the rows asked about and those of `dataset`.

        Raises:
            NotFoundError: the answer has no such dataset; the hint names similar ones.
            AmbiguousError: it has several.
            UnsupportedError: the rows of one side have no ids.
        """
        return self[dataset].pairs()

    def __repr__(self) -> str:
        lines = ["  ".join(row) for row in self._lines()]
        return "\n".join([f"<Answer {self.direction} from {display(self.dataset)}>", *lines])

    def _repr_html_(self) -> str:
        cells = (
            ("".join(f"<td>{html.escape(cell)}</td>" for cell in row)) for row in self._lines()
        )
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        head = "<tr><th>dataset</th><th>rows</th><th>precision</th><th>reason</th></tr>"
        title = html.escape(f"{self.direction} from {display(self.dataset)}")
        return f"<table><caption>{title}</caption>{head}{body}</table>"

    def _lines(self) -> Iterable[tuple[str, str, str, str]]:
        for answer in self._found:
            count = answer._known_count()
            rows = "not counted yet" if count is None else f"{count:,}"
            yield display(answer.dataset), rows, answer.precision, answer.reason

    def _going(self, direction: Direction) -> tuple[SourceAnswer, ...]:
        if self.direction is direction:
            return self._found
        has = "sources" if self.direction is Direction.BACKWARD else "outputs"
        raise UnsupportedError(f"a {self.direction} answer has {has} only")


def _goes_down(part: Part) -> bool:
    return part.path.steps[0] == 0


def _pairs_of(part: Part, reader: Reader) -> pa.Table:
    pairs = reader.pairs(part.path)
    if part.before is None:
        return pairs
    start = part.path.first
    side = IN_RID if _goes_down(part) else OUT_RID
    pairs_before = part.before.pairs()
    if any(_goes_down(other) != _goes_down(part) for other in part.before.parts):
        pairs_before = pairs_before.rename_columns([IN_RID, OUT_RID]).select([OUT_RID, IN_RID])
    before = carried_pairs(pairs_before, side, part.before.snapshot, start)
    return compose(before, pairs) if _goes_down(part) else compose(pairs, before)


def is_called(dataset: str, name: str) -> bool:
    """Whether `name` is the dataset's name, path, or the end of it, with or without the suffix."""
    if dataset == name or (name.strip() and "\0" not in name and dataset == canonical(name)):
        return True
    shown = display(dataset)
    path = f"/{dataset if shown == dataset else shown}"
    stem = path.rpartition(".")[0] if "." in path.rpartition("/")[2] else path
    return any(full.endswith(f"/{name.strip('/')}") for full in (path, stem)) and bool(
        name.strip("/")
    )
