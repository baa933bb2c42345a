"""Checking functional dependencies of a dataset of Parquet files.

A value `a` of the determinant violates `A -> B` if its rows have more than one value of `B`, as
`SELECT A FROM t GROUP BY A HAVING COUNT(DISTINCT B) > 1` says it: null is a value of `A`, and no
value of `B`; of several columns on the right, rows in which any is null are not counted. NaN is
equal to NaN, and 0.0 to -0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lineage_core.errors import NotFoundError, UnsupportedError
from lineage_core.plan.types import is_comparable
from lineage_core.profile.attributes import Attributes
from lineage_core.profile.groups import check_by_groups
from lineage_core.profile.notation import Dependency, read_dependency
from lineage_core.profile.table import table
from lineage_core.profile.violations import Violations
from lineage_core.query.columns import find_column
from lineage_core.query.engines.choice import Engines
from lineage_core.snapshot import Snapshot

METHODS = ("ug", "cd")
"""Attribute by attribute, which all checks share; a group-by for each check."""


def check(
    dataset: str,
    dependencies: Sequence[str],
    method: str,
    engines: Engines,
    engine: str,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Violations, ...]:
    """Return what violates each of some dependencies of a dataset, as it is now.

    Args:
        dataset: its canonical name.
        dependencies: as `read_dependency` takes them.
        method: one of `METHODS`.
        engines: the engines there are.
        engine: the name of the one that reads the rows.
        progress: is told which dependency is checked next.

    Raises:
        NotFoundError: there is no such dataset, column or method.
        PredicateError: a dependency cannot be read.
        UnsupportedError: the files are no Parquet files, or a column cannot be compared.
    """
    if method not in METHODS:
        raise NotFoundError(
            f"there is no method {method!r}", hint=f"use one of {', '.join(METHODS)}"
        )
    read = [read_dependency(text) for text in dependencies]
    found = table(dataset, engines, engine)
    bound = [(each, *_positions(found.snapshot, each)) for each in read]
    attributes = Attributes(found)
    if method == "ug":
        attributes.read(column for _, *sides in bound for side in sides for column in side)
    made = []
    for dependency, left, right in bound:
        progress(str(dependency))
        if method == "ug":
            made.append(attributes.check(dependency, left, right))
        else:
            made.append(check_by_groups(found, dependency, left, right))
    return tuple(made)


def _positions(
    snapshot: Snapshot, dependency: Dependency
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the positions of the columns on the left and on the right."""
    left, right = (
        tuple(_column(snapshot, name) for name in side)
        for side in (dependency.determinant, dependency.dependent)
    )
    return left, right


def _column(snapshot: Snapshot, name: str) -> int:
    column = find_column(snapshot, name)
    type = snapshot.columns[column].type
    if not is_comparable(type):
        raise UnsupportedError(
            f"column {name} of {snapshot.dataset} has type {type}, which cannot be compared",
            hint="leave it out of dependencies",
        )
    return column
