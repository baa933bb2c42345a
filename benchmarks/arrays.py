"""The operations of DSLog's Table VII as relations of cells: what each output cell was made of.

Sizes are the paper's, except where its tables take more memory than a small machine has; the
results say so. Where the paper's data are not public they are generated: noise, blocks, and smooth
random masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lineage_core.index import Relation, relation

Cells = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lineage:
    """One operation's lineage: a relation for each input, and the shape of output and input."""

    relations: tuple[Relation, ...]
    shapes: tuple[tuple[int, ...], ...]
    scaled: str = ""


def grid(*shape: int) -> list[Cells]:
    """Return the coordinates of all cells of an array, an axis each."""
    return [axis.ravel() for axis in np.indices(shape)]


def negative() -> Lineage:
    i, j = grid(1000, 1000)
    return Lineage((relation([i, j], [i, j]),), ((1000,) * 4,))


def addition() -> Lineage:
    one = negative()
    return Lineage(one.relations * 2, one.shapes * 2)


def aggregate() -> Lineage:
    i, j = grid(1000, 1000)
    return Lineage((relation([j], [i, j]),), ((1000,) * 3,))


def repetition() -> Lineage:
    i, j = grid(2000, 2000)
    return Lineage((relation([i, j], [i % 1000, j % 1000]),), ((2000, 2000, 1000, 1000),))


def matrix_vector() -> Lineage:
    i, j = grid(1000, 1000)
    return Lineage((relation([i], [i, j]), relation([i], [j])), ((1000,) * 3, (1000,) * 2))


def matrix_matrix() -> Lineage:
    size = 200
    i, j, k = grid(size, size, size)
    return Lineage(
        (relation([i, j], [i, k]), relation([i, j], [k, j])),
        ((size,) * 4,) * 2,
        f"{size} x {size}, 1000 x 1000 in the paper",
    )


def sort() -> Lineage:
    rows, columns = 100_000, 10
    order = np.argsort(np.random.default_rng(1).random((rows, columns)), axis=0)
    i, j = grid(rows, columns)
    return Lineage((relation([i, j], [order.ravel(), j]),), ((rows, columns) * 2,))


def image_filter() -> Lineage:
    """A window of 3 by 3 around each pixel, as much of it as there is at the borders."""
    size = 140
    i, j, a, b = grid(size, size, 3, 3)
    x, y = i + a - 1, j + b - 1
    inside = (x >= 0) & (x < size) & (y >= 0) & (y < size)
    return Lineage((relation([i[inside], j[inside]], [x[inside], y[inside]]),), ((size,) * 4,))


def lime() -> Lineage:
    """Every one of some labels is explained by a few superpixels."""
    size, block, labels = 416, 26, 20
    chosen = np.random.default_rng(3).random((labels, size // block, size // block)) < 0.27
    mask = chosen.repeat(block, axis=1).repeat(block, axis=2)
    label, x, y = np.nonzero(mask)
    return Lineage((relation([label], [x, y]),), ((labels, size, size),))


def drise() -> Lineage:
    """A smooth random mask, of which what is above a threshold explains a detection."""
    size, coarse, boxes = 416, 9, 4
    noise = np.random.default_rng(4).random((boxes, coarse, coarse))
    places = np.linspace(0, coarse - 1, size)
    at, part = places.astype(int).clip(0, coarse - 2), places % 1
    part[-1] = 1
    rows = noise[:, at] * (1 - part)[:, None] + noise[:, at + 1] * part[:, None]
    smooth = rows[:, :, at] * (1 - part) + rows[:, :, at + 1] * part
    box, x, y = np.nonzero(smooth > 0.5)
    return Lineage((relation([box], [x, y]),), ((boxes, size, size),))


def group_by() -> Lineage:
    rows, columns = 2_000_000, 4
    groups = np.random.default_rng(5).zipf(1.3, rows) % 5000
    i, j = grid(rows, columns)
    return Lineage((relation([groups[i], j], [i, j]),), ((5000, columns, rows, columns),))


def inner_join() -> Lineage:
    """Titles and their episodes, in the order of the titles."""
    titles = 200_000
    episodes = np.random.default_rng(6).geometric(0.1, titles)
    title = np.repeat(np.arange(titles), episodes)
    out = np.arange(len(title))
    i, j = (axis.ravel() for axis in np.broadcast_arrays(out[:, None], np.arange(4)))
    return Lineage(
        (relation([i, j], [title[i], j]), relation([i, j + 4], [i, j])),
        ((len(title), 8, titles, 4), (len(title), 8, len(title), 4)),
        "16 million pairs, 82 million in the paper",
    )


OPERATIONS: dict[str, Callable[[], Lineage]] = {
    "Negative": negative,
    "Addition": addition,
    "Aggregate": aggregate,
    "Repetition": repetition,
    "Matrix*Vector": matrix_vector,
    "Matrix*Matrix": matrix_matrix,
    "Sort": sort,
    "ImgFilter": image_filter,
    "Lime": lime,
    "DRISE": drise,
    "Group By": group_by,
    "Inner Join": inner_join,
}


def steps(size: int, count: int, seed: int) -> Iterator[Relation]:
    """Yield the relations, from output to input, of a chain of random operations of one axis."""
    choose = np.random.default_rng(seed)
    cells = np.arange(size)
    operations: list[Callable[[], Relation]] = [
        lambda: relation([cells], [cells]),
        lambda: relation([cells], [cells[::-1]]),
        lambda: relation([cells], [np.roll(cells, int(choose.integers(size)))]),
        lambda: relation([cells], [np.argsort(choose.random(size))]),
        lambda: relation([cells.repeat(3)], [(cells[:, None] + np.arange(3)).ravel() % size]),
        lambda: relation([cells], [cells - cells % 10]),
    ]
    for _ in range(count):
        yield operations[int(choose.integers(len(operations)))]()
