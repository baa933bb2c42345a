"""Window functions: the rows a function sees from one row of an ordered partition, and its value.

The rows are also the row's lineage: those of the frame; for `rank`, `dense_rank` and `row_number`
the rows up to the current one and its peers; for functions of the partition's size all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lineage_core.plan.expr import Expr, Frame, FrameUnit, Literal, WindowCall
from lineage_core.plan.relation import SortKey
from tests.pipelines.aggregates import aggregate
from tests.pipelines.values import Value, Values, evaluate, ordered


@dataclass(frozen=True, slots=True)
class Frames:
    """An ordered partition: the values of its sort keys, and how many rows each has for peers."""

    order: Sequence[SortKey]
    keys: Sequence[Sequence[Value]]
    peers: Sequence[int]

    @property
    def tied(self) -> bool:
        """Whether the order does not tell all rows apart."""
        return any(count > 1 for count in self.peers)

    def group(self, number: int) -> tuple[int, int, int]:
        """Return the number of a row's group of peers, and its first and last row."""
        first = 0
        for group, count in enumerate(self.peers):
            if number < first + count:
                return group, first, first + count - 1
            first += count
        raise IndexError(number)

    def rows(self, frame: Frame, number: int) -> range:
        """Return the numbers of the rows in the frame of row `number`."""
        last = len(self.keys) - 1
        if frame.unit is FrameUnit.ROWS:
            low = 0 if frame.lower is None else number + _distance(frame.lower)
            high = last if frame.upper is None else number + _distance(frame.upper)
            return range(max(low, 0), max(min(high, last) + 1, 0))
        inside = [
            i
            for i, keys in enumerate(self.keys)
            if (frame.lower is None or self._from(keys, number, frame.lower) >= 0)
            and (frame.upper is None or self._from(keys, number, frame.upper) <= 0)
        ]
        return range(inside[0], inside[-1] + 1) if inside else range(0)

    def _from(self, keys: Sequence[Value], number: int, distance: Literal) -> int:
        """Return whether a row is before, at or after a bound of the frame of row `number`."""
        bound = self.keys[number]
        shift = _distance(distance)
        if shift:
            (value,), (key,) = bound, self.order
            moved = shift if key.ascending else -shift
            bound = [None if value is None else value + moved]
        return ordered(self.order, keys, bound)


@dataclass(frozen=True, slots=True)
class Seen:
    """A window function's value, the rows it saw, and whether chance had a part in either."""

    value: Value
    rows: range
    tied: bool = False


def window_value(expr: Expr, frames: Frames, number: int, rows: Sequence[Values]) -> Seen:
    """Return what the window function `expr` gives for row `number` of the partition `rows`."""
    assert isinstance(expr, WindowCall)
    group, first, last = frames.group(number)
    size = len(rows)
    match expr.name:
        case "row_number":
            return Seen(number + 1, range(last + 1), frames.tied)
        case "rank":
            return Seen(first + 1, range(last + 1))
        case "dense_rank":
            return Seen(group + 1, range(last + 1))
        case "percent_rank":
            return Seen(first / (size - 1) if size > 1 else 0.0, range(size))
        case "cume_dist":
            return Seen((last + 1) / size, range(size))
        case "ntile":
            return Seen(_tile(number, size, evaluate(expr.args[0], {})), range(size), frames.tied)
        case "lag" | "lead":
            found = frames.rows(expr.frame, number)
            arg, default = expr.args[0], expr.args[2]
            value = evaluate(arg, rows[found[0]]) if found else evaluate(default, rows[number])
            return Seen(value, found, frames.tied)
        case _:
            found = frames.rows(expr.frame, number)
            whole = len(found) == size
            tied = frames.tied and expr.frame.unit is FrameUnit.ROWS and not whole
            return Seen(aggregate(expr, [rows[i] for i in found]), found, tied)


def _distance(bound: Literal) -> Value:
    assert isinstance(bound.value, int | float)
    return bound.value


def _tile(number: int, size: int, tiles: int) -> int:
    """Return the tile of a row: tiles differ by one row at most, the first ones are bigger."""
    small, big = divmod(size, tiles)
    ahead = big * (small + 1)
    if number < ahead:
        return number // (small + 1) + 1
    return big + (number - ahead) // small + 1
