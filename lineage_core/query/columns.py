"""Find a snapshot's column by name, as Spark does: any case, unless that is ambiguous."""

from __future__ import annotations

import difflib

from lineage_core.errors import AmbiguousError, NotFoundError
from lineage_core.snapshot import Snapshot


def find_column(snapshot: Snapshot, name: str) -> int:
    """Return the position of column `name`.

    Raises:
        NotFoundError: there is none; the hint names similar ones.
        AmbiguousError: several differ in case only, and none is spelled exactly so.
    """
    names = [column.name for column in snapshot.columns]
    if names.count(name) == 1:
        return names.index(name)
    found = [i for i, other in enumerate(names) if other.lower() == name.lower()]
    if len(found) > 1:
        raise AmbiguousError(
            f"{snapshot.dataset} has {len(found)} columns called {name!r}",
            hint=f"write it as one of {', '.join(sorted({names[i] for i in found}))}",
        )
    if not found:
        raise NotFoundError(
            f"{snapshot.dataset} has no column {name!r}", hint=close_matches(name, names)
        )
    return found[0]


def close_matches(name: str, names: list[str]) -> str:
    """Return a hint that names what `name` may have been meant to be."""
    lower = {other.lower(): other for other in names}
    near = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, cutoff=0.5)]
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"it has {', '.join(names[:20])}" + (", ..." if len(names) > 20 else "")
