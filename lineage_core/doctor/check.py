"""What a check of the installation answers, and how commands are tried out.

Everything that could take this process down with it (a broken Spark, a native library) is tried in
another one.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How a check ended; a warning does not make the installation unfit."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: what was looked at (`java`, `store`).
        verdict: how it is.
        found: what was found there.
        advice: what to do; empty when the verdict is ok.
    """

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What to examine beside the installation itself.

    Attributes:
        store: path or URL of the store.
        catalog: SQLAlchemy URL of the catalog; None for the one inside the store.
        deep: also start Spark and run a Python UDF.
    """

    store: str
    catalog: str | None = None
    deep: bool = False


def ok(name: str, found: str) -> Check:
    return Check(name, Verdict.OK, found)


def warning(name: str, found: str, advice: str) -> Check:
    return Check(name, Verdict.WARNING, found, advice)


def failed(name: str, found: str, advice: str) -> Check:
    return Check(name, Verdict.FAILED, found, advice)


@dataclass(frozen=True, slots=True)
class Tried:
    """How a command ended: whether it succeeded, and what it printed (both streams)."""

    success: bool
    output: str

    @property
    def last_line(self) -> str:
        lines = self.output.strip().splitlines()
        return lines[-1].strip() if lines else ""


def attempt(*command: str, seconds: float = 60) -> Tried:
    """Run `command` without input, for at most `seconds`."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return Tried(False, f"{command[0]} did not end within {seconds:g} seconds")
    except OSError as error:
        return Tried(False, f"{command[0]}: {error.strerror}")
    return Tried(done.returncode == 0, done.stdout)
