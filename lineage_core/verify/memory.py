"""Verdicts kept on disk: what one run has proven or refuted, no later run asks z3 again.

A verdict is kept under the digest of the canonical obligation, in a folder named after everything
it follows from: the sources of the prover, of the plan it reasons about and of the wire format, and
the version of z3. A prover that was changed thus finds nothing of what another one claimed. Entries
are canonical JSON, one file each, put in place by renaming: processes may share a folder without
locks, and what a crash left half written reads as not there.

Whoever writes here decides what is taken for proven. So only a folder and files that belong to the
user and that nobody else may write are read. Nothing here ever fails: without a usable folder
proofs are made again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from lineage_core import codec
from lineage_core.errors import CorruptError
from lineage_core.pushdown.obligation import Obligation, Proved, Refuted, Undecided, Verdict

RESOURCE_LIMIT = "resource limit reached"
"""Why a proof is given up for good: the limit counts solver steps, which are always the same."""

_LARGEST = 1 << 20
_MINE_ALONE = stat.S_IRWXG | stat.S_IRWXO

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Question:
    """What a verdict answers; the obligation's keys stand beside it in an order of their own."""

    obligation: Obligation
    keys: tuple[tuple[tuple[int, ...], ...], ...]
    extra: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file's content: the digest of a question, and its answer."""

    question: str
    verdict: Proved | Refuted | Undecided


class Memory:
    """Verdicts of the prover as it is now, kept below `folder`.

    Args:
        folder: made when there is something to keep; private to the user.
    """

    def __init__(self, folder: Path) -> None:
        self._prover = identity()
        self._folder = folder / self._prover[:32]

    def recall(self, obligation: Obligation, extra: int = 0) -> Verdict | None:
        """Return the verdict on a canonical obligation (see `shape`); None if none was kept."""
        if not self._prover or not _is_private(self._folder):
            return None
        key = _key(obligation, extra)
        text = _read(self._folder / f"{key}.json")
        if text is None:
            return None
        try:
            entry = codec.loads(text, _Entry)
        except CorruptError:
            return None
        return entry.verdict if entry.question == key else None

    def keep(self, obligation: Obligation, verdict: Verdict, extra: int = 0) -> None:
        """Keep a verdict, unless asking again might give another one, or there is no way to."""
        if isinstance(verdict, Undecided) and verdict.reason != RESOURCE_LIMIT:
            return
        # An upgrade while this process runs: the prover it loaded may be neither old nor new.
        if not self._prover or identity() != self._prover:
            return
        if not _make_private(self._folder):
            return
        key = _key(obligation, extra)
        with suppress(OSError):
            _write(self._folder / f"{key}.json", codec.dumps(_Entry(key, verdict)))


def default_folder() -> Path | None:
    """Return where proofs are kept if nothing else is said; None for a user without a home."""
    try:
        base = os.environ.get("XDG_CACHE_HOME", "")
        # A relative path is to be ignored, says the XDG base directory specification.
        cache = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return cache / "row-lineage" / "proofs"


def identity() -> str:
    """Return the digest of all that verdicts follow from; empty where it cannot be known."""
    root = Path(__file__).parents[1]
    try:
        paths = [root / "codec.py", root / "pushdown" / "obligation.py"]
        paths += sorted([*(root / "plan").glob("*.py"), *(root / "verify").glob("*.py")])
        stats = [path.stat() for path in paths]
        stamps = tuple((s.st_mtime_ns, s.st_size, s.st_ino) for s in stats)
        # Asked with every proof; what no upgrade has touched since need not be read again.
        return _digest(metadata.version("z3-solver"), root, tuple(paths), stamps)
    except (metadata.PackageNotFoundError, OSError):
        return ""


@lru_cache(maxsize=1)
def _digest(
    version: str, root: Path, paths: tuple[Path, ...], stamps: tuple[tuple[int, ...], ...]
) -> str:
    """Return the digest of a version and the content of files; `stamps` tell when they changed."""
    digest = hashlib.sha256(version.encode())
    for path in paths:
        content = path.read_bytes()
        digest.update(f"\n{path.relative_to(root).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _key(obligation: Obligation, extra: int) -> str:
    keys = tuple(tuple(tuple(sorted(key)) for key in unique) for unique in obligation.keys)
    return codec.digest(_Question(replace(obligation, keys=()), keys, extra))


def _is_private(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    if stat.S_ISDIR(found.st_mode) and _is_mine(found):
        return True
    _log.warning("%s is not private to its user: no proof kept there is used", folder)
    return False


def _make_private(folder: Path) -> bool:
    try:
        for made in (folder.parent, folder):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return _is_private(folder)


def _is_mine(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _MINE_ALONE


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            mine = stat.S_ISREG(found.st_mode) and _is_mine(found)
            return file.read() if mine and found.st_size <= _LARGEST else None
    except OSError:
        return None


def _write(path: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")  # readable by its user
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
