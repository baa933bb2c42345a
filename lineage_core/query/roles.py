"""The columns of a dataset that an answer's runs used, and in which roles (`plan.uses`).

They are facts of the plans, the same for every row of a dataset: reading them touches no data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lineage_core.plan.relation import Plan
from lineage_core.plan.uses import Role, column_roles
from lineage_core.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class UsedColumn:
    """A column of a source with its roles, in the order of `Role`."""

    name: str
    roles: tuple[Role, ...]


def used_columns(
    snapshot: Snapshot, occurrences: Iterable[tuple[Plan | None, int]]
) -> tuple[UsedColumn, ...]:
    """Return the columns of a dataset that were used at all, in its own order.

    Args:
        snapshot: the dataset.
        occurrences: the plans it was read in, each with the place of the scan. Where the plan or
            the scan is not known, every column is used in an unknown role.
    """
    names = [column.name for column in snapshot.columns]
    found: dict[str, set[Role]] = {}
    for plan, at in occurrences:
        for name, roles in _roles(plan, at, names).items():
            found.setdefault(name, set()).update(roles)
    ordered = dict.fromkeys([*names, *found])  # what a file's metadata says is no column of it
    return tuple(
        UsedColumn(name, tuple(role for role in Role if role in found[name]))
        for name in ordered
        if name in found
    )


def _roles(plan: Plan | None, at: int, names: list[str]) -> Mapping[str, frozenset[Role]]:
    scans = {} if plan is None else column_roles(plan)
    if at in scans:
        return scans[at]
    return dict.fromkeys(names, frozenset((Role.UNKNOWN,)))
