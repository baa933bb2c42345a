"""The doctor on Java and PySpark: each broken set-up it knows, and the one we run on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lineage_core.doctor import Check, Subject, Verdict
from lineage_core.doctor import spark as doctor

SUBJECT = Subject("unused")


def only(checks: Iterator[Check]) -> Check:
    (check,) = checks
    return check


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make the only site-packages there is, with files, JARs and distributions by version."""

    def make(*, files: str = "", jars: str = "", **distributions: str) -> Path:
        folder = tmp_path / "site"
        (folder / "pyspark" / "jars").mkdir(parents=True)
        if files:
            (folder / "pyspark" / "__init__.py").touch()
            (folder / "pyspark" / "version.py").write_text(f'__version__: str = "{files}"\n')
        if jars:
            (folder / "pyspark" / "jars" / f"spark-core_2.13-{jars}.jar").touch()
        for name, version in distributions.items():
            info = folder / f"{name}-{version}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Name: {name.replace('_', '-')}\nVersion: {version}\n")
        monkeypatch.setattr(sys, "path", [str(folder)])
        return folder

    return make


@pytest.mark.parametrize(
    ("script", "verdict", "found"),
    [
        ("echo 'openjdk version \"17.0.15\" 2025-04-15' >&2", Verdict.OK, "Java 17"),
        ("echo 'openjdk version \"25\" 2025-09-16' >&2", Verdict.OK, "Java 25"),
        ("echo 'java version \"1.8.0_402\"' >&2", Verdict.FAILED, "is Java 1"),
        ("echo 'openjdk version \"11.0.2\"' >&2", Verdict.FAILED, "is Java 11"),
        ("echo 'no runtime present' >&2; exit 1", Verdict.FAILED, "no runtime present"),
    ],
)
def test_java_of_java_home(
    script: str, verdict: Verdict, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin" / "java", script)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check = only(doctor.java(SUBJECT))
    assert (check.verdict, found in check.found) == (verdict, True)


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    check = only(doctor.java(SUBJECT))
    assert check.verdict is Verdict.FAILED
    assert "install Java 17" in check.advice


def test_files_of_the_client_over_those_of_pyspark(site: Callable[..., Path]) -> None:
    """Trap 1: DataFrames work, every Python UDF dies, and `pip check` is content."""
    site(files="4.2.0", jars="4.3.0", pyspark="4.3.0", pyspark_client="4.2.0")
    check = only(doctor.pyspark(SUBJECT))
    assert check.verdict is Verdict.FAILED
    assert "pyspark-client 4.2.0 wrote over them" in check.found
    assert check.advice == "pip install --force-reinstall --no-deps pyspark==4.3.0"


def test_both_of_one_version(site: Callable[..., Path]) -> None:
    site(files="4.1.3", jars="4.1.3", pyspark="4.1.3", pyspark_client="4.1.3")
    assert only(doctor.pyspark(SUBJECT)).verdict is Verdict.OK


def test_the_spark_that_hangs(site: Callable[..., Path]) -> None:
    site(files="4.2.0", jars="4.2.0", pyspark="4.2.0")
    check = only(doctor.pyspark(SUBJECT))
    assert check.verdict is Verdict.WARNING
    assert "hangs on Python UDFs over Parquet" in check.found and "columnarInput" in check.advice


def test_pyspark_reinstalled_over_an_older_client(site: Callable[..., Path]) -> None:
    """What the advice leads to must satisfy the doctor."""
    site(files="4.3.0", jars="4.3.0", pyspark="4.3.0", pyspark_client="4.2.0")
    assert only(doctor.pyspark(SUBJECT)).verdict is Verdict.OK


def test_the_client_alone_is_no_spark(site: Callable[..., Path]) -> None:
    site(files="4.2.0", pyspark_client="4.2.0")
    check = only(doctor.pyspark(SUBJECT))
    assert (check.verdict, check.advice) == (
        Verdict.FAILED,
        "pip install --no-deps pyspark==4.2.0",
    )


def test_a_spark_home_of_another_version(
    site: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site(files="4.2.0", jars="4.2.0", pyspark="4.2.0")
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "spark-core_2.13-3.5.1.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    check = only(doctor.pyspark(SUBJECT))
    assert check.verdict is Verdict.FAILED
    assert "3.5.1" in check.found


def test_no_pyspark(site: Callable[..., Path]) -> None:
    site()
    check = only(doctor.pyspark(SUBJECT))
    assert (check.verdict, "[spark]" in check.advice) == (Verdict.FAILED, True)


@pytest.mark.parametrize(
    ("version", "verdict"), [("2.3.3", Verdict.OK), ("3.1.0", Verdict.WARNING), ("", Verdict.OK)]
)
def test_pandas(version: str, verdict: Verdict, site: Callable[..., Path]) -> None:
    site(**({"pandas": version} if version else {}))
    assert only(doctor.pandas(SUBJECT)).verdict is verdict


def test_workers_without_the_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark starts `python3` of `PATH` when nothing is set, which is rarely the driver's."""
    program(tmp_path / "python3", "echo \"ModuleNotFoundError: No module named 'pyarrow'\"; exit 1")
    monkeypatch.delenv("PYSPARK_PYTHON")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    check = only(doctor.workers(SUBJECT))
    assert check.verdict is Verdict.FAILED
    assert "pyarrow" in check.found
    assert check.advice == f"export PYSPARK_PYTHON={sys.executable}"


def test_workers_of_another_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", str(program(tmp_path / "python", "echo 3.9")))
    check = only(doctor.workers(SUBJECT))
    assert (check.verdict, "Python 3.9" in check.found) == (Verdict.FAILED, True)


def test_workers_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "nowhere"))
    assert only(doctor.workers(SUBJECT)).verdict is Verdict.FAILED


def test_a_udf_is_tried_only_on_request_and_its_failure_is_named(
    site: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not list(doctor.python_udf(SUBJECT))
    broken = program(tmp_path / "python", "echo 'x.Py4JError: no constructor'; echo bye; exit 1")
    monkeypatch.setattr(sys, "executable", str(broken))
    check = only(doctor.python_udf(Subject("unused", deep=True)))
    assert (check.verdict, "Py4JError: no constructor" in check.found) == (Verdict.FAILED, True)


def test_what_the_tests_run_on_is_fit() -> None:
    checks = [*doctor.java(SUBJECT), *doctor.pyspark(SUBJECT), *doctor.workers(SUBJECT)]
    checks += doctor.python_udf(Subject("unused", deep=True))
    assert [(c.name, c.verdict, c.found) for c in checks if c.verdict is not Verdict.OK] == []
    assert len(checks) == 4
