"""Checking dependencies attribute by attribute (UG): each value gets a code, once for all checks.

The codes of an attribute's rows are the forward rid array of `SELECT DISTINCT attribute`. A check
is a few passes over two of them: each value of the determinant is given the dependent value of one
of its rows, and is violated if another of its rows differs. Nothing is sorted but violating rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lineage_core.profile.encoding import Encoded, encoded
from lineage_core.profile.notation import Dependency
from lineage_core.profile.table import Numbers, Table
from lineage_core.profile.violations import Violations, violations

_AT_ONCE = 4
"""Columns that are read at the same time; each takes memory for its values until it is encoded."""


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """The values of some columns together, told apart.

    Attributes:
        codes: the code of each row, below `size`.
        size: how many codes there may be.
        known: whether no column is null, for each row; None if none ever is.
    """

    codes: Numbers
    size: int
    known: npt.NDArray[np.bool_] | None


class Attributes:
    """The attributes of a dataset, each read and encoded when first needed.

    It holds 8 bytes a row for each, and the distinct values.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._single: dict[int, Attribute] = {}
        self._values: dict[int, pa.Array] = {}
        self._several: dict[tuple[int, ...], Attribute] = {}

    def read(self, columns: Iterable[int]) -> None:
        """Read some columns, as many at once as there are processors, four at most."""
        new = sorted(set(columns) - self._single.keys())
        with ThreadPoolExecutor(min(os.cpu_count() or 1, _AT_ONCE)) as pool:
            for column, found in zip(
                new, pool.map(partial(encoded, self._table), new), strict=True
            ):
                self._keep(column, found)

    def check(
        self, dependency: Dependency, determinant: Sequence[int], dependent: Sequence[int]
    ) -> Violations:
        """Return what violates a dependency between columns, given by position."""
        left, right = self._attribute(determinant), self._attribute(dependent)
        rows = _violating(left, right)
        first = pa.array(left.codes[rows]).dictionary_encode()  # in the order of the first rows
        numbers = first.indices.to_numpy().astype(np.int64)
        order = np.argsort(numbers, kind="stable")
        numbers, rows = numbers[order], rows[order]
        begins = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1]))[: len(rows)])
        found = [
            self._values[column].take(self._codes(column, rows[begins])) for column in determinant
        ]
        return violations(
            dependency,
            self._table,
            determinant,
            found,
            numbers,
            self._table.rids(rows),
            _distinct(numbers, right, rows, len(begins)),
        )

    def _codes(self, column: int, rows: Numbers) -> Numbers:
        return self._single[column].codes[rows]

    def _attribute(self, columns: Sequence[int]) -> Attribute:
        key = tuple(sorted(columns))
        if key not in self._several:
            found = self._column(key[0])
            for column in key[1:]:
                found = _together(found, self._column(column))
            self._several[key] = found
        return self._several[key]

    def _column(self, column: int) -> Attribute:
        self.read([column])
        return self._single[column]

    def _keep(self, column: int, found: Encoded) -> None:
        nulls = found.values.is_null().to_numpy(zero_copy_only=False)
        known = ~nulls[found.codes] if nulls.any() else None
        self._single[column] = Attribute(found.codes, len(found.values), known)
        self._values[column] = found.values


def _together(one: Attribute, other: Attribute) -> Attribute:
    """Return the attribute of the columns of both; rows agree in it that agree in both."""
    codes = pa.array(one.codes * other.size + other.codes).dictionary_encode()
    known = [each.known for each in (one, other) if each.known is not None]
    both = np.logical_and.reduce(known) if known else None
    return Attribute(codes.indices.to_numpy().astype(np.int64), len(codes.dictionary), both)


def _violating(left: Attribute, right: Attribute) -> Numbers:
    """Return the numbers of all rows whose value of `left` has several of `right`."""
    codes, others = left.codes, right.codes
    if right.known is not None:
        codes, others = codes[right.known], others[right.known]
    some = np.empty(left.size, dtype=others.dtype)
    some[codes] = others  # whichever is last
    violated = np.zeros(left.size, dtype=bool)
    violated[codes[some[codes] != others]] = True
    return np.flatnonzero(violated[left.codes])


def _distinct(numbers: Numbers, right: Attribute, rows: Numbers, count: int) -> Numbers:
    """Return how many dependent values each violating value has."""
    if right.known is not None:
        numbers, rows = numbers[right.known[rows]], rows[right.known[rows]]
    pairs = pc.unique(pa.array(numbers * right.size + right.codes[rows])).to_numpy()
    return np.bincount(pairs // max(right.size, 1), minlength=count)
