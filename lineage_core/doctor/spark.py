"""Can Spark run here: Java, PySpark's own files, the interpreter of its workers, pandas.

Apache Airflow's Spark provider brings the distribution `pyspark-client`, which writes its files
over those of `pyspark`. When the two are of different versions, DataFrames still work and every
Python UDF dies; pip sees nothing wrong. What tells is the version in PySpark's files against the
distribution's and the JARs'.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lineage_core.doctor.check import Check, Subject, attempt, failed, ok, warning

_OLDEST_JAVA = 17
_VERSION = re.compile(r"""__version__[^=]*=\s*["']([^"']+)["']""")
_JAR = re.compile(r"spark-core_[\d.]+-(.+)\.jar")

_HANGS = "4.2.0"
"""The Spark that waits forever for a Python UDF over Parquet (SPARK-58241)."""

_COLUMNAR = "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled"

_UDF = """
from tempfile import TemporaryDirectory
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
with TemporaryDirectory() as folder:
    spark.range(2).write.mode("overwrite").parquet(folder)
    rows = spark.read.parquet(folder).select(udf(lambda x: x + 1, "long")("id")).collect()
    assert sorted(row[0] for row in rows) == [1, 2]
print("spark", spark.version)
"""


def java(subject: Subject) -> Iterator[Check]:
    """Look for the Java that Spark would start: of `JAVA_HOME`, else of `PATH`."""
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else "java"
    advice = f"install Java {_OLDEST_JAVA} or newer and point JAVA_HOME at it"
    tried = attempt(command, "-version")
    match = re.search(r'version "(\d+)[^"]*"', tried.output)
    if not tried.success or match is None:
        yield failed("java", f"{command} does not run: {tried.last_line}", advice)
    elif int(match[1]) < _OLDEST_JAVA:
        yield failed("java", f"{command} is Java {match[1]}", advice)
    else:
        yield ok("java", f"Java {match[1]} ({command})")


def pyspark(subject: Subject) -> Iterator[Check]:
    """Compare the versions of PySpark's files, distribution and JARs, without importing it."""
    folder = _folder()
    distribution, client = installed("pyspark"), installed("pyspark-client")
    if folder is None:
        advice = "pip install 'airflow-provider-row-lineage[spark]'"
        yield failed("pyspark", "not installed", advice)
    elif distribution is None and client is not None:
        advice = f"pip install --no-deps pyspark=={client}"
        yield failed("pyspark", f"only pyspark-client {client}, which has no Spark in it", advice)
    elif distribution is not None and _file_version(folder) != distribution:
        by = f" (pyspark-client {client} wrote over them)" if client else ""
        advice = f"pip install --force-reinstall --no-deps pyspark=={distribution}"
        files = _file_version(folder)
        yield failed("pyspark", f"the files of pyspark {distribution} are of {files}{by}", advice)
    else:
        yield _against_jars(folder, client)


def workers(subject: Subject) -> Iterator[Check]:
    """Look at the interpreter that Spark's Python workers will have."""
    name = os.environ.get("PYSPARK_PYTHON", "python3")
    path = shutil.which(name)
    advice = f"export PYSPARK_PYTHON={sys.executable}"
    if path is None:
        yield failed("workers", f"PYSPARK_PYTHON is {name}, which is not there", advice)
        return
    code = "import sys; print('%d.%d' % sys.version_info[:2]); import pyarrow, pyspark"
    tried = attempt(path, "-c", code)
    ours = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if not tried.success:
        yield failed("workers", f"{path} lacks what UDFs need: {tried.last_line}", advice)
    elif tried.last_line != ours:
        yield failed("workers", f"{path} is Python {tried.last_line}, the driver {ours}", advice)
    else:
        yield ok("workers", f"Python {ours} ({path})")


def pandas(subject: Subject) -> Iterator[Check]:
    """PySpark does not support pandas 3 yet; without pandas only pandas UDFs are missing."""
    found = installed("pandas")
    if found is None:
        yield ok("pandas", "not installed (only pandas UDFs would need it)")
    elif int(found.split(".")[0]) >= 3:
        advice = "pip install 'pandas<3'"
        yield warning("pandas", f"pandas {found} is not supported by PySpark", advice)
    else:
        yield ok("pandas", f"pandas {found}")


def python_udf(subject: Subject) -> Iterator[Check]:
    """Start Spark and run a Python UDF, if a deep examination was asked for."""
    if not subject.deep:
        return
    tried = attempt(sys.executable, "-c", _UDF, seconds=180)
    if tried.success:
        yield ok("udf", f"a Python UDF runs on {tried.last_line}")
    else:
        yield failed("udf", f"no Python UDF runs: {_error(tried.output)}", "see the lines above")


def installed(distribution: str) -> str | None:
    """Return the version of an installed distribution."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _folder() -> Path | None:
    """Return where the files of the package `pyspark` are, which are not imported for it."""
    spec = PathFinder.find_spec("pyspark")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def _file_version(folder: Path) -> str:
    match = _VERSION.search((folder / "version.py").read_text())
    return match[1] if match else "unknown version"


def _against_jars(folder: Path, client: str | None) -> Check:
    files = _file_version(folder)
    home = Path(os.environ.get("SPARK_HOME") or folder)
    jars = next((m[1] for jar in home.glob("jars/*") if (m := _JAR.fullmatch(jar.name))), None)
    if jars is None:
        return failed("pyspark", f"no Spark in {home}", "unset SPARK_HOME, or point it at a Spark")
    if jars != files:
        advice = f"pip install --force-reinstall --no-deps pyspark=={jars}"
        return failed("pyspark", f"pyspark {files} with the Spark {jars} of {home}", advice)
    if files == _HANGS:
        found = f"Spark {files} hangs on Python UDFs over Parquet files (SPARK-58241)"
        return warning("pyspark", found, f"use another version, or set {_COLUMNAR}=false")
    return ok("pyspark", f"pyspark {files}" + (f", pyspark-client {client}" if client else ""))


def _error(output: str) -> str:
    """Return the line of a Python traceback that says what went wrong."""
    lines = output.strip().splitlines() or ["no output"]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (errors or lines)[-1]
