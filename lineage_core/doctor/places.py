"""Can the store be written and the catalog be used."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from lineage_core.datasets import local_path
from lineage_core.doctor.check import Check, Subject, failed, ok
from lineage_core.errors import LineageError


def store(subject: Subject) -> Iterator[Check]:
    """Write, read and remove a small file; a new local store is not made for it."""
    from lineage_core.store import ArtifactStore

    try:
        artifacts = ArtifactStore(subject.store)
        folder = _missing(artifacts.url)
        if folder is not None:
            yield _creatable(folder)
            return
        probe = f".doctor-{uuid.uuid4()}"
        artifacts.write(probe, probe.encode())
        same = artifacts.read(probe) == probe.encode()
        artifacts.remove(probe)
    except LineageError as error:
        yield failed("store", error.what, error.hint)
    except OSError as error:
        reason = error.strerror or str(error)
        advice = "check the path or URL, credentials and permissions"
        yield failed("store", f"{subject.store} cannot be written: {reason}", advice)
    else:
        advice = "use a store that gives back what was written"
        yield ok("store", artifacts.url) if same else failed("store", artifacts.url, advice)


def catalog(subject: Subject) -> Iterator[Check]:
    """Open the catalog, which brings it to the newest migration; a new local store has none yet."""
    from lineage_core.lineage import open_store

    try:
        opened = open_store(subject.store, catalog=subject.catalog)
        if subject.catalog is None and _missing(opened.url) is not None:
            yield ok("catalog", "made with the first run, inside the store")
            return
        revision = opened.catalog.revision()
    except LineageError as error:
        yield failed("catalog", error.what, error.hint)
        return
    if revision.is_head:
        yield ok("catalog", f"at migration {revision.current}")
    else:
        advice = "row-lineage catalog rebuild"
        yield failed("catalog", f"at migration {revision.current}, not {revision.head}", advice)


def _missing(url: str) -> Path | None:
    """Return the folder of a local store that is not there yet."""
    path = local_path(url)
    return None if path is None or Path(path).exists() else Path(path)


def _creatable(folder: Path) -> Check:
    above = next(parent for parent in folder.parents if parent.exists())
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        return ok("store", f"{folder}, made with the first run")
    return failed("store", f"{folder} cannot be made: {above} is not writable", "give --store")
