"""Index files: the blocks of one relation, in the order of their keys, and a directory of them.

    blocks       one after the other (`block`)
    directory    where each block is, its rows, its checksum, and what it covers of each key axis
    footer       axes, shapes, pairs, what the index is of, the directory's place and checksum

A reader maps the file, reads the directory, and then just the blocks that may hold a key it looks
up. Nothing is believed that a checksum or a bound can tell to be wrong: a damaged file is an error,
never another set of rows.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np

from lineage_core.errors import CorruptError
from lineage_core.index import block
from lineage_core.index.cells import Cells, boxes
from lineage_core.index.lookup import matches, restricted
from lineage_core.index.provrc import Ranges, decode, encode
from lineage_core.index.ranges import merged
from lineage_core.index.relation import Integers, Relation, order_of, relation, starts

CHUNK = 1 << 20
"""How many pairs are encoded at once."""

MOST_PAIRS = 1 << 28
"""How many pairs of a block are unpacked at the most, unless told: some GiB."""

VERSION = 2

_MAGIC = b"RLINDEX\n"
_FOOTER = struct.Struct("<QQIIHBB")
"""Pairs, the directory's place, blocks, how many bytes stand between directory and footer, version,
and axes of keys and values."""

_CHECK = struct.Struct("<I")
"""The checksum of directory and footer."""

_MOST_AXES = 64

_KEPT = 64
"""Blocks that a reader keeps unpacked: some 40 MiB of one axis to one."""


class IndexWriter:
    """Writes one relation, given in the order of its keys, with little memory.

    The bytes depend on the relation alone, not on how it is cut into pieces.

    Args:
        sink: what is written to.
        shape: how many cells each axis has, those of keys first.
        keys: how many of the axes are those of keys.
        subject: what the index is of; a reader asks for the same.

    Attributes:
        given: how many pairs have been added.
    """

    def __init__(self, sink: BinaryIO, shape: Sequence[int], keys: int, subject: str) -> None:
        self._sink = sink
        self._shape, self._keys, self._subject = tuple(shape), keys, subject
        self._given: list[Relation] = []
        self._held = 0
        self._tail: Ranges | None = None
        self._entries: list[tuple[object, ...]] = []
        self._place = 0
        self.given = 0

    def add(self, pairs: Relation) -> None:
        """Add pairs whose keys are not below those added before."""
        self._given.append(pairs)
        self.given += len(pairs)
        self._held += len(pairs)
        while self._held > CHUNK:
            joined = self._join()
            cut = _cut(joined.keys)
            self._encode(_part(joined, slice(cut)))
            self._given = [_part(joined, slice(cut, None))]
            self._held = len(joined) - cut

    def finish(self) -> None:
        """Write what is left, the directory and the footer."""
        joined = self._join()
        if len(joined):
            self._encode(joined)
        if self._tail is not None:
            self._write(self._tail)
        directory = np.array(self._entries, dtype=_entry(self._keys)).tobytes()
        about = np.array(self._shape, dtype="<i8").tobytes() + self._subject.encode()
        keys, values = self._keys, len(self._shape) - self._keys
        footer = _FOOTER.pack(
            *(self.given, self._place, len(self._entries), len(about)), *(VERSION, keys, values)
        )
        end = directory + about + footer
        self._sink.write(end + _CHECK.pack(zlib.crc32(end)) + _MAGIC)

    def _join(self) -> Relation:
        axes = len(self._shape)
        empty = Relation(
            np.empty((self._keys, 0), np.int64), np.empty((axes - self._keys, 0), np.int64)
        )
        parts = self._given or [empty]
        return Relation(
            np.concatenate([part.keys for part in parts], axis=1),
            np.concatenate([part.values for part in parts], axis=1),
        )

    def _encode(self, pairs: Relation) -> None:
        ranges = encode(pairs)
        if self._tail is not None:
            ranges = _joined(self._tail, ranges)
        while len(ranges) > block.MOST_ROWS:
            self._write(ranges.take(slice(block.MOST_ROWS)))
            ranges = ranges.take(slice(block.MOST_ROWS, None))
        self._tail = ranges

    def _write(self, ranges: Ranges) -> None:
        data = block.write(ranges)
        low, high = _bounds(ranges)
        self._entries.append((self._place, low, high, len(data), len(ranges), zlib.crc32(data)))
        self._place += len(data)
        self._sink.write(data)


class Index:
    """An index file, looked up by key; safe to use from several threads.

    Args:
        data: the bytes of the file.
        subject: what it has to be of.

    Raises:
        CorruptError: it is no index of that, or not as it was written.
    """

    def __init__(self, data: memoryview, subject: str) -> None:
        self._data = data
        found = _Footer.read(data)
        if found.subject != subject:
            raise _corrupt("is of another relation")
        self.pairs, self.shape, self.keys = found.pairs, found.shape, found.keys
        self._directory = found.directory
        self._low, self._high = found.directory["low"].T, found.directory["high"].T
        self._reach = np.maximum.accumulate(self._high[0]) if found.blocks else None
        self._kept: OrderedDict[int, Ranges] = OrderedDict()
        self._lock = Lock()
        self.blocks_read = 0

    @property
    def blocks(self) -> int:
        """How many blocks the file has."""
        return len(self._directory)

    def related(self, wanted: Cells) -> Cells:
        """Return the values of all the key cells `wanted`.

        Raises:
            CorruptError: a block that may hold them is not as it was written.
        """
        values = len(self.shape) - self.keys
        low = [np.empty((values, 0), dtype=np.int64)]
        high = low[:]
        for number, part in self._met(wanted):
            begins, ends = matches(self._block(number), part)
            low.append(begins)
            high.append(ends)
        return boxes(np.concatenate(low, axis=1), np.concatenate(high, axis=1))

    def pairs_of(self, wanted: Cells, most: int = MOST_PAIRS) -> Relation:
        """Return the pairs of all the key cells `wanted`.

        Raises:
            CorruptError: a block that may hold them is not as it was written, or there are more
                than `most` in one of them.
        """
        found = [decode(restricted(self._block(n), part), most) for n, part in self._met(wanted)]
        if not found:
            return self._nothing()
        keys = np.concatenate([pairs.keys for pairs in found], axis=1)
        return relation(keys, np.concatenate([pairs.values for pairs in found], axis=1))

    def _nothing(self) -> Relation:
        values = len(self.shape) - self.keys
        return Relation(np.empty((self.keys, 0), np.int64), np.empty((values, 0), np.int64))

    def ranges(self) -> Iterator[Ranges]:
        """Yield the blocks, unpacked."""
        return (self._block(number) for number in range(self.blocks))

    def _met(self, wanted: Cells) -> Iterator[tuple[int, Cells]]:
        """Yield the blocks that may hold some of the wanted keys, and which."""
        if self._reach is None or not len(wanted):
            return
        reach = np.maximum.accumulate(wanted.high[0])
        lows = self._low[0].astype(np.int64)
        first = np.searchsorted(self._reach, wanted.low[0, 0], side="left")
        last = np.searchsorted(lows, reach[-1], side="right")
        numbers = np.arange(first, last)
        begin = np.searchsorted(reach, lows[numbers], side="left")
        highs = self._high[0].astype(np.int64)
        end = np.searchsorted(wanted.low[0], highs[numbers], side="right")
        met = begin < end
        for axis in range(1, self.keys):
            met &= self._low[axis, numbers] <= wanted.high[axis].max()
            met &= self._high[axis, numbers] >= wanted.low[axis].min()
        for number, a, b in zip(numbers[met], begin[met], end[met], strict=True):
            yield int(number), Cells(wanted.low[:, a:b], wanted.high[:, a:b])

    def _block(self, number: int) -> Ranges:
        with self._lock:
            if number in self._kept:
                self._kept.move_to_end(number)
                return self._kept[number]
        entry = self._directory[number]
        place, size = int(entry["place"]), int(entry["size"])
        data = self._data[place : place + size]
        if zlib.crc32(data) != entry["check"]:
            raise _corrupt("has a damaged block")
        ranges = block.read(data, int(entry["rows"]), self.keys, len(self.shape) - self.keys)
        if _bounds(ranges) != (tuple(entry["low"]), tuple(entry["high"])):
            raise _corrupt("has a block in another one's place")
        if not ranges.within(self.shape):
            raise _corrupt("has cells beyond its arrays")
        with self._lock:
            self.blocks_read += 1
            self._kept[number] = ranges
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return ranges


class IndexFile(Index):
    """An index in a local file, mapped into memory. Use it as a context manager."""

    def __init__(self, path: Path, subject: str) -> None:
        with path.open("rb") as file:
            try:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:
                raise _corrupt("is empty") from None
        super().__init__(memoryview(self._map), subject)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._data.release()
        self._map.close()


@dataclass(frozen=True, slots=True, eq=False)
class _Footer:
    pairs: int
    keys: int
    shape: Integers
    subject: str
    directory: np.ndarray[tuple[int], np.dtype[np.void]]

    @property
    def blocks(self) -> int:
        return len(self.directory)

    @staticmethod
    def read(data: memoryview) -> _Footer:
        check = len(data) - len(_MAGIC) - _CHECK.size
        end = check - _FOOTER.size
        if end < 0 or data[check + _CHECK.size :] != _MAGIC:
            raise _corrupt("does not end as an index does")
        pairs, place, blocks, size, version, keys, values = _FOOTER.unpack_from(data, end)
        if version != VERSION:
            raise _corrupt(f"has version {version}; this is for version {VERSION}")
        about = end - size
        axes = keys + values
        most = max(keys, values)
        if not (keys and values) or most > _MOST_AXES or size < 8 * axes:
            raise _corrupt("has no axes, or too many")
        entry = _entry(keys)
        if place + blocks * entry.itemsize != about:
            raise _corrupt("has a directory of another size than it says")
        if zlib.crc32(data[place:check]) != _CHECK.unpack_from(data, check)[0]:
            raise _corrupt("has a damaged directory")
        directory = np.frombuffer(data[place:about], dtype=entry).copy()
        begins = np.concatenate(([0], np.cumsum(directory["size"], dtype=np.uint64)))
        ordered = (np.diff(directory["low"][:, 0]) >= 0).all()
        if not ordered or (directory["place"] != begins[:-1]).any() or begins[-1] != place:
            raise _corrupt("has a directory that is none")
        shape = np.frombuffer(data[about : about + 8 * axes], dtype="<i8").astype(np.int64)
        subject = bytes(data[about + 8 * axes : end]).decode(errors="replace")
        return _Footer(pairs, keys, shape, subject, directory)


def _entry(keys: int) -> np.dtype[np.void]:
    """Return the form of a block's entry in the directory."""
    return np.dtype(
        [
            ("place", "<u8"),
            ("low", "<i8", (keys,)),
            ("high", "<i8", (keys,)),
            ("size", "<u4"),
            ("rows", "<u4"),
            ("check", "<u4"),
        ]
    )


def _bounds(ranges: Ranges) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return where the keys of a block begin, and where they end, on each axis."""
    low, high = ranges.key_low.min(axis=1), ranges.key_high.max(axis=1)
    return tuple(map(int, low)), tuple(map(int, high))


def _part(pairs: Relation, places: slice) -> Relation:
    return Relation(pairs.keys[:, places], pairs.values[:, places])


def _cut(keys: Integers) -> int:
    """Return how many of the first `CHUNK` pairs are encoded at once: whole keys, if it can be."""
    begins = np.flatnonzero(starts(keys[:, : CHUNK + 1]))
    return int(begins[-1]) if len(begins) and begins[-1] else CHUNK


def _joined(before: Ranges, after: Ranges) -> Ranges:
    """Return the rows of both, joined where a range goes on from one chunk to the next.

    That may be in rows whose keys begin no later than those before end; the others follow.
    """
    reach = int(before.key_high[0].max()) + 1
    met = int(np.searchsorted(after.key_low[0], reach, side="right"))
    return _following(_merged(before, after.take(slice(met))), after.take(slice(met, None)))


def _merged(before: Ranges, after: Ranges) -> Ranges:
    both = _following(before, after)
    rest = np.concatenate((both.base, both.value_low, both.value_high))
    low, high = (np.concatenate((ends, rest)) for ends in (both.key_low, both.key_high))
    begin, end = merged(low, high, 0)
    keys = len(before.key_low)
    base, value_low, value_high = np.split(begin[keys:], 3)
    joined = Ranges(begin[:keys], end[:keys], value_low, value_high, base)
    return joined.take(order_of(joined.columns))


def _following(before: Ranges, after: Ranges) -> Ranges:
    """Return the rows of one encoding, and then those of another."""
    return Ranges(
        *(
            np.concatenate((getattr(before, field.name), getattr(after, field.name)), axis=1)
            for field in fields(Ranges)
        )
    )


def _corrupt(what: str) -> CorruptError:
    return CorruptError(f"an index file {what}", hint="build the index again")
