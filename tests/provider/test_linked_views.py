"""The example of linked views, as `airflow dags test` runs it."""

from __future__ import annotations

import shutil
from pathlib import Path

from row_lineage_provider.embedded import EmbeddedAirflow

DAG = Path(__file__).parents[2] / "dags" / "example_linked_views.py"


def test_one_day_is_brushed_and_a_dependency_checked(tmp_path: Path) -> None:
    dags = tmp_path / "dags"
    dags.mkdir()
    shutil.copy(DAG, dags)
    airflow = EmbeddedAirflow(tmp_path / "home", dags, tmp_path / "lineage")
    airflow.migrate()
    count = 2_000
    conf = {"results": str(tmp_path / "results"), "flights": count}
    log = airflow.test("example_linked_views", conf)
    that_day = [n for n in range(count) if n * 7 % 31 == 16]
    carriers = {n * 13 % 11 for n in that_day}
    assert f"Brushed one day: {len(that_day)} flights of {len(carriers)} carriers" in log
    wrong = {n * 13 % 11 for n in range(count) if n % 1000 == 999}
    flights = sum(n * 13 % 11 in wrong for n in range(count))
    assert f"Several homes: {len(wrong)} carriers with {flights} flights" in log
    assert list((tmp_path / "lineage").glob("runs/*/index/*.rlx"))
