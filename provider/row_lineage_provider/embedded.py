"""An Airflow of its own in one folder, for demonstrations and tests: SQLite, no services.

Each command is a process with an environment made here and nowhere else, so neither the variables
nor the configuration files of the machine's own Airflow, OpenLineage or Spark come through.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_INHERITED = ("PATH", "JAVA_HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")

_SPARK = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class CommandError(RuntimeError):
    """A command of the embedded Airflow failed; its message has the end of what it wrote.

    Attributes:
        output: all that it wrote.
    """

    def __init__(self, command: str, output: str, lines: int = 40) -> None:
        self.output = output
        tail = "\n".join(output.splitlines()[-lines:])
        super().__init__(f"airflow {command} failed:\n{tail}")


@dataclass(frozen=True, slots=True)
class EmbeddedAirflow:
    """An Airflow whose home, log, database and working directory are below `home`.

    Attributes:
        home: the folder; made when needed.
        dags: the folder of the DAG files.
        store: path of the lineage store.
        events: file that OpenLineage events are appended to, one a line; None to switch them off.
        variables: more environment variables.
    """

    home: Path
    dags: Path
    store: Path
    events: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """Return the whole environment of a command."""
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        programs = f"{Path(sys.executable).parent}{os.pathsep}{inherited.get('PATH', os.defpath)}"
        return {
            **inherited,
            "PATH": programs,
            "HOME": str(self.home),
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": "2",
            "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
            "AIRFLOW__ROW_LINEAGE__STORE": str(self.store),
            "AIRFLOW__ROW_LINEAGE__SPARK_MASTER": "local[2]",
            "AIRFLOW__ROW_LINEAGE__SPARK_CONF": json.dumps(_SPARK),
            **self._openlineage(),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            **self.variables,
        }

    def migrate(self) -> None:
        """Make the database, or bring it up to date."""
        self._run("db", "migrate")

    def test(self, dag_id: str, conf: Mapping[str, object] | None = None) -> str:
        """Run a DAG once, now, task by task; return its log.

        Raises:
            CommandError: the DAG cannot be read, or a task of it failed.
        """
        return self._run("dags", "test", dag_id, "--conf", json.dumps(dict(conf or {})))

    def _openlineage(self) -> dict[str, str]:
        if self.events is None:
            return {"AIRFLOW__OPENLINEAGE__DISABLED": "True"}
        transport = {"type": "file", "log_file_path": str(self.events), "append": True}
        return {"AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport)}

    def _run(self, *arguments: str) -> str:
        self.home.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", "airflow", *arguments],
            cwd=self.home,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        if done.returncode:
            raise CommandError(" ".join(arguments[:3]), done.stdout)
        return done.stdout
