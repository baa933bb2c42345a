"""What violates a functional dependency: values, and the rows that have them, as a graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lineage_core.errors import NotFoundError
from lineage_core.plan.expr import TRUE
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.profile.notation import Dependency
from lineage_core.profile.table import Numbers, Table
from lineage_core.query.chain import Path
from lineage_core.query.reader import Reader
from lineage_core.query.relations import Relations
from lineage_core.query.selection import Rids
from lineage_core.query.types import arrow_type

ROWS = "rows"
DISTINCT = "distinct"
NUMBER = "violation"
RID = "rid"
DEPENDENCY = "dependency"


class Violations:
    """The values that violate a dependency, numbered from 0 in the order of their first rows.

    Attributes:
        dependency: the dependency.
        snapshot: what was looked at; rids are of it.
        count: how many values violate the dependency.
    """

    def __init__(
        self,
        dependency: Dependency,
        table: Table,
        values: pa.Table,
        numbers: Numbers,
        rids: Numbers,
    ) -> None:
        self.dependency = dependency
        self.snapshot = table.snapshot
        self.count = values.num_rows
        self._table = table
        self._values = values
        self._numbers = numbers
        self._rids = rids

    def __repr__(self) -> str:
        return f"<Violations of {self.dependency}: {self.count} in {len(self._rids)} rows>"

    def values(self) -> pa.Table:
        """Return the violating values: the determinant's columns, then two counts.

        `rows` is how many rows have the value, `distinct` how many dependent values those have;
        with underscores added where the determinant has a column of that name.
        """
        return self._values

    def graph(self) -> pa.Table:
        """Return the edges between values and rows: `violation`, the value's number, and `rid`.

        They are in that order. Every row that has a violating value is there, also where its
        dependent value is null, or is that of most.
        """
        return pa.table({NUMBER: self._numbers, RID: self._rids})

    def rows(self, number: int) -> pa.Table:
        """Return the rows that have a violating value: `rid`, and all columns of the dataset.

        Raises:
            NotFoundError: no violating value has this number.
            ChangedError: the dataset is not what it was.
        """
        if not 0 <= number < self.count:
            raise NotFoundError(
                f"{self.dependency} has no violation number {number}",
                hint=f"there are {self.count}, numbered from 0",
            )
        begin, end = np.searchsorted(self._numbers, [number, number + 1])
        step = Step(StepKind.TARGET, -1, TRUE, (), 0, self.snapshot.dataset)
        relations = Relations(LineageProgram((step,)), {0: self.snapshot}, ({},))
        selection = Rids(pa.array(self._rids[begin:end]), given=True)
        columns = tuple(range(len(self.snapshot.columns)))
        reader = Reader(self._table.engines, self._table.engine)
        return reader.rows(Path(relations, (0,), selection), columns, rids=True)


def violations(
    dependency: Dependency,
    table: Table,
    columns: Sequence[int],
    values: Sequence[pa.Array],
    numbers: Numbers,
    rids: Numbers,
    distinct: Numbers,
) -> Violations:
    """Return violations that were found.

    Args:
        dependency: what is violated.
        table: the dataset.
        columns: positions of the determinant's columns.
        values: for each of them, its value in each violating value.
        numbers: of violating values, in order: one for each row that has one.
        rids: those of these rows, in order for each number.
        distinct: how many dependent values each violating value has.
    """
    types = [table.snapshot.columns[column] for column in columns]
    arrays = [array.cast(arrow_type(type.type)) for array, type in zip(values, types, strict=True)]
    names = [type.name for type in types]
    sizes = np.bincount(numbers, minlength=len(distinct)).astype(np.int64)
    arrays += [pa.array(sizes), pa.array(distinct.astype(np.int64))]
    for name in (ROWS, DISTINCT):
        while name in names:
            name += "_"
        names.append(name)
    return Violations(dependency, table, pa.table(arrays, names=names), numbers, rids)


def graph(found: Sequence[Violations]) -> pa.Table:
    """Return the graph of several dependencies: `dependency`, `violation` and `rid`.

    Its first level goes from a dependency, by its place in `found`, to its violating values; the
    second from those to rows of the dataset.
    """
    parts = []
    for place, each in enumerate(found):
        edges = each.graph()
        here = pa.array(np.full(edges.num_rows, place, dtype=np.int64))
        parts.append(edges.add_column(0, DEPENDENCY, here))
    schema = pa.schema([(name, pa.int64()) for name in (DEPENDENCY, NUMBER, RID)])
    return pa.concat_tables([schema.empty_table(), *parts])
