"""Crossfilter over indexes made by hand: any relation of views and source, by Python loops."""

from __future__ import annotations

import io
import math
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lineage_core as lc
from lineage_core.index.file import Index, IndexWriter
from lineage_core.index.record import Direction, subject
from lineage_core.index.relation import relation
from lineage_core.plan.expr import TRUE
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import Field
from lineage_core.query.crossfiltering.crossfilter import Crossfilter, crossfilter
from lineage_core.query.crossfiltering.views import Written
from lineage_core.query.edges import Edge
from lineage_core.query.engines.choice import Engines
from lineage_core.query.reader import Reader
from lineage_core.query.relations import Relations
from lineage_core.snapshot import RID_SHIFT, Snapshot

Pairs = set[tuple[int, int]]
"""Number of a view's row, and of the source's."""

COLUMNS = {"i": "long", "d": "double", "m": "decimal(10,2)"}
ENGINES = Engines()


@dataclass
class World:
    """A source in some files, and views of it: for each, for each place, its pairs with it."""

    lake: Any
    files: Sequence[Sequence[tuple[Any, ...]]]
    views: Sequence[tuple[int, Sequence[Pairs]]]
    kept: Collection[Direction] = tuple(Direction)

    def __post_init__(self) -> None:
        self.source = self.lake.write("source", COLUMNS, self.files)
        self.rids = sorted(self.source.rows)
        self.written = [
            self.view(f"v{number}", count, places)
            for number, (count, places) in enumerate(self.views)
        ]

    def view(self, name: str, count: int, places: Sequence[Pairs]) -> Written:
        half = (count + 1) // 2
        numbers = [[(n,) for n in range(half)], [(n,) for n in range(half, count)]]
        made = self.lake.write(name, {"b": "long"}, numbers)
        out = sorted(made.rows)
        target = made.snapshot
        steps = [Step(StepKind.TARGET, -1, TRUE, (Field(1, "b", "long"),), 0, name)]
        edges = {}
        for at, pairs in enumerate(places, start=1):
            steps.append(Step(StepKind.SOURCE, 0, TRUE, (), at, "source", 0))
            rids = [(out[bar], self.rids[row]) for bar, row in pairs]
            edges[at] = edge(target, self.source.snapshot, at, rids, self.kept)
        program = LineageProgram(tuple(steps))
        snapshots = {0: target} | dict.fromkeys(range(1, len(steps)), self.source.snapshot)
        ordinals = ({1: 0}, *({} for _ in places))
        return Written(name, "run", Relations(program, snapshots, ordinals), edges)

    def open(self, *measures: str) -> Crossfilter:
        return crossfilter(self.written, None, measures, new_reader)

    def expected(self, chosen: Mapping[str, set[int]]) -> dict[str, list[dict[str, Any]]]:
        """Return what each view shows, by loops over all pairs."""
        rows = [self.source.rows[rid] for rid in self.rids]
        related = {
            written.name: set().union(*places)
            for written, (_, places) in zip(self.written, self.views, strict=True)
        }
        shown = {}
        for written, (count, _) in zip(self.written, self.views, strict=True):
            kept = set(range(len(rows)))
            for name, bars in chosen.items():
                if name != written.name:
                    kept &= {row for bar, row in related[name] if bar in bars}
            lines = []
            for bar in range(count):
                inside = [row for b, row in related[written.name] if b == bar and row in kept]
                line = {"b": bar, "brushed": len(inside)}
                for column in COLUMNS:
                    known = [rows[row][column] for row in inside if rows[row][column] is not None]
                    line[f"brushed_{column}"] = sum(known)
                lines.append(line)
            shown[written.name] = lines
        return shown


def new_reader() -> Reader:
    return Reader(ENGINES, "duckdb")


def edge(
    target: Snapshot,
    source: Snapshot,
    at: int,
    rids: Sequence[tuple[int, int]],
    kept: Collection[Direction] = tuple(Direction),
) -> Edge:
    outs, ins = (np.array([pair[side] for pair in rids], dtype=np.int64) for side in (0, 1))
    shapes = [max(len(snapshot.files), 1) << RID_SHIFT for snapshot in (target, source)]
    indexes = {}
    for direction, pairs, shape in (
        (Direction.BACKWARD, relation([outs], [ins]), shapes),
        (Direction.FORWARD, relation([ins], [outs]), shapes[::-1]),
    ):
        sink, about = io.BytesIO(), subject(target.id, source.id, at, direction)
        writer = IndexWriter(sink, shape, 1, about)
        writer.add(pairs)
        writer.finish()
        if direction in kept:
            indexes[direction] = Index(memoryview(sink.getvalue()), about)
    return Edge(target.id, source.id, indexes)


def close(found: Mapping[str, Any], expected: Mapping[str, Sequence[dict[str, Any]]]) -> bool:
    """Whether tables are equal; doubles up to rounding."""
    for name, lines in expected.items():
        rows = found[name].to_pylist()
        for row, line in zip(rows, lines, strict=True):
            one, other = row.pop("brushed_d"), float({**line}["brushed_d"])
            same = math.isclose(one, other, abs_tol=1e-9) or (math.isnan(one) and math.isnan(other))
            if not same or row != {key: v for key, v in line.items() if key != "brushed_d"}:
                return False
    return True


SOURCE_ROWS = st.tuples(
    st.one_of(st.none(), st.integers(-(2**55), 2**55)),
    st.one_of(st.none(), st.sampled_from([0.5, -1.25, 3.0, math.nan, math.inf])),
    st.one_of(st.none(), st.sampled_from([Decimal("1.25"), Decimal("-99999999.99")])),
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Any, Any]:
    files = draw(st.lists(st.lists(SOURCE_ROWS, max_size=6), min_size=1, max_size=3))
    rows = sum(map(len, files))
    views = []
    for _ in range(draw(st.integers(1, 3))):
        count = draw(st.integers(0, 5))
        pairs = st.tuples(st.integers(0, max(count - 1, 0)), st.integers(0, max(rows - 1, 0)))
        functional = st.dictionaries(
            st.integers(0, max(rows - 1, 0)), st.integers(0, max(count, 1) - 1)
        )
        some = st.one_of(
            st.sets(pairs, max_size=20),
            functional.map(lambda of: {(bar, row) for row, bar in of.items()}),
        )
        places = st.lists(some, min_size=1, max_size=2) if rows and count else st.just([set()])
        views.append((count, draw(places)))
    return files, views


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(worlds(), st.data())
def test_every_view_counts_the_rows_of_all_other_brushes(
    lake_at: Callable[[Path], Any], drawn: tuple[Any, Any], data: st.DataObject
) -> None:
    files, views = drawn
    with tempfile.TemporaryDirectory() as folder:
        kept = data.draw(st.sampled_from([tuple(Direction), *((each,) for each in Direction)]))
        world = World(lake_at(Path(folder)), files, views, kept)
        opened = world.open(*COLUMNS)
        assert close(opened.brush({}), world.expected({}))
        for written, (count, _) in zip(world.written, views, strict=True):
            for bar in range(count):
                told = opened.brush({written.name: f"b = {bar}"})
                assert close(told, world.expected({written.name: {bar}}))
        chosen = {}
        for written, (count, _) in zip(world.written, views, strict=True):
            if count and data.draw(st.booleans()):
                chosen[written.name] = data.draw(st.sets(st.integers(0, count - 1)))
        rids = {
            name: [
                world.written[int(name[1:])].snapshot.files and rid_of(world, name, bar)
                for bar in bars
            ]
            for name, bars in chosen.items()
        }
        assert close(opened.brush(rids), world.expected(chosen))


def rid_of(world: World, name: str, bar: int) -> int:
    count = world.views[int(name[1:])][0]
    half = (count + 1) // 2
    return bar if bar < half else 1 << RID_SHIFT | (bar - half)


@pytest.fixture
def world(lake: Any) -> World:
    """Ten rows in two files: by number modulo 3; by half, of which the third row is in both."""
    files: list[list[tuple[Any, ...]]] = [
        [(n, n / 2, Decimal(n)) for n in range(5)],
        [(n, None if n == 7 else n / 2, None) for n in range(5, 10)],
    ]
    thirds = {(n % 3, n) for n in range(10)}
    halves = {(n // 5, n) for n in range(10)} | {(1, 2)}
    return World(lake, files, [(3, [thirds]), (2, [halves])])


def test_the_brushed_view_stays_as_it_is(world: World) -> None:
    told = world.open().brush({"v0": "b = 0"})
    assert told["v0"].to_pydict() == {"b": [0, 1, 2], "brushed": [4, 3, 3]}
    assert told["v1"].to_pydict() == {"b": [0, 1], "brushed": [2, 2]}


def test_a_brush_of_nothing_leaves_nothing(world: World) -> None:
    opened = world.open("i")
    nothings: tuple[Any, ...] = ("b > 7", [], np.array([], dtype=np.int64))
    for nothing in nothings:
        told = opened.brush({"v0": nothing})
        assert told["v1"].to_pydict() == {"b": [0, 1], "brushed": [0, 0], "brushed_i": [0, 0]}


def test_sums_are_typed_and_skip_nulls(world: World) -> None:
    told = world.open("I", "d", "m").brush({"v0": "b = 1"})["v1"]
    kinds = {name: str(told.schema.field(name).type) for name in told.column_names[2:]}
    assert kinds == {"brushed_i": "int64", "brushed_d": "double", "brushed_m": "decimal128(20, 2)"}
    assert told.to_pylist() == [
        {"b": 0, "brushed": 2, "brushed_i": 5, "brushed_d": 2.5, "brushed_m": Decimal("5.00")},
        {"b": 1, "brushed": 1, "brushed_i": 7, "brushed_d": 0.0, "brushed_m": Decimal("0.00")},
    ]


@pytest.mark.parametrize(("value", "fits"), [(2**61, False), (2**58, True), (-(2**61), False)])
def test_sums_that_may_not_fit_are_refused(lake: Any, value: int, fits: bool) -> None:
    world = World(lake, [[(value, None, None)] * 2], [(1, [{(0, 0), (0, 1)}])])
    if fits:
        assert world.open("i").brush({})["v0"].column("brushed_i").to_pylist() == [2 * value]
        return
    with pytest.raises(lc.UnsupportedError, match="may not fit"):
        world.open("i")


def test_long_decimals_are_refused_unless_they_are_short(lake: Any) -> None:
    for number, value in enumerate((Decimal(10**25), Decimal("1.5"))):
        source = lake.write(f"s{number}", {"x": "decimal(38,6)"}, [[(value,), (None,)]])
        world = World(lake, [[(1, None, None)] * 2], [(1, [{(0, 0), (0, 1)}])])
        step = world.written[0]
        snapshots = {0: step.snapshot, 1: source.snapshot}
        edges = {1: edge(step.snapshot, source.snapshot, 1, [(0, 0), (0, 1)])}
        view = replace(step, relations=replace(step.relations, snapshots=snapshots), edges=edges)
        if number:
            told = crossfilter([view], None, ["x"], new_reader).brush({})
            assert told["v0"].column("brushed_x").to_pylist() == [Decimal("1.5")]
            continue
        with pytest.raises(lc.UnsupportedError, match="may not fit"):
            crossfilter([view], None, ["x"], new_reader)


def test_what_is_asked_wrongly_is_named(world: World, lake: Any) -> None:
    opened = world.open()
    with pytest.raises(lc.NotFoundError, match="no view 'v7'"):
        opened.brush({"v7": "b = 1"})
    with pytest.raises(lc.PredicateError, match="has no column 'c'"):
        opened.brush({"v0": "c = 1"})
    with pytest.raises(lc.NotFoundError, match="17 is no rid"):
        opened.brush({"v0": [0, 17]})
    with pytest.raises(lc.PredicateError, match="64-bit integers"):
        opened.brush({"v0": [0.5]})
    with pytest.raises(lc.NotFoundError, match="has no column 'speed'"):
        world.open("speed")
    with pytest.raises(lc.UnsupportedError, match="given twice"):
        world.open("i", "I")


def test_columns_that_cannot_be_added_up_or_told_apart_are_refused(lake: Any) -> None:
    words = lake.write("words", {"w": "string"}, [[("a",)]])
    brushed = lake.write("brushed", {"brushed": "long"}, [[(1,)]])
    steps = (
        Step(StepKind.TARGET, -1, TRUE, (), 0, "brushed"),
        Step(StepKind.SOURCE, 0, TRUE, (), 1, "words", 0),
    )
    relations = Relations(LineageProgram(steps), {0: brushed.snapshot, 1: words.snapshot}, ({}, {}))
    edges = {1: edge(brushed.snapshot, words.snapshot, 1, [(0, 0)])}
    view = Written("brushed", "run", relations, edges)
    with pytest.raises(lc.UnsupportedError, match="only numbers"):
        crossfilter([view], None, ["w"], new_reader)
    with pytest.raises(lc.UnsupportedError, match="a column 'brushed'"):
        crossfilter([view], None, [], new_reader)


def test_a_superset_says_so(world: World) -> None:
    relations = world.written[0].relations
    steps = relations.program.steps
    blurred = LineageProgram((steps[0], replace(steps[1], superset=("a UDF",))))
    world.written[0] = replace(world.written[0], relations=replace(relations, program=blurred))
    assert world.open().reasons == {"v0": ("a UDF",), "v1": ()}


def test_an_index_of_other_rows_is_noticed(world: World) -> None:
    view = world.written[0]
    other = edge(view.snapshot, world.source.snapshot, 1, [(1 << 39, 0)])
    world.written[0] = replace(view, edges={1: other})
    with pytest.raises(lc.CorruptError, match="of other rows"):
        world.open()
    foreign = replace(other, source="0" * 32)
    world.written[0] = replace(view, edges={1: foreign})
    with pytest.raises(lc.CorruptError, match="of other rows"):
        world.open()


def test_a_condition_is_not_asked_of_a_view_that_has_changed(world: World, lake: Any) -> None:
    opened = world.open()
    lake.write("v0", {"b": "long"}, [[(2,), (1,)], [(0,)]])
    assert opened.brush({"v0": [0]})["v1"].column("brushed").to_pylist() == [2, 2]
    with pytest.raises(lc.ChangedError, match="v0"):
        opened.brush({"v0": "b = 0"})
