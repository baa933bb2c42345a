"""The installed command in a process of its own: a plain PySpark script is captured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("row-lineage")

SCRIPT = """
import sys
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

builder = SparkSession.builder.master("local[2]").appName("numbers")
builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
spark = builder.getOrCreate()
assert spark.conf.get("spark.app.name") == "numbers"
spark.range(10).selectExpr("id", "id % 3 AS k").coalesce(1).write.parquet("numbers")
counts = spark.read.parquet("numbers").where("id > 0").groupBy("k").count()
counts.write.parquet("counts")
print("argument", sys.argv[1])
if sys.argv[1] == "break":
    raise ValueError("broken on purpose")
spark.stop()
"""


def row_lineage(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMAND), *arguments],
        cwd=folder,
        env=os.environ | {"ROW_LINEAGE_STORE": str(folder / "store")},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.py").write_text(SCRIPT)
    return tmp_path


def test_a_script_is_captured_without_a_change(folder: Path) -> None:
    """It stops its own session, and its options are the script's, although they look like ours."""
    ended = row_lineage(folder, "run", "--job", "numbers", "job.py", "--format")
    assert (ended.returncode, ended.stdout) == (0, "argument --format\n"), ended.stderr
    assert "counts" in ended.stderr

    listed = row_lineage(folder, "runs", "--format=json")
    (run,) = json.loads(listed.stdout)["runs"]
    assert (run["job"], run["state"], run["uncaptured"]) == ("numbers", "complete", "")

    asked = row_lineage(
        folder, "backward", "counts", "--where", "k = 0", "--hops=1", "--rows=all", "--format=json"
    )
    (source,) = json.loads(asked.stdout)["sources"]
    assert (source["dataset"], source["precision"]) == ("numbers", "exact")
    assert sorted(row["id"] for row in source["lineage"]) == [3, 6, 9]

    asked = row_lineage(folder, "backward", "numbers", "--hops=1")
    assert "No dataset" in asked.stdout


def test_a_script_that_fails_fails_as_it_would_alone(folder: Path) -> None:
    ended = row_lineage(folder, "run", "job.py", "break")
    assert (ended.returncode, ended.stdout) == (1, "argument break\n")
    trace = ended.stderr[ended.stderr.index("Traceback") :].splitlines()
    assert trace[1].strip().startswith('File "job.py", line')
    assert "ValueError: broken on purpose" in ended.stderr
    assert "lineage_core" not in "".join(line for line in trace if "File" in line)
    (run,) = json.loads(row_lineage(folder, "runs", "--format=json").stdout)["runs"]
    assert (run["job"], run["state"]) == ("job", "failed")


def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    ended = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$0" backward --help | true', str(COMMAND)],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in ended.stderr
    assert "BrokenPipe" not in ended.stderr
