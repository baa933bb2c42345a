"""One write: met before it runs, saved and recorded after it, and never in its way.

Whatever goes wrong in here ends as the reason why the output is uncaptured; the user's write runs
all the same. Reasons name the stage and the kind of error, never a value.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lineage_core.capture import outputs, sources
from lineage_core.capture.catalyst import CapturedPlan, read_plan
from lineage_core.capture.optimise import optimise
from lineage_core.capture.writes import UNKNOWN, Write, analyse, describe, named
from lineage_core.errors import LineageError, UnsupportedError
from lineage_core.execute import choose, defer, inject, saved
from lineage_core.execute.jvm import preorder, text
from lineage_core.execute.sizes import sizes
from lineage_core.execute.tree import Tree
from lineage_core.execute.widen import Widener
from lineage_core.infer import COMPUTE, infer
from lineage_core.plan.program import LineageProgram, Step, StepKind
from lineage_core.plan.relation import Plan
from lineage_core.plan.repeat import unrepeatable
from lineage_core.plan.ties import decidable
from lineage_core.plan.traverse import nodes
from lineage_core.snapshot import ColumnType, Snapshot
from lineage_core.store.manifest import Artifact, Materialize, OutputRecord, Timing

T = TypeVar("T")

_WAYS: Mapping[Materialize, tuple[StepKind, ...]] = {
    Materialize.AUTO: (StepKind.COMPUTED, StepKind.SAVED),
    Materialize.INJECT: (StepKind.SAVED, StepKind.COMPUTED),
    Materialize.DEFER: (StepKind.SAVED, StepKind.COMPUTED),
    Materialize.NEVER: COMPUTE,
}
"""How intermediates may be had, the preferred way first."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of a write before it runs.

    Attributes:
        captured: its plan.
        listings: the files each source is read from.
        program: its lineage.
        columns: the written columns.
    """

    captured: CapturedPlan
    listings: tuple[sources.Listing, ...]
    program: LineageProgram
    columns: tuple[ColumnType, ...]


@dataclass
class Attempt:
    """The capture of one write.

    Args:
        spark: the session that writes.
        place: where intermediates go.
        wish: when they are saved.
        command: gives the Java command of the write, not analyzed.
        can_inject: whether the write can be given other rows to write.
        observed: gives the bytes that intermediates took when a dataset was last written by the
            same plan, by place.
    """

    spark: SparkSession
    place: saved.Place
    wish: Materialize
    command: Callable[[], Any]
    can_inject: bool
    observed: Callable[[str, Plan], Mapping[int, int]]
    record: OutputRecord | None = None
    _write: Write | None = None
    _before: outputs.Folder = outputs.NOTHING
    _facts: _Facts | None = None
    _artifacts: list[Artifact] = field(default_factory=list)
    _waiting: list[int] = field(default_factory=list)
    _lost: set[int] = field(default_factory=set)  # places whose output cannot be saved
    _injects: bool = False
    _kept: frozenset[int] = frozenset()  # places whose output is saved already
    _tree: Tree | None = None
    _seconds: dict[str, float] = field(default_factory=dict)
    _stage: str = ""
    _failure: str = ""

    def run(self, call: Callable[[Any], T]) -> T:
        """Run the user's write and return what it returns; `record` tells of it afterwards.

        Args:
            call: runs the write, of the Java Dataset given, or of the user's own rows for None.
        """
        try:
            self._guarded(self._meet)
            rows = self._guarded(self._inject)
            result = self._call(call, rows)
        except BaseException:
            self._discard()
            self._note_left()
            raise
        self._finish()
        return result

    def _call(self, call: Callable[[Any], T], rows: Any) -> T:
        with self._timed("write"):
            if rows is None:
                return call(None)
            try:
                return call(rows)
            except Exception as error:
                # Whatever it was: with the user's own rows it either works or fails as it should.
                _logger.warning("a rebuilt plan could not be written: %s", _kind(error))
                self._undo()
                return call(None)

    def _note_left(self) -> None:
        """Record a failed write that left files, as one of several in a statement may."""
        try:
            if self._write is not None and self._write.format:
                left = outputs.look(self._write.dataset).files - self._before.files
                if left:
                    why = "the write failed, and files of it are left"
                    inputs = self._guarded(self._take_sources) or ()
                    self.record = uncaptured(self._write.dataset, self._write.mode, inputs, why)
        except Exception as error:
            _logger.warning("what a failed write left is not known: %s", _kind(error))

    def _guarded(self, step: Callable[[], T]) -> T | None:
        """Return the result of `step`; None, and the write uncaptured, if it fails."""
        if self._failure:
            return None
        try:
            return step()
        except Exception as error:
            self._fail(error)
            return None

    def _fail(self, error: BaseException) -> None:
        self._failure = f"{self._stage}: {_reason(error)}"
        _logger.warning("row lineage not captured: %s", self._failure)
        _logger.debug("", exc_info=error)
        self._discard()

    def _discard(self) -> None:
        self._artifacts.clear()
        self._waiting.clear()
        try:
            self.place.remove()
        except Exception as error:
            _logger.warning("saved intermediates could not be removed: %s", _kind(error))

    def _meet(self) -> None:
        with self._timed("analyse"):
            write = self._write = describe(self.spark, analyse(self.spark, self.command()))
            if write is None:
                return
            if not write.format:
                raise UnsupportedError(f"{write.dataset} is not a folder of files")
            self._before = outputs.look(write.dataset)
        with self._timed("optimise"):
            optimised = optimise(self.spark, write.query)
            captured = read_plan(self.spark, optimised)
            plan = named(captured.plan, write.columns)
        with self._timed("sources"):
            listings = sources.list_all(self.spark, captured.sources, captured.leaves)
        with self._timed("infer"):
            captured = replace(captured, plan=plan)
            self._injects = self.wish is not Materialize.DEFER and self._may_inject()
            program = self._infer(captured, write.dataset)
        types = sources.column_types(write.query.schema())
        columns = tuple(
            ColumnType(name, column.type) for name, column in zip(write.columns, types, strict=True)
        )
        self._facts = _Facts(captured, listings, program, columns)

    def _infer(self, captured: CapturedPlan, name: str) -> LineageProgram:
        """Return the program, of which all can be saved that is to be."""
        while True:
            program = infer(
                captured.plan,
                ways=_WAYS[self.wish],
                savable=self._savable(captured),
                formats=dict(enumerate(source.format for source in captured.sources)),
                decided=decidable(captured.plan),
                sizes=sizes(
                    lambda: preorder(self.spark, captured.java),
                    lambda: self.observed(name, captured.plan)
                ),
                name=name,
            )
            steps = [program.steps[number] for number in program.saved]
            lost = {
                step.at
                for step in steps
                if not self._can_offer(captured, step)
            }
            if not lost:
                return program
            self._lost |= lost

    def _can_offer(self, captured: CapturedPlan, step: Step) -> bool:
        widener = Widener(self._tree_of(captured))
        return widener.offers(step.at, (column.id for column in step.columns))

    def _tree_of(self, captured: CapturedPlan) -> Tree:
        if self._tree is None:
            self._tree = Tree.of(self.spark, captured.java, captured.plan)
        return self._tree

    def _savable(self, captured: CapturedPlan) -> Callable[[Plan], bool]:
        """Return which operators' output can be saved, in the user's job or after it."""

        def savable(node: Plan) -> bool:
            # Operators numbered after Spark's own are of subqueries, which are no part of its plan.
            if node.at in self._lost or node.at >= len(self._tree_of(captured).nodes):
                return False
            if node.at in self._kept or self._can_split(captured, node.at):
                return True
            return not unrepeatable(node)

        return savable

    def _can_split(self, captured: CapturedPlan, at: int) -> bool:
        return self._injects and not inject.inseparable(self._tree_of(captured), at)

    def _inject(self) -> Any:
        """Save what is to be saved before the write; return the rest of the plan as a Dataset."""
        if self._facts is None:
            return None
        with self._timed("save"):
            chosen = self._choose(self._facts)
            now = [step for step, how in chosen.items() if how is Materialize.INJECT]
            self._waiting = [step for step in chosen if step not in now]
            if not now:
                return None
            try:
                return self._split(self._facts, now)
            except Exception as error:
                _logger.warning("intermediates could not be injected: %s", _kind(error))
                _logger.debug("", exc_info=error)
                self._undo()
                return None

    def _split(self, facts: _Facts, now: list[int]) -> Any:
        steps = {number: facts.program.steps[number] for number in now}
        captured = facts.captured
        rest, artifacts = inject.inject(
            self.spark, captured.java, captured.plan, steps, self.place
        )
        self._artifacts.extend(artifacts)
        return saved.dataset(self.spark, rest)

    def _may_inject(self) -> bool:
        write = self._write
        stays = write is not None and write.mode in ("errorifexists", "ignore")
        if not self.can_inject or (stays and self._before.exists):
            return False
        return not choose.caches(self.spark)

    def _choose(self, facts: _Facts) -> dict[int, Materialize]:
        """Return when each intermediate is saved that is not saved yet."""
        if not facts.program.saved:
            return {}
        by_place = {node.at: node for node in nodes(facts.captured.plan)}
        missing = {
            number: facts.program.steps[number].at
            for number in facts.program.saved
            if number not in {artifact.step for artifact in self._artifacts}
        }
        return {
            number: choose.choose(
                self.wish, by_place[at], can_inject=self._can_split(facts.captured, at)
            )
            for number, at in missing.items()
        }

    def _undo(self) -> None:
        """Forget an injection, so that the user's own write runs as if there had been none."""
        self._discard()
        self._injects = False
        try:
            self._again()
        except Exception as error:
            self._fail(error)
        if self._write is not None and not self._before.exists:
            outputs.clear_empty(self._write.dataset)

    def _again(self) -> None:
        """Infer the program again after less can be saved than was thought; keep what is saved."""
        facts = self._facts
        if facts is None:
            return
        kept = {facts.program.steps[a.step].at: a for a in self._artifacts}
        self._kept = frozenset(kept)
        while True:
            program = self._infer(facts.captured, facts.program.target.name)
            steps = {number: program.steps[number] for number in program.saved}
            # Saved columns are no more than were asked for then.
            short = {s.at for s in steps.values() if s.at in kept and not _holds(kept[s.at], s)}
            if not short:
                break
            self._lost |= short
        self._artifacts = [
            replace(kept[step.at], step=number) for number, step in steps.items() if step.at in kept
        ]
        self._facts = replace(facts, program=program)
        self._waiting = list(self._choose(self._facts))
        self.place.remove(kept=[steps[artifact.step].at for artifact in self._artifacts])

    def _finish(self) -> None:
        """Save what was deferred, look at what was written, and make the record."""
        write = self._write
        if write is None and not self._failure:
            return
        if write is not None and write.mode == "ignore" and self._before.exists:
            return
        snapshot, rows, inputs = None, -1, None
        try:
            snapshot = self._guarded(self._take_output)
            rows = outputs.count(snapshot) if snapshot is not None else -1
            self._guarded(self._defer)
            inputs = self._guarded(self._take_sources)
        except BaseException as error:
            self._fail(error)
            raise
        finally:
            self.record = self._record(snapshot, rows, inputs)

    def _take_output(self) -> Snapshot | None:
        if self._write is None or self._facts is None:
            return None
        with self._timed("output"):
            return outputs.take(self._write, self._facts.columns, self._before)

    def _defer(self) -> None:
        self._injects, tries = False, True
        with self._timed("save"):
            while self._facts is not None and self._waiting:
                number, tree = self._waiting[0], self._tree_of(self._facts.captured)
                step = self._facts.program.steps[number]
                try:
                    artifact = defer.save(tree, step, number, self.place)
                except Exception as error:
                    _logger.warning("an intermediate could not be saved: %s", _kind(error))
                    _logger.debug("", exc_info=error)
                    # A second failure is not the operator's, and every try takes a job.
                    self._lost |= {step.at} if tries else set(range(len(tree.nodes)))
                    tries = False
                    self._again()
                else:
                    self._artifacts.append(artifact)
                    self._waiting.pop(0)

    def _take_sources(self) -> tuple[Snapshot, ...]:
        if self._facts is None:
            return ()
        with self._timed("snapshot"):
            return sources.take_all(self._facts.captured.sources, self._facts.listings)

    def _record(
        self, snapshot: Snapshot | None, rows: int, inputs: tuple[Snapshot, ...] | None
    ) -> OutputRecord:
        write, facts = self._write, None if self._failure else self._facts
        return OutputRecord(
            write.dataset if write else UNKNOWN,
            write.mode if write else "",
            snapshot,
            facts.captured.plan if facts else None,
            facts.program if facts else None,
            inputs or (),
            tuple(sorted(self._artifacts, key=lambda a: a.step)),
            text(self.spark, write.query, "toString") if facts and write else "",
            text(self.spark, facts.captured.java, "toString") if facts else "",
            rows,
            tuple(Timing(stage, seconds) for stage, seconds in self._seconds.items()),
            self._failure,
        )

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        self._stage = stage
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - start


def uncaptured(dataset: str, mode: str, inputs: tuple[Snapshot, ...], why: str) -> OutputRecord:
    """Return the record of a write of which no more is known."""
    return OutputRecord(dataset, mode, None, None, None, inputs, (), "", "", -1, (), why)


def _holds(artifact: Artifact, step: Step) -> bool:
    """Whether a saved intermediate has the columns of `step`."""
    return {f"c{column.id}" for column in step.columns} <= {
        column.name for column in artifact.snapshot.columns
    }


def _reason(error: BaseException) -> str:
    return error.what if isinstance(error, LineageError) else _kind(error)


def _kind(error: BaseException) -> str:
    """Return the class of an error, and Spark's condition: messages may hold values of rows."""
    match error:
        case PySparkException():
            return f"{type(error).__name__} {error.getCondition() or ''}".rstrip()
        case Py4JJavaError():
            return str(error.java_exception.getClass().getName())
        case _:
            return type(error).__name__
