"""Columns of integers as bytes: the smallest of a few forms, none of which needs much room to read.

    constant    one value
    linear      a first value and a step: rids in a row, strided rids
    packed      what each value is above the least, in as many bits as most of them need; two
                columns behind it say which need more, and their upper bits
    delta       the steps between the values, packed: rids in order
    zigzag      steps up and down, packed by their size: lists of rids, one after the other
    runs        values and how often each follows itself: the keys of long lists

A form says how long it is before anything of it is read, and nothing of it is longer when unpacked
than the number of values asked for: hostile bytes get no memory. All numbers are little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from lineage_core.errors import CorruptError
from lineage_core.index.relation import Integers

_HEAD = struct.Struct("<BBqqI")
"""Form, bits, two numbers of the form, and how many bytes follow."""

_PATCHES = struct.Struct("<I")
"""How many numbers of a packed column need more bits."""

_WINDOW = 8
_WIDEST = 57
"""A number of so many bits fits in 8 bytes wherever it begins in the first of them."""

_POWERS = 1 << np.arange(63)
_MOST = (1 << 63) - 1


class Form(IntEnum):
    """How a column is written."""

    CONSTANT = 0
    LINEAR = 1
    PACKED = 2
    DELTA = 3
    RUNS = 4
    ZIGZAG = 5


def write(values: Integers, *, runs: bool = True) -> bytes:
    """Return the shortest form of a column, of forms equally short the simplest.

    Args:
        values: the column; the greatest is less than 2 ** 63 above the least.
        runs: whether it may be written as runs.
    """
    if not len(values):
        return _HEAD.pack(Form.CONSTANT, 0, 0, 0, 0)
    steps = np.diff(values)
    first = int(values[0])
    if not steps.any():
        return _HEAD.pack(Form.CONSTANT, 0, first, 0, 0)
    if (steps == steps[0]).all():
        return _HEAD.pack(Form.LINEAR, 0, first, int(steps[0]), 0)
    packed = [_Packed.of(Form.PACKED, values, 0)]
    if int(steps.max()) - int(steps.min()) <= _MOST:
        packed.append(_Packed.of(Form.DELTA, steps, first))
    if -_MOST <= 2 * int(steps.min()) <= 2 * int(steps.max()) <= _MOST:
        packed.append(_Packed.of(Form.ZIGZAG, (steps << 1) ^ (steps >> 63), first))
    best = min(packed, key=lambda form: form.size)
    changes = np.flatnonzero(steps) + 1
    if runs and len(changes) < len(values) // 4:
        written = _runs(values, changes)
        if len(written) < best.size:
            return written
    return best.write()


def read(data: memoryview, count: int) -> tuple[Integers, int]:
    """Return the column that `data` begins with, and how many bytes it takes.

    Args:
        data: the bytes.
        count: how many values the column has.

    Raises:
        CorruptError: the bytes are no column of so many values.
    """
    if len(data) < _HEAD.size:
        raise _corrupt("ends within a column")
    form, bits, one, other, size = _HEAD.unpack_from(data)
    end = _HEAD.size + size
    if size > len(data) - _HEAD.size:
        raise _corrupt("ends within a column")
    body = data[_HEAD.size : end]
    match form:
        case Form.CONSTANT if not size:
            return np.full(count, one, dtype=np.int64), end
        case Form.LINEAR if not size:
            line: Integers = one + other * np.arange(count, dtype=np.int64)
            return line, end
        case Form.PACKED:
            return _unpacked(body, bits, count) + one, end
        case Form.DELTA if count:
            steps = _unpacked(body, bits, count - 1) + other
            return np.concatenate(([one], one + np.cumsum(steps))), end
        case Form.ZIGZAG if count:
            sizes = _unpacked(body, bits, count - 1) + other
            steps = (sizes >> 1) ^ -(sizes & 1)
            return np.concatenate(([one], one + np.cumsum(steps))), end
        case Form.RUNS if 0 < one <= count:
            return _of_runs(body, one, count), end
    raise _corrupt("has a column of no known form")


@dataclass(frozen=True, slots=True)
class _Packed:
    """A packed form of a column, of which the size is known before it is written.

    Attributes:
        form: which form.
        numbers: what its head says besides.
        above: what is packed, less the least of it.
        bits: in how many bits most of it goes.
        high: where the rest is, whose upper bits stand behind.
    """

    form: Form
    numbers: tuple[int, int]
    above: Integers
    bits: int
    high: Integers

    @staticmethod
    def of(form: Form, values: Integers, first: int) -> _Packed:
        least = int(values.min())
        above = values - least
        bits = _width(above)
        high = np.flatnonzero(above >> bits)
        numbers = (least, 0) if form is Form.PACKED else (first, least)
        return _Packed(form, numbers, above, bits, high)

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        size = _plain_size(len(self.above), self.bits)
        if len(self.high):
            upper = int(self.above.max()).bit_length() - self.bits
            size += _plain_size(len(self.high), int(self.high[-1]).bit_length())
            size += _plain_size(len(self.high), upper)
        return size

    def write(self) -> bytes:
        body = _PATCHES.pack(len(self.high)) + _bits(self.above, self.bits)
        if len(self.high):
            body += _plain(self.high) + _plain(self.above[self.high] >> self.bits)
        return _HEAD.pack(self.form, self.bits, *self.numbers, len(body)) + body


def _plain(values: Integers) -> bytes:
    """Return a column in which every number has the bits of the greatest."""
    bits = int(values.max()).bit_length()
    body = _PATCHES.pack(0) + _bits(values, bits)
    return _HEAD.pack(Form.PACKED, bits, 0, 0, len(body)) + body


def _plain_size(count: int, bits: int) -> int:
    return _HEAD.size + _PATCHES.size + (count * bits + 7) // 8


def _width(values: Integers) -> int:
    """Return in how many bits most of the values go, so that all of them take the fewest bytes."""
    sizes = np.bincount(np.searchsorted(_POWERS, values, side="right"), minlength=64)
    most = int(np.flatnonzero(sizes)[-1])
    widths = np.arange(max(most - _WIDEST, 0), min(most, _WIDEST) + 1)
    beyond = len(values) - np.cumsum(sizes)[widths]
    # Of those beyond, place and upper bits are columns of their own.
    each = len(values).bit_length() + most - widths
    cost = widths * len(values) + np.where(beyond > 0, beyond * each + 2 * 8 * _HEAD.size, 0)
    return int(widths[np.argmin(cost)])


def _bits(values: Integers, bits: int) -> bytes:
    ones = (values[:, None] >> np.arange(bits)) & 1
    return np.packbits(ones.astype(np.uint8), bitorder="little").tobytes()


def _unpacked(body: memoryview, bits: int, count: int) -> Integers:
    end = _PATCHES.size + (bits * count + 7) // 8
    if bits > _WIDEST or len(body) < end:
        raise _corrupt("has a column of another length than it says")
    (patches,) = _PATCHES.unpack_from(body)
    values = _unpacked_bits(body[_PATCHES.size : end], bits, count)
    if patches:
        places, size = _patch(body[end:], patches, count)
        upper, more = _patch(body[end + size :], patches, count)
        end += size + more
        if int(places.max()) >= count or places.min() < 0:
            raise _corrupt("has numbers beyond its columns")
        values[places] |= upper << bits
    if end != len(body):
        raise _corrupt("has a column of another length than it says")
    return values


def _patch(body: memoryview, patches: int, count: int) -> tuple[Integers, int]:
    if patches > count or not len(body) or body[0] != Form.PACKED:
        raise _corrupt("has more than it says")
    if body[_HEAD.size : _HEAD.size + _PATCHES.size] != _PATCHES.pack(0):
        raise _corrupt("has columns within columns")
    return read(body, patches)


def _unpacked_bits(body: memoryview, bits: int, count: int) -> Integers:
    begins = np.arange(count, dtype=np.int64) * bits
    padded = np.zeros(len(body) + _WINDOW, dtype=np.uint8)
    padded[: len(body)] = np.frombuffer(body, dtype=np.uint8)
    windows: np.ndarray[tuple[int], np.dtype[np.uint64]] = np.ndarray(
        (len(body) + 1,), dtype="<u8", buffer=padded.data, strides=(1,)
    )
    found = windows[begins >> 3] >> (begins & 7).astype(np.uint64)
    unpacked: Integers = (found & np.uint64((1 << bits) - 1)).astype(np.int64)
    return unpacked


def _runs(values: Integers, changes: Integers) -> bytes:
    begins = np.concatenate(([0], changes))
    lengths = np.diff(np.append(begins, len(values)))
    body = write(values[begins], runs=False) + write(lengths, runs=False)
    return _HEAD.pack(Form.RUNS, 0, len(begins), 0, len(body)) + body


def _of_runs(body: memoryview, runs: int, count: int) -> Integers:
    if len(body) >= _HEAD.size and body[0] == Form.RUNS:
        raise _corrupt("has runs of runs")
    values, size = read(body, runs)
    if body[size : size + 1] == bytes([Form.RUNS]):
        raise _corrupt("has runs of runs")
    lengths, rest = read(body[size:], runs)
    if size + rest != len(body) or lengths.min() < 1 or int(lengths.max()) > count:
        raise _corrupt("has runs of another length than it says")
    if int(lengths.sum()) != count:
        raise _corrupt("has runs of another length than it says")
    return np.repeat(values, lengths)


def _corrupt(what: str) -> CorruptError:
    return CorruptError(f"an index block {what}", hint="build the index again")
