"""The contract of the catalog, in every database."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from lineage_core.catalog import Catalog
from lineage_core.datasets import canonical
from lineage_core.errors import (
    AmbiguousError,
    CorruptError,
    NotFoundError,
    UnsupportedError,
)
from lineage_core.store.manifest import RunState

if TYPE_CHECKING:
    from tests.catalog.conftest import Maker

OUT = "file:///data/out/q4"
ORDERS = "file:///data/orders"
LINES = "file:///data/lineitem"


def moment(second: int) -> datetime:
    return datetime(2026, 1, 2, 4, second // 60, second % 60, tzinfo=UTC)


# Runs


def test_a_run_is_listed_with_what_it_wrote(catalog: Catalog, make: Maker) -> None:
    run = make.run(
        7,
        make.output(OUT, make.snapshot(ORDERS), artifacts=(30, 12)),
        make.output(LINES, artifacts=(1,)),
        make.output(OUT, mode="append"),
        job="tpch.q4",
        tags=(("task", "q4"), ("dag", "tpch")),
    )
    catalog.add(run)
    [summary] = catalog.runs()
    assert summary.id == run.id
    assert summary.job == "tpch.q4"
    assert summary.started == moment(7) - timedelta(hours=1)
    assert summary.ended == moment(7)
    assert summary.ended.tzinfo == UTC
    assert summary.state == "complete"
    assert summary.outputs == (OUT, LINES, OUT)
    assert (summary.captured, summary.uncaptured) == (True, "")
    assert summary.artifact_bytes == 43
    assert summary.tags == (("dag", "tpch"), ("task", "q4"))
    untyped: Any = summary
    with pytest.raises(FrozenInstanceError):
        untyped.job = "x"


def test_a_run_is_uncaptured_when_any_part_of_it_is(catalog: Catalog, make: Maker) -> None:
    catalog.add(make.run(1, make.output(OUT), make.output(LINES, uncaptured="no plan")))
    catalog.add(make.run(2, uncaptured="no Spark", state=RunState.FAILED))
    catalog.add(make.run(3))
    third, second, first = catalog.runs()
    assert (first.captured, first.uncaptured) == (False, "no plan")
    assert (second.captured, second.uncaptured, second.state) == (False, "no Spark", "failed")
    assert (third.captured, third.uncaptured, third.outputs) == (True, "", ())


def test_runs_are_newest_first_and_filtered(catalog: Catalog, make: Maker) -> None:
    catalog.add(make.run(2, make.output(OUT), job="b", tags=(("dag", "x"), ("try", "1"))))
    catalog.add(make.run(1, make.output(OUT), job="a", tags=(("dag", "x"),)))
    catalog.add(make.run(3, make.output(LINES, make.snapshot(OUT)), job="a", at=0))
    ids = {run.id: n for n in (1, 2, 3) for run in [make.run(n)]}

    def listed(**filters: Any) -> list[int]:
        return [ids[run.id] for run in catalog.runs(**filters)]

    assert listed() == [2, 1, 3]
    assert listed(limit=2) == [2, 1]
    assert listed(limit=0) == []
    assert listed(job="a") == [1, 3]
    assert listed(job="A") == []
    assert listed(job="%") == []
    assert listed(dataset="out/q4") == [2, 1, 3]
    assert listed(dataset="lineitem") == [3]
    assert listed(tag=("dag", "x")) == [2, 1]
    assert listed(tag=("dag", "1")) == []
    assert listed(tag=("try", "1"), job="b") == [2]
    with pytest.raises(NotFoundError):
        listed(dataset="nothing")


def test_adding_again_changes_nothing_and_a_new_record_replaces(
    catalog: Catalog, make: Maker
) -> None:
    run = make.run(
        1, make.output(OUT, make.snapshot(ORDERS, alias="db.orders")), tags=(("a", "b"),)
    )
    catalog.add(run)
    before = catalog.runs(), catalog.writer(OUT), catalog.readers(ORDERS)
    catalog.add(run)
    assert (catalog.runs(), catalog.writer(OUT), catalog.readers(ORDERS)) == before
    catalog.add(make.run(1, make.output(LINES), job="other"))
    assert [summary.outputs for summary in catalog.runs()] == [(LINES,)]
    for gone in (OUT, ORDERS, "db.orders"):
        with pytest.raises(NotFoundError):
            catalog.dataset(gone)


def test_removing_a_run_forgets_what_only_it_knew(catalog: Catalog, make: Maker) -> None:
    one = make.run(1, make.output(OUT, make.snapshot(ORDERS, alias="db.o"), make.snapshot(LINES)))
    catalog.add(one)
    catalog.add(make.run(2, make.output(LINES, make.snapshot(ORDERS))))
    catalog.remove(one.id)
    catalog.remove(one.id)
    catalog.remove("no id at all")
    assert [run.id for run in catalog.runs()] == [make.id(2)]
    assert catalog.dataset("orders") == ORDERS and catalog.dataset("lineitem") == LINES
    for gone in (OUT, "db.o"):
        with pytest.raises(NotFoundError):
            catalog.dataset(gone)


def test_the_same_fact_twice_is_one(catalog: Catalog, make: Maker) -> None:
    orders = make.snapshot(ORDERS, alias="db.orders")
    catalog.add(make.run(1, make.output(OUT, orders, orders), tags=(("a", "b"), ("a", "b"))))
    assert catalog.runs()[0].tags == (("a", "b"),)
    assert catalog.readers(ORDERS)[0].inputs == (0, 1)


def test_texts_a_database_cannot_hold_are_mended(catalog: Catalog, make: Maker) -> None:
    run = make.run(
        1, make.output(OUT), job="a\0b\ud800c'; DROP TABLE runs; --", tags=(("k\0", "v"),)
    )
    catalog.add(run)
    [summary] = catalog.runs(job="a\ufffdb?c'; DROP TABLE runs; --")
    assert summary.id == run.id and summary.tags == (("k\ufffd", "v"),)


@pytest.mark.parametrize("ended", ["", "yesterday", "2026-01-02T03:04:05", "2026-13-01T00:00:00Z"])
def test_a_run_without_a_proper_time_is_refused(catalog: Catalog, make: Maker, ended: str) -> None:
    with pytest.raises(CorruptError, match=make.id(1)):
        catalog.add(replace(make.run(1), ended=ended))
    assert catalog.runs() == []


# Run ids


def test_a_run_is_found_by_the_beginning_of_its_id(catalog: Catalog, make: Maker) -> None:
    ids = [
        "0b0e8a9e-1111-4222-8333-444455556666",
        "0b0e8a9e-1111-4222-8333-44445555666f",
        "0b0e8a9e-2111-4222-8333-444455556666",
        "ffffffff-ffff-4fff-bfff-ffffffffffff",
    ]
    for n, run_id in enumerate(ids):
        catalog.add(replace(make.run(n), id=run_id))
    assert catalog.run_id("f") == ids[3]
    assert catalog.run_id("0b0e8a9e-2") == ids[2]
    assert catalog.run_id("0B0E8A9E-2") == ids[2]
    assert catalog.run_id(ids[0]) == ids[0]
    for prefix, count in (("0b", 3), ("0b0e8a9e-1", 2), ("0b0e8a9e", 3), ("0b0e8a9e-", 3)):
        with pytest.raises(AmbiguousError, match="not unique") as ambiguous:
            catalog.run_id(prefix)
        assert sum(run_id in ambiguous.value.hint for run_id in ids) == count
    for prefix in ("1", "", "%", "_", "0b0e8a9e_1", "g", "0b0e8a9e-1111-4222-8333-4444555566660"):
        with pytest.raises(NotFoundError, match="no run"):
            catalog.run_id(prefix)
    with pytest.raises(NotFoundError) as missing:
        catalog.run_id("0b0e8a8e")
    assert "did you mean 0b0e8a9e-" in missing.value.hint


def test_many_candidates_are_not_all_listed(catalog: Catalog, make: Maker) -> None:
    for n in range(8):
        catalog.add(replace(make.run(n), id=f"0b0e8a9e-1111-4222-8333-44445555666{n}"))
    with pytest.raises(AmbiguousError) as caught:
        catalog.run_id("0")
    assert caught.value.hint.count("0b0e8a9e") == 5 and caught.value.hint.endswith("...")


# Dataset names


def test_a_dataset_is_found_under_all_its_names(catalog: Catalog, make: Maker) -> None:
    orders = make.snapshot("file:///data/my%20orders", alias="spark_catalog.default.orders_table")
    catalog.add(make.run(1, make.output("s3://bucket/out/q%234", orders)))
    for name in (
        "file:///data/my%20orders",
        "file:/data/my orders/",
        "/data/x/../my orders",
        "file//data/my orders",
        "data/my orders",
        "data//my orders/",
        "my orders",
        "spark_catalog.default.orders_table",
        "default.orders_table",
        "orders_table",
    ):
        assert catalog.dataset(name) == "file:///data/my%20orders", name
    for name in ("s3a://bucket/out/q#4", "out/q#4", "q#4", "bucket/out/q#4"):
        assert catalog.dataset(name) == "s3://bucket/out/q%234", name


def test_part_of_a_name_is_no_name(catalog: Catalog, make: Maker) -> None:
    orders = make.snapshot(ORDERS, alias="db.orders_table")
    catalog.add(make.run(1, make.output(OUT, orders)))
    for name in ("rders", "4", "data", "ut/q4", "orders/x", "", " ", ".", "/", "..", "table", "db"):
        with pytest.raises(NotFoundError):
            catalog.dataset(name)
    for name in ("/orders", "./orders", "../orders", "file:/orders", "file//orders", "x/../data"):
        with pytest.raises(NotFoundError):
            catalog.dataset(name)
    for name in ("%", "_rders", "%orders", "ord%", "a\0b", "s3://bucket/orders", "'", "\ud800"):
        with pytest.raises(NotFoundError):
            catalog.dataset(name)


def test_an_unknown_dataset_has_suggestions(catalog: Catalog, make: Maker) -> None:
    catalog.add(make.run(1, make.output(OUT, make.snapshot(ORDERS, alias="db.customers"))))
    for name, near in (
        ("out/q5", "/data/out/q4"),
        ("/data/out/q", "/data/out/q4"),
        ("ordrs", "/data/orders"),
        ("custmers", "db.customers"),
        ("file:///data/order", "/data/orders"),
    ):
        with pytest.raises(NotFoundError) as caught:
            catalog.dataset(name)
        assert near in caught.value.hint, name
    with pytest.raises(NotFoundError) as caught:
        catalog.dataset("zzzzzz")
    assert "did you mean" not in caught.value.hint and caught.value.hint


def test_a_name_of_several_datasets_is_ambiguous(catalog: Catalog, make: Maker) -> None:
    first, second = "file:///a/x/orders", "file:///b/x/orders"
    catalog.add(make.run(1, make.output(first, alias="db1.t"), make.output(second, alias="db2.t")))
    for name in ("orders", "x/orders", "t"):
        with pytest.raises(AmbiguousError, match="not unique") as caught:
            catalog.dataset(name)
        assert "/a/x/orders" in caught.value.hint and "/b/x/orders" in caught.value.hint
    assert catalog.dataset("a/x/orders") == first
    assert catalog.dataset("db2.t") == second


def test_an_exact_name_goes_before_the_end_of_another(
    catalog: Catalog,
    make: Maker,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)
    mine, other = canonical("orders"), "file:///elsewhere/orders"
    catalog.add(make.run(1, make.output(other, alias="orders")))
    assert catalog.dataset("orders") == other
    catalog.add(make.run(2, make.output(mine)))
    assert catalog.dataset("orders") == mine


# Writers


def test_the_newest_writer_answers_captured_or_not(catalog: Catalog, make: Maker) -> None:
    catalog.add(make.run(1, make.output(OUT, state="a")))
    catalog.add(make.run(3, make.output(OUT, state=None, uncaptured="no plan: timeout")))
    catalog.add(make.run(2, make.output(LINES), make.output(OUT, state="b")))
    newest = catalog.writer("out/q4")
    assert (newest.run_id, newest.index, newest.snapshot_id) == (make.id(3), 0, None)
    assert newest.uncaptured == "no plan: timeout"
    assert newest.ended == moment(3)
    earlier = catalog.writer(OUT, as_of=moment(2))
    assert (earlier.run_id, earlier.index, earlier.uncaptured) == (make.id(2), 1, "")
    assert earlier.snapshot_id == make.snapshot(OUT, "b").id
    assert catalog.writer(OUT, as_of=moment(2) - timedelta(microseconds=1)).run_id == make.id(1)
    local = timezone(timedelta(hours=5))
    assert catalog.writer(OUT, as_of=moment(1).astimezone(local)).run_id == make.id(1)
    with pytest.raises(NotFoundError, match="/data/out/q4 up to 2026"):
        catalog.writer(OUT, as_of=moment(0))
    with pytest.raises(UnsupportedError, match="time zone"):
        catalog.writer(OUT, as_of=datetime(2026, 1, 1))


def test_a_writer_of_a_given_run(catalog: Catalog, make: Maker) -> None:
    catalog.add(make.run(1, make.output(OUT)))
    catalog.add(make.run(2, make.output(OUT)))
    catalog.add(make.run(3, make.output(LINES)))
    assert catalog.writer(OUT, run=make.id(1)).run_id == make.id(1)
    assert catalog.writer(OUT, run=make.id(1)[:9]).run_id == make.id(1)
    with pytest.raises(NotFoundError, match=make.id(3)):
        catalog.writer(OUT, run=make.id(3))
    with pytest.raises(NotFoundError, match="no run"):
        catalog.writer(OUT, run=make.id(9))
    with pytest.raises(NotFoundError, match="up to"):
        catalog.writer(OUT, run=make.id(2), as_of=moment(1))


def test_a_wholly_uncaptured_run_says_so_for_its_outputs(catalog: Catalog, make: Maker) -> None:
    catalog.add(make.run(1, make.output(OUT, make.snapshot(ORDERS)), uncaptured="inference failed"))
    assert catalog.writer(OUT).uncaptured == "inference failed"
    assert catalog.readers(ORDERS)[0].uncaptured == "inference failed"


def test_a_dataset_only_read_has_no_writer(catalog: Catalog, make: Maker) -> None:
    catalog.add(make.run(1, make.output(OUT, make.snapshot(ORDERS))))
    with pytest.raises(NotFoundError, match=r"no captured run wrote /data/orders"):
        catalog.writer(ORDERS)
    with pytest.raises(NotFoundError, match="never wrote"):
        catalog.writer(ORDERS, run=make.id(1))


def test_the_last_replacement_in_a_run_is_its_writer(catalog: Catalog, make: Maker) -> None:
    writes = [make.output(OUT, state=s, mode=m) for s, m in enumerate(("append", "overwrite"))]
    catalog.add(make.run(1, *writes))
    assert catalog.writer(OUT).index == 1
    assert [ref.index for ref in catalog.writers(OUT)] == [1]


@pytest.mark.parametrize("first", ["append", "overwrite", "errorifexists"])
def test_several_parts_of_one_run_are_ambiguous(catalog: Catalog, make: Maker, first: str) -> None:
    writes = [make.output(OUT, state=s, mode=m) for s, m in enumerate((first, "append"))]
    catalog.add(make.run(1, make.output(LINES), *writes))
    with pytest.raises(AmbiguousError, match="in 2 parts") as caught:
        catalog.writer(OUT)
    assert "outputs 1, 2" in caught.value.hint
    assert [ref.index for ref in catalog.writers(OUT)] == [2, 1]


def test_a_state_is_made_of_its_appends_down_to_the_last_replacement(
    catalog: Catalog, make: Maker
) -> None:
    for n, mode in enumerate(("append", "overwrite", "append", "append"), 1):
        catalog.add(make.run(n, make.output(OUT, state=n, mode=mode)))
    assert [ref.run_id for ref in catalog.writers(OUT)] == [make.id(n) for n in (4, 3, 2)]
    assert [ref.mode for ref in catalog.writers(OUT)] == ["append", "append", "overwrite"]
    assert catalog.writer(OUT) == catalog.writers(OUT)[0]
    assert [ref.run_id for ref in catalog.writers(OUT, as_of=moment(1))] == [make.id(1)]


def test_runs_of_one_instant_have_an_order_that_does_not_depend_on_insertion(
    catalog: Catalog, make: Maker
) -> None:
    runs = [make.run(n, make.output(OUT, make.snapshot(ORDERS)), at=5) for n in range(4)]
    for run in runs:
        catalog.add(run)
    first = catalog.writer(OUT), catalog.readers(ORDERS), catalog.runs()
    for run in runs:
        catalog.remove(run.id)
    for run in reversed(runs):
        catalog.add(run)
    assert (catalog.writer(OUT), catalog.readers(ORDERS), catalog.runs()) == first


# Snapshots and readers


def test_the_writer_of_a_snapshot(catalog: Catalog, make: Maker) -> None:
    catalog.add(make.run(1, make.output(OUT, state="a"), make.output(LINES, state="a")))
    catalog.add(make.run(2, make.output(OUT, state="b")))
    catalog.add(make.run(3, make.output(OUT, state=None)))

    def writer(dataset: str, state: str) -> tuple[str, int] | None:
        found = catalog.writer_of_snapshot(dataset, make.snapshot(canonical(dataset), state).id)
        return None if found is None else (found.run_id, found.index)

    assert writer(OUT, "a") == (make.id(1), 0)
    assert writer(LINES, "a") == (make.id(1), 1)
    assert writer(OUT, "b") == (make.id(2), 0)
    assert writer(OUT, "c") is None
    assert catalog.writer_of_snapshot(LINES, make.snapshot(OUT, "a").id) is None
    catalog.add(make.run(4, make.output(OUT, state="a")))
    assert writer(OUT, "a") == (make.id(4), 0)


def test_readers_of_a_dataset_and_of_a_snapshot(catalog: Catalog, make: Maker) -> None:
    old, new, lines = (
        make.snapshot(ORDERS, "old"),
        make.snapshot(ORDERS, "new"),
        make.snapshot(LINES),
    )
    catalog.add(make.run(1, make.output(OUT, lines, old), make.output(LINES, old)))
    catalog.add(make.run(2, make.output(OUT, new, lines, old, new)))
    catalog.add(make.run(3, make.output(ORDERS)))

    def readers(**filters: str) -> list[tuple[str, int, tuple[int, ...]]]:
        refs = catalog.readers("orders", **filters)
        return [(ref.run_id, ref.index, ref.inputs) for ref in refs]

    one, two = make.id(1), make.id(2)
    assert readers() == [(two, 0, (0, 2, 3)), (one, 1, (0,)), (one, 0, (1,))]
    assert readers(snapshot_id=new.id) == [(two, 0, (0, 3))]
    assert readers(snapshot_id=old.id) == [(two, 0, (2,)), (one, 1, (0,)), (one, 0, (1,))]
    assert readers(run=one[:10]) == [(one, 1, (0,)), (one, 0, (1,))]
    assert readers(run=one, snapshot_id=new.id) == []
    assert catalog.readers(OUT) == []
    assert catalog.readers(ORDERS)[0].dataset == OUT
    with pytest.raises(NotFoundError):
        catalog.readers("nothing")


def test_replaced_partitions_leave_the_writes_before_them(catalog: Catalog, make: Maker) -> None:
    modes = ("overwrite", "overwrite", "overwrite_partitions", "append", "overwrite_partitions")
    for n, mode in enumerate(modes, 1):
        catalog.add(make.run(n, make.output(OUT, state=n, mode=mode)))
    assert [ref.run_id for ref in catalog.writers(OUT)] == [make.id(n) for n in (5, 4, 3, 2)]


def test_folders_in_and_above_a_dataset_are_related(catalog: Catalog, make: Maker) -> None:
    related = [OUT, f"{OUT}/day=1", f"{OUT}/day=2/hour=0", "file:///data/out", "file:///"]
    strangers = [f"{OUT}2", f"{OUT}-old/day=1", f"{OUT}.old", "file:///data/ou", "s3://data/out/q4"]
    for n, name in enumerate(related + strangers):
        catalog.add(make.run(n, make.output(name)))
        reads = make.output("file:///made", make.snapshot("file:///other"), make.snapshot(name))
        catalog.add(make.run(50 + n, reads))
    last = len(related) - 1
    found = [ref.run_id for ref in catalog.related_writers(OUT)]
    assert found == [make.id(n) for n in range(last, -1, -1)]
    readers = [(ref.run_id, ref.inputs) for ref in catalog.related_readers(OUT)]
    assert readers == [(make.id(50 + n), (1,)) for n in range(last, -1, -1)]
