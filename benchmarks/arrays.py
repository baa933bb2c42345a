"""The operations of DSLog's Table VII as relations of cells: what each output cell was made of.

Sizes are the paper's, except where its tables take more memory or time than a small machine has;
the results say so. Where the paper's data are not public they are generated: noise, blocks, and
smooth random masks. A relation is a sequence of chunks in the order of its keys, so that one of
10^9 pairs is never whole in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from lineage_core.index import Relation, relation

Cells = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lineage:
    """One operation's lineage: a relation for each input, and the shape of output and input.

    Attributes:
        relations: from cells of the output to those of an input.
        shapes: the axes of the output, then those of the input.
        inverses: the relations looked up by input, where they are too large to be turned here.
        scaled: how this is smaller than what the paper measured.
    """

    relations: tuple[Relation | Slabs, ...]
    shapes: tuple[tuple[int, ...], ...]
    inverses: tuple[Slabs, ...] = ()
    scaled: str = ""


@dataclass(frozen=True, slots=True)
class Slabs(Sequence[Relation]):
    """A relation of an array of `size` slabs, of which each is made when it is asked for."""

    size: int
    slab: Callable[[int], Relation]

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, number: int) -> Relation: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Relation]: ...
    def __getitem__(self, number: int | slice) -> Relation | Sequence[Relation]:
        if isinstance(number, slice):
            return [self.slab(each) for each in range(self.size)[number]]
        return self.slab(range(self.size)[number])


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


def matrix_matrix(size: int = 200) -> Lineage:
    """Cell (i, j) of the product is made of row i of one matrix and column j of the other.

    Looked up by input it is the same with other names: row i of the product of cell (i, k), and
    column j of cell (k, j).
    """
    one, other = grid(size, size)

    def row(number: int) -> Relation:
        first = np.full_like(one, number)
        return Relation(np.stack((first, one)), np.stack((first, other)))

    def column(number: int) -> Relation:
        return Relation(np.stack((np.full_like(one, number), one)), np.stack((other, one)))

    rows, columns = Slabs(size, row), Slabs(size, column)
    scaled = "" if size == 1000 else f"{size} x {size}, 1000 x 1000 in the paper"
    return Lineage((rows, columns), ((size,) * 4,) * 2, (rows, columns), scaled)


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
        scaled="16 million pairs, 82 million in the paper",
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


def workflows(count: int, length: int, seed: int) -> Iterator[list[tuple[Relation, Shape]]]:
    """Yield chains of random numpy operations on an array of 100,000 cells, from the input on.

    Half of the operations are elementwise, as in the list that the paper draws from; the others
    take one array and give one, too. Each is a relation from its output to its input, with the
    shape of both.
    """
    choose = np.random.default_rng(seed)
    for _ in range(count):
        shape, chain = (400, 250), []
        for _ in range(length):
            elementwise = choose.random() < 0.5
            operation = same if elementwise else OTHERS[int(choose.integers(len(OTHERS)))]
            made, after = operation(shape, choose)
            chain.append((made, (*after, *shape)))
            shape = after
        yield chain


Shape = tuple[int, ...]
Step = tuple[Relation, Shape]


def same(shape: Shape, _: np.random.Generator) -> Step:
    cells = grid(*shape)
    return relation(cells, cells), shape


def flipped(shape: Shape, choose: np.random.Generator) -> Step:
    cells, axis = grid(*shape), int(choose.integers(2))
    moved = [shape[n] - 1 - at if n == axis else at for n, at in enumerate(cells)]
    return relation(cells, moved), shape


def rolled(shape: Shape, choose: np.random.Generator) -> Step:
    cells, axis = grid(*shape), int(choose.integers(2))
    by = int(choose.integers(shape[axis]))
    return relation(
        cells, [(at + by * (n == axis)) % shape[n] for n, at in enumerate(cells)]
    ), shape


def transposed(shape: Shape, _: np.random.Generator) -> Step:
    i, j = grid(*shape[::-1])
    return relation([i, j], [j, i]), shape[::-1]


def sorted_(shape: Shape, choose: np.random.Generator) -> Step:
    """Sort along an axis."""
    axis = int(choose.integers(2))
    order = np.argsort(choose.random(shape), axis=axis).ravel()
    i, j = grid(*shape)
    return relation([i, j], [i, order] if axis else [order, j]), shape


def filtered(shape: Shape, _: np.random.Generator) -> Step:
    """A window of 3 along the last axis, as of `convolve(mode="same")`."""
    i, j, a = grid(*shape, 3)
    inside = (j + a > 0) & (j + a <= shape[1])
    return relation([i[inside], j[inside]], [i[inside], (j + a - 1)[inside]]), shape


def repeated(shape: Shape, _: np.random.Generator) -> Step:
    """Every other cell, twice: an array scaled down and up again."""
    i, j = grid(*shape)
    return relation([i, j], [i - i % 2, j - j % 2]), shape


def accumulated(shape: Shape, _: np.random.Generator) -> Step:
    """A sum of all cells before, in blocks of 10 of the last axis."""
    i, j, a = grid(*shape, 10)
    before = a <= j % 10
    return relation([i[before], j[before]], [i[before], (j - j % 10 + a)[before]]), shape


OTHERS = (flipped, rolled, transposed, sorted_, filtered, repeated, accumulated)
