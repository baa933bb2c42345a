"""SmokedDuck, the strongest eager peer that runs: capture inside the engine, and backward.

It is a fork of an old DuckDB and wants an old numpy, so it lives in an environment of its own in
the user's cache, made on first use with the ordinary venv and pip:

    python3.11 -m venv ENV && ENV/bin/pip install smokedduck==0.1.dev36241 'numpy<2' 'pandas<2.2'

Where that cannot be done, the result says why. Each query has a process and a time limit.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from functools import cache
from pathlib import Path
from typing import Any

from workload import Workload

VERSION = "0.1.dev36241"
REQUIREMENTS = (f"smokedduck=={VERSION}", "numpy<2", "pandas<2.2")

_WORKER = Path(__file__).with_name("smokedduck_worker.py")


def measure(workload: Workload, query: int, rounds: int, limit: float) -> dict[str, Any]:
    """Return the worker's times of one query; a `failure` where there are none."""
    try:
        python = environment()
    except (OSError, subprocess.SubprocessError) as error:
        return {"failure": f"not installed ({type(error).__name__})"}
    text = workload.text(query)
    tables = [file.stem for file in workload.tables() if file.stem in text]
    try:
        done = subprocess.run(
            [str(python), str(_WORKER), str(workload.data), str(rounds), *tables],
            input=text,
            stdout=subprocess.PIPE,
            timeout=limit,
            check=True,
            text=True,
        )
    except subprocess.TimeoutExpired:
        return {"failure": f"not finished in {limit:g} s"}
    except subprocess.CalledProcessError as error:
        return {"failure": f"died ({error.returncode})"}
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@cache
def environment() -> Path:
    """Return the Python of SmokedDuck's environment, making it if it is not there.

    Raises:
        OSError, SubprocessError: it cannot be made here.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "row-lineage" / f"smokedduck-{VERSION}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        if sys.version_info[:2] != (3, 11):
            raise OSError("SmokedDuck's wheel is for Python 3.11")
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        (folder / "complete").touch()
    return python
