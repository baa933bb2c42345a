"""Scripts under capture: what they find around them is what `python script.py` would give them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession as Session

from lineage_core.capture.script import ScriptError, run_script
from lineage_core.errors import NotFoundError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEAD = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"


class Recorder:
    """Stands in for a store: notes when a capture begins, and how it ends."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.captures: list[int] = []

    @contextmanager
    def begin(self, session: SparkSession) -> Iterator[int]:
        self.events.append("begin")
        try:
            yield len(self.events)
        except BaseException as error:
            self.events.append(type(error).__name__)
            raise
        self.events.append("end")

    def run(self, path: Path, *arguments: str) -> int:
        return run_script(path, arguments, self.begin, self.captures)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def script(folder: Path, text: str) -> Path:
    path = folder / "job.py"
    path.write_text(text)
    return path


def test_a_script_is_main_and_finds_its_arguments_and_neighbours(
    spark: SparkSession, recorder: Recorder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "neighbour_of_job.py").write_text("NAME = 'neighbour'")
    path = script(
        tmp_path,
        "import sys, neighbour_of_job as n\n"
        "if __name__ == '__main__': print(n.NAME, __file__, sys.argv)",
    )
    before = (list(sys.argv), list(sys.path))
    assert recorder.run(path, "--date", "2024-01-01") == 0
    argv = [str(path), "--date", "2024-01-01"]
    assert capsys.readouterr().out == f"neighbour {path} {argv}\n"
    assert (sys.argv, sys.path) == before
    assert recorder.events == []
    del sys.modules["neighbour_of_job"]


def test_one_capture_however_often_the_session_is_asked_for(
    spark: SparkSession, recorder: Recorder, tmp_path: Path
) -> None:
    original = Session.Builder.getOrCreate
    assert recorder.run(script(tmp_path, HEAD * 3)) == 0
    assert (recorder.events, len(recorder.captures)) == (["begin", "end"], 1)
    assert Session.Builder.getOrCreate is original


def test_a_failing_script_fails_its_capture(
    spark: SparkSession, recorder: Recorder, tmp_path: Path
) -> None:
    with pytest.raises(ScriptError) as caught:
        recorder.run(script(tmp_path, f"{HEAD}1 / 0"))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert recorder.events == ["begin", "ZeroDivisionError"]
    assert len(recorder.captures) == 1


@pytest.mark.parametrize(
    ("end", "code", "seen"),
    [
        ("sys.exit()", 0, "end"),
        ("sys.exit(0)", 0, "end"),
        ("sys.exit(3)", 3, "SystemExit"),
        ("sys.exit('no data')", 1, "SystemExit"),
    ],
)
def test_exit_codes_are_the_script_s(
    end: str, code: int, seen: str, spark: SparkSession, recorder: Recorder, tmp_path: Path
) -> None:
    assert recorder.run(script(tmp_path, f"import sys\n{HEAD}{end}")) == code
    assert recorder.events == ["begin", seen]


def test_a_script_that_does_not_parse(recorder: Recorder, tmp_path: Path) -> None:
    with pytest.raises(ScriptError) as caught:
        recorder.run(script(tmp_path, "if:"))
    assert isinstance(caught.value.__cause__, SyntaxError)


def test_no_script(recorder: Recorder, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no script"):
        recorder.run(tmp_path / "missing.py")
