"""Finding the one run or dataset that a short name means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from lineage_core.catalog.entries import alias_leaf, leaf
from lineage_core.catalog.models import Alias, Dataset, Run
from lineage_core.datasets import canonical, display
from lineage_core.errors import AmbiguousError, LineageError, NotFoundError

_PREFIX = re.compile(r"[0-9a-f-]+")
_AFTER_HEX = "g"  # sorts after every character of a run id
_SHOWN = 5
_COMPARED = 1000


def run_id(session: Session, prefix: str) -> str:
    """Return the id of the only run whose id begins with `prefix`."""
    wanted = prefix.strip().lower()
    found: list[str] = []
    if _PREFIX.fullmatch(wanted):
        within = (Run.id >= wanted, Run.id < wanted + _AFTER_HEX)
        found = list(
            session.scalars(select(Run.id).where(*within).order_by(Run.id).limit(_SHOWN + 1))
        )
    if len(found) == 1 or wanted in found:
        return wanted if wanted in found else found[0]
    if found:
        raise AmbiguousError(f"run {prefix!r} is not unique", hint=f"it may be {_listed(found)}")
    recent = session.scalars(select(Run.id).order_by(Run.ended.desc()).limit(_COMPARED))
    heads = {known[: max(len(wanted), 1)]: known for known in recent}
    near = [heads[head] for head in difflib.get_close_matches(wanted, heads, cutoff=0.5)]
    raise NotFoundError(f"no run {prefix!r}", hint=_hint(near, "row-lineage runs lists the runs"))


def dataset(session: Session, name: str) -> str:
    """Return the canonical name of the only known dataset that `name` means."""
    whole = _canonical(name)
    exact = session.scalars(select(Dataset.name).where(Dataset.name.in_([whole, name]))).all()
    if exact:
        return whole if whole in exact else exact[0]
    found = _by_alias(session, name) or _by_path_end(session, name)
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousError(
            f"dataset {name!r} is not unique", hint=f"it may be {_listed(map(display, found))}"
        )
    raise NotFoundError(
        f"no captured run wrote or read a dataset {name!r}",
        hint=_hint(_similar(session, name), "row-lineage runs lists what was written"),
    )


def _canonical(name: str) -> str:
    try:
        return canonical(name)
    except LineageError:
        return name  # no name at all: let it be reported as one nobody knows


def _by_alias(session: Session, name: str) -> list[str]:
    """Return the datasets of the tables called `name`; failing that, of those that end so."""
    same_leaf = select(Alias.alias, Alias.dataset).where(Alias.leaf == alias_leaf(name)).distinct()
    tables = session.execute(same_leaf).all()
    full = {found for alias, found in tables if alias == name}
    return sorted(full or {found for alias, found in tables if alias.endswith(f".{name}")})


def _by_path_end(session: Session, name: str) -> list[str]:
    """Return the datasets whose path ends with the segments of `name`.

    A URI, an absolute path and one from the working directory mean one place and no other.
    """
    if "://" in name or name.partition("/")[0] in ("", ".", ".."):
        return []
    end = _canonical(f"/{name}").removeprefix("file://")
    same_leaf = session.scalars(select(Dataset.name).where(Dataset.leaf == leaf(end)))
    return sorted(found for found in same_leaf if end != "/" and found.endswith(end))


def _similar(session: Session, name: str) -> list[str]:
    """Return known names that look like `name`, compared by as many last segments as it has."""
    segments = name.strip("/").count("/") + 1
    known = session.scalars(select(Dataset.name).order_by(Dataset.name).limit(_COMPARED))
    ends = {"/".join(found.split("/")[-segments:]): display(found) for found in known}
    tables = session.scalars(select(Alias.alias).distinct().order_by(Alias.alias).limit(_COMPARED))
    for table in tables:
        ends |= {table: table, alias_leaf(table): table}
    return [ends[end] for end in difflib.get_close_matches(name.strip("/"), ends)]


def _listed(found: Iterable[str]) -> str:
    shown = list(found)
    more = ["..."] if len(shown) > _SHOWN else []
    return ", ".join(shown[:_SHOWN] + more)


def _hint(near: list[str], otherwise: str) -> str:
    return f"did you mean {' or '.join(dict.fromkeys(near))}?" if near else otherwise
