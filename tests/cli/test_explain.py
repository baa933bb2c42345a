"""Programs drawn over their plans: golden texts of TPC-H, and plans made to be hard to draw.

`explained/q<n>.plan.json` is the optimised plan of a TPC-H query as captured, `q<n>.txt` what a
terminal of 80 columns shows of it.
"""

from __future__ import annotations

import inspect
import io
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from lineage_core import codec
from lineage_core.cli.explain import Explained, document, explained
from lineage_core.cli.output import write_tables
from lineage_core.infer import Size, infer, link
from lineage_core.plan.expr import (
    TRUE,
    AggregateCall,
    Call,
    Column,
    Compare,
    Comparison,
    Expr,
    Frame,
    FrameUnit,
    Literal,
    WindowCall,
    is_in,
)
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import (
    Aggregate,
    Field,
    Filter,
    Join,
    JoinKind,
    Limit,
    Named,
    Opaque,
    Plan,
    Project,
    Scan,
    Sort,
    SortKey,
    Window,
    output,
)
from lineage_core.plan.ties import decidable
from lineage_core.plan.traverse import nodes
from lineage_core.snapshot import DataFile, Snapshot
from lineage_core.store.manifest import Artifact, Materialize

Draw = Callable[..., str]

FOLDER = Path(__file__).with_name("explained")
DOCUMENTED = Path(__file__).parents[2] / "docs" / "explain.md"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch) -> Draw:
    """What a terminal shows of what is explained, without the blanks at the ends of lines."""

    def shown(subject: Explained, width: int = 80) -> str:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("COLUMNS", str(width))
        file = Terminal()
        write_tables(explained(subject), file)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
        lines = [line.rstrip() for line in plain.splitlines()]
        drawn = lines[2:-2] if lines[-1].startswith("x <=> y") else lines[2:]  # notes fold freely
        assert lines[0] and max(map(len, drawn)) <= width
        return "\n".join(lines) + "\n"

    return shown


def squeezed(text: str) -> str:
    return re.sub(r"[│\s]+", " ", text)


def replayed(plan: Plan, name: str = "file:///data/out") -> Explained:
    program = infer(plan, decided=decidable(plan), name=name)
    return Explained(plan, program, "replay")


def untold(plan: Plan) -> Explained:
    """A program that says nothing of what is below the output."""
    target = Step(StepKind.TARGET, -1, TRUE, output(plan), plan.at, "file:///data/out")
    return Explained(plan, LineageProgram((target,)), "saved")


def refined(plan: Plan, name: str = "file:///data/out") -> Explained:
    program, links = link(plan, infer(plan, ways=(), name=name))
    return Explained(plan, program, "iterative", links)


def saved(plan: Plan, name: str = "file:///data/out") -> Explained:
    """What is told of a run that saved the smallest of several intermediates."""

    def sizes(node: Plan, columns: tuple[Field, ...]) -> Size:
        return Size(1_000 * node.at + len(columns), "statistics" if node.at % 2 else "observed")

    program = infer(plan, ways=(StepKind.SAVED,), sizes=sizes, name=name)
    artifacts = (stored(step) for step in program.saved)
    return Explained(plan, program, "saved", artifacts=tuple(artifacts), run="ab12")


def stored(step: int) -> Artifact:
    files = tuple(DataFile(f"file:///s/{i}.parquet", 1_200, 0, "") for i in range(2))
    return Artifact(step, Snapshot("file:///s", "parquet", (), files), 57, Materialize.INJECT)


@cache
def tpch(number: int) -> Plan:
    text = (FOLDER / f"q{number:02}.plan.json").read_text()
    kind: Any = Plan  # a union of classes
    return cast(Plan, codec.loads(text, kind))


@cache
def query(told: Callable[[Plan, str], Explained], number: int) -> Explained:
    return told(tpch(number), f"file:///tpch/out/q{number}")


@pytest.mark.parametrize(
    ("number", "told"), [(3, replayed), (4, saved), (11, replayed), (16, refined)]
)
def test_tpch(number: int, told: Callable[[Plan, str], Explained], draw: Draw) -> None:
    subject = query(told, number)
    assert draw(subject) == (FOLDER / f"q{number:02}.txt").read_text()


@pytest.mark.parametrize("number", [3, 4, 11, 16])
@pytest.mark.parametrize("told", [replayed, refined, saved])
def test_every_operator_is_drawn_once_in_any_width(
    number: int, told: Callable[[Plan, str], Explained], draw: Draw
) -> None:
    subject = query(told, number)
    for width in (44, 80, 300):
        text = draw(subject, width)
        for node in nodes(subject.plan):
            label = f"{type(node).__name__.lower()}{node.at}"
            assert len(re.findall(rf"^[│├└─ ]*{label}  ", text, re.MULTILINE)) == 1


def scan(number: int, *names: str) -> Scan:
    fields = tuple(Field(100 * (number + 1) + i, name, "long") for i, name in enumerate(names))
    return Scan(900 + number, number, f"file:///data/t{number}", fields)


def column(plan: Plan, place: int) -> Column:
    found = output(plan)[place]
    return Column(found.id, found.type)


def equal(left: Expr, right: Expr) -> Expr:
    return Compare(Comparison.EQ, left, right)


def test_a_superset_names_the_operator_it_comes_from(draw: Draw) -> None:
    source = scan(0, "a")
    opaque = Opaque(1, "MapInPandas", "a Python function", (Field(7, "b", "long"),), (source,))
    top = Filter(0, Compare(Comparison.GT, Column(7, "long"), Literal(3, "long")), opaque)
    subject = replayed(top)
    text = draw(subject)
    assert text.splitlines()[0].endswith("are traced: superset, strategy replay")
    assert "opaque1  MapInPandas: a Python function\n" in text
    assert "         lineage: every row\n" in text
    assert "         superset: MapInPandas (operator 1): a Python function\n" in text
    assert "columns: a (unknown)" in text
    assert document(subject)["precision"] == "superset"
    step = document(subject)["steps"][1]
    assert (step["precision"], step["rows"]) == ("superset", "every row")


def test_columns_of_one_name_are_told_apart(draw: Draw) -> None:
    left, right = scan(0, "id", "parent"), scan(1, "id", "parent")
    condition = equal(column(left, 1), column(right, 0))
    text = squeezed(draw(replayed(Join(0, JoinKind.INNER, condition, left, right))))
    assert "join0 inner on scan900.parent = scan901.id" in text
    assert "id <=> out.scan900.id AND parent <=> out.scan900.parent" in text


def test_the_output_is_not_called_as_an_operator(draw: Draw) -> None:
    top = Filter(0, equal(column(scan(0, "a"), 0), Literal(1, "long")), scan(0, "a"))
    assert "a <=> output.filter0.a" in draw(replayed(top, "file:///data/filter0"))
    assert "a <=> `my out`.a" in draw(replayed(top, "file:///data/my%20out"))


def test_limits_assumed_to_have_no_ties_say_so(draw: Draw) -> None:
    source = scan(0, "a", "b")
    ordered = Sort(2, (SortKey(column(source, 0), False, False),), True, source)
    limit = Limit(1, 3, ordered)
    total = AggregateCall("sum", (column(source, 1),), "long", False, None)
    top = Aggregate(0, (), (Named(7, "s", total, "long"),), limit)
    subject = replayed(top)
    assert subject.program.assumed == (1,)
    text = draw(subject)
    (at,) = (i for i, line in enumerate(text.splitlines()) if line.startswith("limit1"))
    assert any("assumed: no rows tie" in line for line in text.splitlines()[at : at + 5])
    assert document(subject)["assumed"] == [1]
    assert "assumed" not in draw(Explained(top, replace(subject.program, assumed=()), "replay"))


def test_frames_that_count_rows_are_told_by_number(draw: Draw) -> None:
    source = scan(0, "a", "b", "c")
    last = Frame(FrameUnit.ROWS, Literal(-2, "integer"), Literal(0, "integer"))
    call = WindowCall("sum", (column(source, 2),), "long", last)
    keys = (SortKey(column(source, 1), True, True),)
    top = Window(0, (column(source, 0),), keys, (Named(7, "s", call, "long"),), source)
    subject = replayed(top)
    assert (subject.program.assumed, subject.program.numbered) == ((0,), (0,))
    text = squeezed(draw(subject))
    assert "order by b: position = the row's number" in text
    assert "order by position: s = sum(c) OVER range from 2 before" in text
    assert "assumed: no rows tie in its order" in text
    assert text.count("COMPUTED") == 2
    whole = {operator["at"] for operator in document(subject)["operators"]}
    assert {step["at"] for step in document(subject)["steps"][1:]} <= whole


HOSTILE = ["\x1b[2J\x1b]0;owned\x07", "[red]x[/red]", "a\nb", "``", "\u202eevil", "ä" * 300, ""]


def test_hostile_names_are_text(draw: Draw) -> None:
    source = scan(0, *HOSTILE)
    keys = tuple(column(source, i) for i in range(len(HOSTILE)))
    named = tuple(
        Named(500 + i, f"{name}\x9b", key, "long")
        for i, (name, key) in enumerate(zip(HOSTILE, keys, strict=True))
    )
    top = Aggregate(0, keys, named, source)
    for width in (40, 80, 200):
        text = draw(replayed(top, "file:///data/%1B%5B2J"), width)
        assert not [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")]
        assert "[red]x[/red]" in text.replace("\n", "")
        assert r"\x1b" in text and r"\u202e" in text
    json.dumps(document(replayed(top)))


def deep_chain(height: int) -> Plan:
    plan: Plan = scan(0, "a", "b")
    for at in range(height):
        condition = Compare(Comparison.GE, column(plan, 0), Literal(at, "long"))
        plan = Filter(at, condition, plan)
    return plan


def test_long_chains_indent_no_further(draw: Draw) -> None:
    lines = draw(untold(deep_chain(300))).splitlines()
    operators = [line for line in lines if line.startswith(("filter", "scan"))]
    assert len(operators) == 301


def deep_joins(height: int) -> Iterator[Plan]:
    """Yield joins that go deep on the left, on the right, and through both in turn."""
    for turn in (lambda at: False, lambda at: True, lambda at: at % 2 == 0):
        plan: Plan = scan(0, "a0")
        for at in range(1, height):
            other = scan(at, f"a{at}")
            sides = (other, plan) if turn(at) else (plan, other)
            condition = equal(column(plan, 0), column(other, 0))
            plan = Join(at, JoinKind.INNER, condition, *sides)
        yield plan


def test_deep_joins_go_on_below(draw: Draw) -> None:
    for plan in deep_joins(300):
        text = draw(untold(plan))
        for node in nodes(plan):
            label = f"{type(node).__name__.lower()}{node.at}"
            own = re.findall(rf"^([│├└─ ]*){label}  +(?!continued below)\S", text, re.MULTILINE)
            assert len(own) == 1 and len(own[0]) <= 28
        for label in re.findall(r"(join\d+)  +continued below", text):
            assert re.search(rf"^{label}  ", text, re.MULTILINE)


def test_long_texts_are_cut_and_say_so(draw: Draw) -> None:
    source = scan(0, "a")
    values = [Literal(value, "long") for value in range(2_000)]
    subject = replayed(Filter(0, is_in(column(source, 0), values), source))
    text = draw(subject)
    assert len(text.splitlines()) < 60
    assert "more characters: --format json" in squeezed(text)
    (told,) = (o["does"] for o in document(subject)["operators"] if o["kind"] == "filter")
    assert told.endswith("1998, 1999)")


def test_a_missing_intermediate_is_told(draw: Draw) -> None:
    subject = replace(query(saved, 4), artifacts=())
    assert "SAVED" in draw(subject) and "the run holds no file of it" in draw(subject)
    (step,) = (s for s in document(subject)["steps"] if s["kind"] == "saved")
    assert step["saved"] is None


def test_document_of_a_saved_intermediate() -> None:
    subject = query(saved, 4)
    told = document(subject)
    (step,) = (s for s in told["steps"] if s["kind"] == "saved")
    assert step["saved"] == {"rows": 57, "bytes": 2_400, "how": "inject"}
    assert step["weighed"][0]["at"] == step["at"]
    assert {a["way"] for a in step["weighed"]} == {"saved"}
    assert all(a["bytes"] is None or a["bytes"] > 0 for a in step["weighed"])
    assert told["run"] == "ab12"


def test_document_of_a_computed_intermediate() -> None:
    told = document(query(replayed, 4))
    (step,) = (s for s in told["steps"] if s["kind"] == "computed")
    scans = {o["at"]: o["label"] for o in told["operators"] if o["kind"] == "scan"}
    assert {entry["at"]: entry["label"] for entry in step["reduced"]} == scans
    assert all(entry["rows"].startswith("rows where ") for entry in step["reduced"])
    assert (step["saved"], told["run"]) == (None, None)


@pytest.mark.parametrize("number", [3, 4, 11, 16])
@pytest.mark.parametrize("told", [replayed, refined, saved])
def test_documents_hold_what_is_documented(
    number: int, told: Callable[[Plan, str], Explained]
) -> None:
    described = set(re.findall(r"^\| `([a-z.]+)` \|", DOCUMENTED.read_text(), re.MULTILINE))
    found = set(_paths(document(query(told, number)), ""))
    assert found <= described
    plan = document(query(told, number))["operators"]
    places = [operator["at"] for operator in plan]
    assert len(set(places)) == len(places)
    assert {at for operator in plan for at in operator["inputs"]} == set(places[1:])


def test_nothing_is_documented_that_no_document_holds() -> None:
    described = set(re.findall(r"^\| `([a-z.]+)` \|", DOCUMENTED.read_text(), re.MULTILINE))
    found: set[str] = set()
    for told in (replayed, refined, saved):
        for number in (4, 16):
            found.update(_paths(document(query(told, number)), ""))
    assert described and found == described


def _paths(value: object, path: str) -> Iterator[str]:
    """Yield the names in a document, without the values of `uses`, whose names are columns."""
    if path:
        yield path
    match value:
        case dict() if not path.endswith("uses"):
            for name, inner in value.items():
                yield from _paths(inner, f"{path}.{name}".strip("."))
        case list():
            for inner in value:
                yield from (p for p in _paths(inner, path) if p != path)


def test_computed_columns_and_kept_ones(draw: Draw) -> None:
    source = scan(0, *(f"c{i}" for i in range(12)))
    kept = tuple(Named(f.id, f.name, Column(f.id, f.type), f.type) for f in source.columns)
    added = Call("add", (column(source, 0), Literal(1, "long")), "long")
    top = Project(0, (*kept, Named(7, "d", added, "long")), source)
    assert "project0  d = c0 + 1; keeps 12 columns" in draw(replayed(top))


def test_a_tree_of_300_operators_needs_little_room_on_the_stack(draw: Draw) -> None:
    limit = sys.getrecursionlimit()
    plans = [deep_chain(300), *deep_joins(300)]
    sys.setrecursionlimit(len(inspect.stack(0)) + 200)
    try:
        texts = [draw(untold(plan)) for plan in plans]
    finally:
        sys.setrecursionlimit(limit)
    assert all(texts)
