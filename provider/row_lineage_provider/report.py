"""A question's answer, written down: `report.json` and one Parquet file of rows for each dataset.

    reports/<dag>/<task>/<run>[/<map index>]/report.json
                                            /source-0.parquet, ...

The JSON is written last, so a folder without it is an attempt that was cut short. The question and
the rows may be personal data: they are in the store only; `digest` is what others may see of it.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    import pyarrow as pa

    from lineage_core.store import ArtifactStore


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked; the fields are the arguments of `store.backward` and `store.forward`."""

    direction: str
    dataset: str
    where: str | None = None
    rows: tuple[dict[str, Any], ...] | None = None
    rids: tuple[int, ...] | None = None
    run: str | None = None
    as_of: str | None = None
    hops: int | None = None
    strategy: str = "auto"
    engine: str = "auto"

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments that were given."""
        given = {
            "where": self.where,
            "rows": None if self.rows is None else list(self.rows),
            "rids": None if self.rids is None else list(self.rids),
            "run": self.run,
            "as_of": None if self.as_of is None else datetime.fromisoformat(self.as_of),
            "hops": self.hops,
        }
        return {name: value for name, value in given.items() if value is not None} | {
            "strategy": self.strategy,
            "engine": self.engine,
        }


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one dataset that belong to an answer.

    Attributes:
        dataset: the dataset's canonical name.
        rows: how many.
        precision: `exact`, `superset` or `unknown`.
        reason: why it is not exact; empty when it is.
        file: its Parquet file, relative to the store.
        seconds: time it took to find, fetch and write the rows.
    """

    dataset: str
    rows: int
    precision: str
    reason: str
    file: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """A written report.

    Attributes:
        folder: where it is, relative to the store.
        question: what was asked.
        asked: when, ISO 8601 UTC.
        seconds: time until it was clear how to find the rows; finding them is counted in `parts`.
        parts: what was found, in the answer's order.
    """

    folder: str
    question: Question
    asked: str
    seconds: float
    parts: tuple[Part, ...]

    def digest(self) -> dict[str, Any]:
        """Return what may be told to whoever may not see the rows: no predicate, no value."""
        return {
            "report": f"{self.folder}/report.json",
            "direction": self.question.direction,
            "dataset": self.question.dataset,
            "sources": [
                {"dataset": part.dataset, "rows": part.rows, "precision": part.precision}
                for part in self.parts
            ],
        }


def folder_of(*parts: object) -> str:
    """Return the folder of a report; characters that mean something in a path or URL are encoded.

    >>> folder_of("audit", "ask", "manual__2024-01-01T00:00:00+00:00")
    'reports/audit/ask/manual__2024-01-01T00%3A00%3A00%2B00%3A00'
    """
    names = [quote(str(part), safe="") for part in parts]
    return "/".join(["reports", *(name if name.strip(".") else f"%{name}" for name in names)])


def write_report(
    files: ArtifactStore, folder: str, question: Question, asked: float, found: Iterable[Any]
) -> Report:
    """Fetch the rows of an answer, write them and the report, and return it.

    Args:
        files: the store.
        folder: where to, relative to the store.
        question: what was asked.
        asked: when, in seconds since the epoch.
        found: the parts of the answer, each with `dataset`, `precision`, `reason`, `to_arrow()`.
    """
    seconds = time.time() - asked
    parts = tuple(
        _write_part(files, f"{folder}/source-{i}.parquet", part) for i, part in enumerate(found)
    )
    moment = datetime.fromtimestamp(asked, UTC).isoformat()
    report = Report(folder, question, moment, round(seconds, 4), parts)
    text = json.dumps(asdict(report), indent=2, default=str)
    files.write(f"{folder}/report.json", text.encode())
    return report


def _write_part(files: ArtifactStore, path: str, part: Any) -> Part:
    started = time.perf_counter()
    table = part.to_arrow()
    files.write(path, _parquet(table))
    seconds = round(time.perf_counter() - started, 4)
    reason = part.reason or ""
    return Part(part.dataset, table.num_rows, str(part.precision), reason, path, seconds)


def _parquet(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()
