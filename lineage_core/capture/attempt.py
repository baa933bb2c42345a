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

from pyspark.sql import SparkSession

from lineage_core.capture import outputs, sources
from lineage_core.capture.catalyst import read_plan
from lineage_core.capture.optimise import optimise
from lineage_core.capture.saving import Saving
from lineage_core.capture.writes import UNKNOWN, Write, analyse, describe, named
from lineage_core.errors import LineageError, UnsupportedError
from lineage_core.execute import choose, saved
from lineage_core.execute.jvm import error_kind, text
from lineage_core.plan.relation import Plan
from lineage_core.snapshot import ColumnType, Snapshot
from lineage_core.store.carried import Carried
from lineage_core.store.manifest import Materialize, OutputRecord, Timing

T = TypeVar("T")

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of a write before it runs.

    Attributes:
        columns: the written columns.
        listings: the files each source is read from.
        saving: its plan and lineage program, and what of it is saved.
    """

    columns: tuple[ColumnType, ...]
    listings: tuple[sources.Listing, ...]
    saving: Saving


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
        carries: whether the rids of the sources' rows are to ride along with the written rows.

    Attributes:
        record: tells of the write, once it has run.
        carried: the written rows with the rids that rode along, for an index; None if they could
            not.
    """

    spark: SparkSession
    place: saved.Place
    wish: Materialize
    command: Callable[[], Any]
    can_inject: bool
    observed: Callable[[str, Plan], Mapping[int, int]]
    carries: bool = False
    record: OutputRecord | None = None
    _write: Write | None = None
    _before: outputs.Folder = outputs.NOTHING
    _facts: _Facts | None = None
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

    @property
    def carried(self) -> Carried | None:
        return self._facts.saving.carried if self._facts is not None else None

    def _call(self, call: Callable[[Any], T], rows: Any) -> T:
        with self._timed("write"):
            if rows is None or self._facts is None:
                return call(None)
            try:
                return call(rows)
            except Exception as error:
                # Whatever it was: with the user's own rows it either works or fails as it should.
                _logger.warning("a rebuilt plan could not be written: %s", error_kind(error))
                self._undo(self._facts)
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
            _logger.warning("what a failed write left is not known: %s", error_kind(error))

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
        if self._facts is not None:
            self._facts.saving.discard()

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
            saving = Saving(
                self.spark,
                replace(captured, plan=plan),
                write.dataset,
                self.place,
                self.wish,
                self._may_inject(write),
                self.observed,
                self.carries,
            )
        types = sources.column_types(write.query.schema())
        columns = tuple(
            ColumnType(name, column.type) for name, column in zip(write.columns, types, strict=True)
        )
        self._facts = _Facts(columns, listings, saving)

    def _may_inject(self, write: Write) -> bool:
        stays = write.mode in ("errorifexists", "ignore")
        if not self.can_inject or self.wish is Materialize.DEFER or (stays and self._before.exists):
            return False
        return not choose.caches(self.spark)

    def _inject(self) -> Any:
        """Save what is to be saved before the write; return the rest of the plan as a Dataset."""
        if self._facts is None:
            return None
        with self._timed("save"):
            try:
                return self._facts.saving.inject()
            except Exception as error:
                _logger.warning("intermediates could not be injected: %s", error_kind(error))
                _logger.debug("", exc_info=error)
                self._undo(self._facts)
                return None

    def _undo(self, facts: _Facts) -> None:
        """Forget an injection, so that the user's own write runs as if there had been none."""
        try:
            facts.saving.undo()
        except Exception as error:
            self._fail(error)
        if self._write is not None and not self._before.exists:
            outputs.clear_empty(self._write.dataset)

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

    def _defer(self) -> None:
        if self._facts is not None:
            with self._timed("save"):
                self._facts.saving.defer()

    def _take_output(self) -> Snapshot | None:
        if self._write is None or self._facts is None:
            return None
        with self._timed("output"):
            return outputs.take(self._write, self._facts.columns, self._before)

    def _take_sources(self) -> tuple[Snapshot, ...]:
        if self._facts is None:
            return ()
        with self._timed("snapshot"):
            return sources.take_all(self._facts.saving.captured.sources, self._facts.listings)

    def _record(
        self, snapshot: Snapshot | None, rows: int, inputs: tuple[Snapshot, ...] | None
    ) -> OutputRecord:
        write = self._write
        saving = None if self._failure or self._facts is None else self._facts.saving
        return OutputRecord(
            write.dataset if write else UNKNOWN,
            write.mode if write else "",
            snapshot,
            saving.captured.plan if saving else None,
            saving.program if saving else None,
            inputs or (),
            tuple(sorted(saving.artifacts, key=lambda a: a.step)) if saving else (),
            text(self.spark, write.query, "toString") if saving and write else "",
            text(self.spark, saving.captured.java, "toString") if saving else "",
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


def _reason(error: BaseException) -> str:
    return error.what if isinstance(error, LineageError) else error_kind(error)
