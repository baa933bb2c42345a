"""The Spark session a job runs in: the one that is there, or one of our own while it lasts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def spark_session(
    name: str, *, master: str = "local[*]", conf: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Give the active Spark session, which is left running; else a new one, stopped at the end.

    Args:
        name: the new session's application name.
        master: its master URL.
        conf: its Spark properties.
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    # Workers would use the `python3` of PATH, which need not have the driver's packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in (conf or {}).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        with suppress(Exception):  # the job may have stopped it, or the JVM may be gone
            session.stop()
