"""The one Spark session under other settings for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONE = "spark.sql.session.timeZone"
ANSI = "spark.sql.ansi.enabled"


@contextmanager
def configured(spark: SparkSession, **settings: str) -> Iterator[None]:
    """Set `zone` and `ansi`, as far as they are given, and put back what was there."""
    names = {"zone": ZONE, "ansi": ANSI}
    before = {names[key]: spark.conf.get(names[key]) or "" for key in settings}
    for key, value in settings.items():
        spark.conf.set(names[key], value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
