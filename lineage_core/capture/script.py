"""Running a plain PySpark script under capture, without a change to it.

A capture needs a Spark session, and the script makes its own. So each session that the script gets
from `SparkSession.builder` begins a capture, which ends when the script stops the session or is
over.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from pyspark.sql import SparkSession

from lineage_core.errors import NotFoundError

T = TypeVar("T")


class ScriptError(Exception):
    """The script ended with an exception, which is this one's cause."""


def run_script(
    path: Path,
    arguments: Sequence[str],
    begin: Callable[[SparkSession], AbstractContextManager[T]],
    captures: list[T],
) -> int:
    """Run the script at `path` as `python path *arguments` would, and return its exit code.

    Args:
        path: the script.
        arguments: what it finds in `sys.argv` after its name.
        begin: begins to capture a session.
        captures: takes what the captures begun give, in order, also when the script fails.

    Raises:
        NotFoundError: there is no such file.
        ScriptError: the script raised; its captures saw that.
    """
    if not path.is_file():
        raise NotFoundError(f"there is no script {path}", hint="give the path of a Python file")
    sessions = _Sessions(begin, captures)
    try:
        with sessions.capture, sessions.met(), _as_main(path, arguments):
            try:
                runpy.run_path(str(path), run_name="__main__")
            except SystemExit as ended:
                if ended.code:  # as a failure it goes through the captures, too
                    raise
    except SystemExit as ended:
        return _exit_code(ended)
    except Exception as error:
        raise ScriptError(str(path)) from error
    return 0


class _Sessions(Generic[T]):
    """Begins a capture with a script's session, and ends it before the session is stopped."""

    def __init__(
        self, begin: Callable[[SparkSession], AbstractContextManager[T]], captures: list[T]
    ) -> None:
        self.capture = ExitStack()
        self._begin = begin
        self._captures = captures
        self._session: SparkSession | None = None

    @contextmanager
    def met(self) -> Iterator[None]:
        """Meet the sessions that are made and stopped meanwhile."""
        get, stop = SparkSession.Builder.getOrCreate, SparkSession.stop

        def get_and_begin(builder: SparkSession.Builder) -> SparkSession:
            session = get(builder)
            if self._session is None:
                self._session = session
                self._captures.append(self.capture.enter_context(self._begin(session)))
            return session

        def end_and_stop(session: SparkSession) -> None:
            self.capture.close()
            self._session = None
            stop(session)

        with (
            _replaced(SparkSession.Builder, "getOrCreate", get_and_begin),
            _replaced(SparkSession, "stop", end_and_stop),
        ):
            yield


@contextmanager
def _replaced(owner: type, name: str, by: Callable[..., Any]) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextmanager
def _as_main(path: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Give the script the arguments and the import path that it would have had by itself."""
    argv, places = sys.argv, sys.path
    sys.argv = [str(path), *arguments]
    sys.path = [str(path.resolve().parent), *places[1:]]
    try:
        yield
    finally:
        sys.argv, sys.path = argv, places


def _exit_code(ended: SystemExit) -> int:
    if isinstance(ended.code, int):
        return ended.code
    print(ended.code, file=sys.stderr)
    return 1
