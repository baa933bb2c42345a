"""A session that is there is used and kept; one of our own is gone afterwards."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from lineage_core.execute.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_active_session_is_used_and_kept(spark: SparkSession) -> None:
    with pytest.raises(KeyError), spark_session("other", conf={"spark.app.name": "other"}) as found:
        assert found is spark
        raise KeyError
    assert spark.range(3).count() == 3
    assert spark.conf.get("spark.app.name") != "other"


OWN = """
from pyspark.sql import SparkSession
from lineage_core.execute.session import spark_session

conf = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
for stop in (False, True):
    with spark_session("mine", master="local[1]", conf=conf) as session:
        assert session.conf.get("spark.app.name") == "mine"
        assert session.sparkContext.master == "local[1]"
        inner = SparkSession.builder.getOrCreate()
        assert inner is session and inner.range(3).count() == 3
        if stop:
            session.stop()
    assert SparkSession.getActiveSession() is None
print("done")
"""


def test_a_session_of_our_own_is_stopped_even_if_the_job_stopped_it() -> None:
    done = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True)
    assert done.stdout.strip() == "done", done.stderr
