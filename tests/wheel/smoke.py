"""Smoke test of the installed wheel, run by `.ci/run` with the python of a fresh environment.

Usage: `python smoke.py EXTRAS`, in an empty folder; EXTRAS are those the wheel was installed with.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

BIN = Path(sys.executable).parent
DISTRIBUTION = "airflow-provider-row-lineage"

SCRIPT = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.range(10).selectExpr("id", "id % 3 AS k").write.parquet("numbers")
spark.read.parquet("numbers").where("id > 0").groupBy("k").count().write.parquet("counts")
"""


def run(*command: str) -> str:
    """Run a command of the environment; print and return its output, stop if it fails."""
    print("$", *command, flush=True)
    environment = os.environ | {
        "AIRFLOW_HOME": str(Path.cwd() / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]], env=environment, text=True, stdout=subprocess.PIPE
    )
    print(done.stdout)
    if done.returncode:
        sys.exit(f"{command[0]} ended with exit code {done.returncode}")
    return done.stdout


def check(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"smoke test: {what}")
    print("ok:", what)


def check_packages() -> None:
    for package in ("lineage_core", "row_lineage_provider"):
        spec = find_spec(package)
        check(spec is not None, f"{package} is installed")
        assert spec is not None and spec.origin is not None
        root = Path(spec.origin).parent
        check(root.is_relative_to(sys.prefix), f"{package} is the installed one")
        check((root / "py.typed").exists(), f"{package} is typed")
    check(version(DISTRIBUTION) in run("row-lineage", "--version"), "the version is the wheel's")


def check_answer() -> None:
    """Capture a script and ask where a row came from: needs every file the wheel must hold."""
    Path("script.py").write_text(SCRIPT)
    run("row-lineage", "--help")
    run("row-lineage", "doctor")
    run("row-lineage", "run", "script.py")
    sources = json.loads(
        run("row-lineage", "backward", "counts", "--where", "k = 0", "--hops", "1", "--format=json")
    )["sources"]
    check([(s["rows"], s["precision"]) for s in sources] == [(3, "exact")], "the answer is 3, 6, 9")


def check_airflow() -> None:
    listed = run("airflow", "providers", "list", "--output", "json")
    names = [entry["package_name"] for entry in json.loads(listed[listed.index("[") :])]
    check(DISTRIBUTION in names, "Airflow lists the provider")
    found = run("python", "-c", "from airflow.sdk import task; print(task.row_lineage)")
    check("row_lineage" in found, "@task.row_lineage is there")


if __name__ == "__main__":
    extras = sys.argv[1].split(",")
    check((find_spec("airflow") is not None) == ("airflow" in extras), f"extras are {extras}")
    check_packages()
    check_answer()
    if "airflow" in extras:
        check_airflow()
