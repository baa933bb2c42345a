"""A small captured shop, and the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lineage_core.cli.main import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FIRST = "11111111-7a0e-4c3e-9c5f-3f5a1f0b7d11"
SECOND = "11112222-7a0e-4c3e-9c5f-3f5a1f0b7d11"


@dataclass(frozen=True, slots=True)
class Shop:
    """A folder with a store, two sources and two outputs.

    `orders` (id, country) has 1 DK, 2 DK, 3 SE; `lines` (order_id, price) has 1: 10 and 20, 2: 5,
    3: 7, 4: 100. `revenue` sums prices by country, `danish` is its Danish row.
    """

    folder: Path
    first: str
    second: str

    @property
    def store(self) -> str:
        return str(self.folder / "lineage")

    def path(self, name: str) -> str:
        return str(self.folder / name)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def captured(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The shop, captured once. Its files are not to be changed: a test that does takes `copied`."""
    import lineage_core as lc

    folder = tmp_path_factory.mktemp("shop")
    orders = spark.createDataFrame([(1, "DK"), (2, "DK"), (3, "SE")], "id long, country string")
    lines = spark.createDataFrame(
        [(1, 10), (1, 20), (2, 5), (3, 7), (4, 100)], "order_id long, price long"
    )
    orders.coalesce(1).write.parquet(str(folder / "orders"))
    lines.coalesce(1).write.parquet(str(folder / "lines"))
    store = lc.open_store(str(folder / "lineage"))
    with store.capture(spark, job="shop.revenue", run_id=FIRST) as first:
        left = spark.read.parquet(str(folder / "orders"))
        right = spark.read.parquet(str(folder / "lines"))
        joined = left.join(right, left.id == right.order_id).groupBy("country")
        joined.sum("price").withColumnRenamed("sum(price)", "total").write.parquet(
            str(folder / "revenue")
        )
    with store.capture(spark, job="shop.danish", run_id=SECOND) as second:
        revenue = spark.read.parquet(str(folder / "revenue"))
        revenue.where("country = 'DK'").write.parquet(str(folder / "danish"))
    assert (first.id, second.id) == (FIRST, SECOND)
    return Shop(folder, FIRST, SECOND)


@pytest.fixture
def shop(captured: Shop, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """The shop, as the working directory and with its store as the default one."""
    monkeypatch.chdir(captured.folder)
    return captured


@pytest.fixture
def row_lineage(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Run the command line with these arguments."""

    def run(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, out, err)

    return run
