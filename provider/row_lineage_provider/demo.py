"""`python -m row_lineage_provider.demo`: two captured tasks, and where a result row came from.

Everything it makes is below `demo/` of the working directory, which must have the example DAGs in
`dags/`: TPC-H data, an embedded Airflow, the lineage store, the OpenLineage events. It can be
called again; data and lineage are kept, the events are those of the last call.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from row_lineage_provider.embedded import CommandError, EmbeddedAirflow

SCALE_FACTOR = 0.1
SHOWN_ROWS = 3
SHOWN_COLUMNS = 5

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Folder:
    """Where the demonstration keeps what it makes."""

    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def results(self) -> Path:
        return self.root / "results"

    @property
    def store(self) -> Path:
        return self.root / "lineage"

    @property
    def events(self) -> Path:
        return self.root / "events.jsonl"

    def airflow(self, dags: Path) -> EmbeddedAirflow:
        return EmbeddedAirflow(self.root / "airflow", dags, self.store, self.events)


def main() -> int:
    """Run the demonstration; return the process's exit code."""
    console = Console()
    dags = Path("dags").resolve()
    if not (dags / "example_tpch.py").is_file():
        console.print(
            "There is no dags/example_tpch.py here: call it in a clone of the repository."
        )
        return 2
    try:
        _run(Folder(Path("demo").resolve()), dags, console)
    except (CommandError, subprocess.CalledProcessError) as error:
        console.print(str(error), style="red", highlight=False, markup=False, soft_wrap=True)
        return 1
    return 0


def _run(folder: Folder, dags: Path, console: Console) -> None:
    airflow = folder.airflow(dags)
    folder.events.unlink(missing_ok=True)
    with _step(console, f"TPC-H data, scale factor {SCALE_FACTOR}"):
        generate(folder.data)
    with _step(console, "Airflow's database"):
        airflow.migrate()
    with _step(console, "DAG example_tpch: Q3 and Q4, captured"):
        tables = {"tables": str(folder.data), "results": str(folder.results)}
        airflow.test("example_tpch", tables)
    with _step(console, "DAG example_audit: where does the row 1-URGENT of Q4 come from?"):
        airflow.test("example_audit", {"dataset": str(folder.results / "q4")})
    report = newest_report(folder.store)
    show(console, folder, report, captured(folder.events, "example_tpch.q4"))


@contextmanager
def _step(console: Console, title: str) -> Iterator[None]:
    started = time.monotonic()
    with console.status(title):
        yield
    console.print(f"[green]done[/] {title} [dim]{time.monotonic() - started:.1f} s")


def generate(folder: Path) -> None:
    """Make the TPC-H tables, unless they are there."""
    if folder.is_dir():
        return
    aside = folder.with_suffix(".part")
    generator = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run(
        [generator, "parquet", "-s", str(SCALE_FACTOR), "--output-dir", aside, "--quiet"],
        check=True,
    )
    aside.rename(folder)


def newest_report(store: Path) -> Path:
    """Return the folder of the newest report in the store."""
    found = store.glob("reports/example_audit/urgent_orders/*/report.json")
    return max(found, key=lambda path: path.stat().st_mtime).parent


def captured(events: Path, job: str) -> Tree:
    """Return what the last event of a job says of its row lineage."""
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    of_job = [line for line in lines if line["job"]["name"] == job]
    facet: Tree = of_job[-1]["run"]["facets"]["rowLineage_run"]
    return facet


def show(console: Console, folder: Folder, report: Path, capture: Tree) -> None:
    """Print the answer, what it took, and where everything is."""
    answer = json.loads((report / "report.json").read_text())
    output = capture["outputs"][0]
    table = Table(title=f"Lineage of Q4's rows where {answer['question']['where']}")
    for name in ("source", "rows", "precision", "seconds to find and write"):
        table.add_column(name, justify="left" if name in ("source", "precision") else "right")
    for part in answer["parts"]:
        name = Path(part["dataset"]).name
        table.add_row(name, f"{part['rows']:,}", part["precision"], f"{part['seconds']:.3f}")
    console.print(table)
    for part in answer["parts"]:
        console.print(first_rows(folder.store / part["file"], Path(part["dataset"]).name))
    spent = sum(s for stage, s in output["secondsSpent"].items() if stage != "write")
    console.print(
        f"Capturing Q4 took {spent:.3f} s and saved {output['bytesSaved']:,} bytes "
        f"({output['strategy']})."
    )
    for what, path in (("report", report), ("events", folder.events), ("store", folder.store)):
        shown = path.relative_to(folder.root.parent)
        console.print(f"{what:7} {shown}", highlight=False, soft_wrap=True)


def first_rows(file: Path, title: str) -> Table:
    """Return a table of the first rows and columns of a Parquet file."""
    rows = pq.read_table(file).slice(0, SHOWN_ROWS)
    shown = rows.select(rows.column_names[:SHOWN_COLUMNS])
    table = Table(*shown.column_names, title=f"{title}: the first {shown.num_rows} rows")
    for row in shown.to_pylist():
        table.add_row(*map(str, row.values()))
    return table


if __name__ == "__main__":
    sys.exit(main())
