"""Verdicts kept on disk: found again by whoever may trust them, and by nobody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from lineage_core.plan.expr import TRUE, Anchor, Column, Compare, Comparison, Literal, same
from lineage_core.plan.relation import Field, Filter, Values
from lineage_core.pushdown import Claim, Obligation, Proved, Refuted, Undecided, Verdict
from lineage_core.verify import Memory, RememberingProver, decide, memory
from lineage_core.verify.memory import RESOURCE_LIMIT, default_folder, identity
from lineage_core.verify.shape import shape

T = Values(0, (Field(0, "k", "long"), Field(1, "v", "string")))
SMALL = Compare(Comparison.LT, Column(0, "long"), Literal(3, "long"))
ROW = same(Column(1, "string"), Anchor(1, "string"))

TRUE_CLAIM = Obligation(Filter(0, SMALL, T), ROW, (ROW,), 0, Claim.COVERS)
FALSE_CLAIM = replace(TRUE_CLAIM, pushed=(TRUE,), claim=Claim.PRECISE)
ANOTHER = Undecided("made up by the test")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "proofs"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Obligation]]:
    """The obligations that z3 was asked, which it still answers."""
    seen: list[Obligation] = []
    ask = decide.decide

    def recording(obligation: Obligation, extra: int) -> Verdict:
        seen.append(obligation)
        return ask(obligation, extra)

    monkeypatch.setattr(decide, "decide", recording)
    yield seen


def prover(folder: Path) -> RememberingProver:
    """A prover as a new process has it: with nothing in mind but what is kept."""
    return RememberingProver(Memory(folder))


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.json"))


@pytest.mark.parametrize("claim", [TRUE_CLAIM, FALSE_CLAIM])
def test_a_verdict_is_made_once(folder: Path, claim: Obligation, asked: list[Obligation]) -> None:
    first = prover(folder)(claim)
    assert isinstance(first, Proved if claim is TRUE_CLAIM else Refuted)
    assert prover(folder)(claim) == first, "with the counterexample, if there is one"
    assert len(asked) == 1


def test_obligations_of_one_shape_share_a_verdict(folder: Path, asked: list[Obligation]) -> None:
    other = Compare(Comparison.LT, Column(0, "long"), Literal(99, "long"))
    prover(folder)(TRUE_CLAIM)
    prover(folder)(replace(TRUE_CLAIM, operator=Filter(7, other, T)))
    assert len(asked) == 1


@pytest.mark.parametrize(
    "other",
    [
        FALSE_CLAIM,
        replace(TRUE_CLAIM, pushed=(TRUE,)),
        replace(TRUE_CLAIM, premise=False),
        replace(TRUE_CLAIM, saved=True),
        replace(TRUE_CLAIM, keys=((frozenset((1,)),),)),
        replace(TRUE_CLAIM, keys=((frozenset(),),)),
    ],
)
def test_another_claim_is_another_question(
    folder: Path, other: Obligation, asked: list[Obligation]
) -> None:
    prover(folder)(TRUE_CLAIM)
    prover(folder)(other)
    assert len(asked) == 2 == len(entries(folder))


def test_a_proof_with_a_row_more_is_another_question(folder: Path, asked: list[Obligation]) -> None:
    prover(folder)(TRUE_CLAIM)
    prover(folder)(TRUE_CLAIM, extra=1)
    assert len(asked) == 2


def test_another_prover_trusts_none_of_it(
    folder: Path, asked: list[Obligation], monkeypatch: pytest.MonkeyPatch
) -> None:
    prover(folder)(TRUE_CLAIM)
    monkeypatch.setattr(memory, "identity", lambda: "0" * 64)
    prover(folder)(TRUE_CLAIM)
    assert len(asked) == 2


def test_the_identity_follows_every_source_of_the_prover_and_z3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(memory.__file__).parents[1]
    for part in ("plan", "verify", "pushdown"):
        for path in (root / part).glob("*.py"):
            copy = tmp_path / part / path.name
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(path.read_bytes())
    (tmp_path / "codec.py").write_bytes((root / "codec.py").read_bytes())
    real = identity()
    monkeypatch.setattr(memory, "__file__", str(tmp_path / "verify" / "memory.py"))
    assert identity() == real
    changed = set()
    for name in ("verify/operators.py", "plan/expr.py", "pushdown/obligation.py", "codec.py"):
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(before + b"#")
        changed.add(identity())
        (tmp_path / name).write_bytes(before)
    monkeypatch.setattr(metadata, "version", lambda name: "0")
    changed.add(identity())
    assert len(changed - {real}) == 5


def test_a_prover_replaced_while_it_runs_keeps_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = prover(folder)
    monkeypatch.setattr(memory, "identity", lambda: "0" * 64)
    assert running(TRUE_CLAIM) == Proved()
    assert not entries(folder)


def test_without_an_identity_nothing_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "identity", lambda: "")
    assert prover(folder)(TRUE_CLAIM) == Proved()
    assert not folder.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"nodes":[],"value":{"$":"_Entry","question":"0","verdict":{"$":"Proved"}}}',
        b'{"nodes":[],"value":{"$":"_Entry"}}',
    ],
    ids=["empty", "cut off", "binary", "deep", "of another question", "without a verdict"],
)
def test_what_is_broken_is_proven_again(
    folder: Path, content: bytes, asked: list[Obligation]
) -> None:
    prover(folder)(FALSE_CLAIM)
    (entry,) = entries(folder)
    entry.write_bytes(content)
    assert isinstance(prover(folder)(FALSE_CLAIM), Refuted)
    assert len(asked) == 2
    prover(folder)(FALSE_CLAIM)
    assert len(asked) == 2, "the broken entry was replaced"


def test_an_entry_moved_to_another_question_is_not_its_answer(folder: Path) -> None:
    prover(folder)(TRUE_CLAIM)
    (proved,) = entries(folder)
    prover(folder)(FALSE_CLAIM)
    (refuted,) = set(entries(folder)) - {proved}
    proved.replace(refuted)
    assert isinstance(prover(folder)(FALSE_CLAIM), Refuted)


def test_only_the_user_can_read_and_write(folder: Path) -> None:
    prover(folder)(TRUE_CLAIM)
    modes = [path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))]
    assert modes == [0o700, 0o700, 0o600]


def test_what_others_may_write_is_not_trusted(folder: Path, asked: list[Obligation]) -> None:
    prover(folder)(TRUE_CLAIM)
    (entry,) = entries(folder)
    for path, open_mode, private_mode in ((entry, 0o660, 0o600), (entry.parent, 0o770, 0o700)):
        path.chmod(open_mode)
        before = len(asked)
        prover(folder)(TRUE_CLAIM)
        assert len(asked) == before + 1
        path.chmod(private_mode)
    prover(folder)(TRUE_CLAIM)
    assert len(asked) == 3, "private again, trusted again"


def test_a_folder_of_somebody_else_is_not_trusted(
    folder: Path, asked: list[Obligation], monkeypatch: pytest.MonkeyPatch
) -> None:
    prover(folder)(TRUE_CLAIM)
    monkeypatch.setattr(os, "geteuid", lambda: -1)
    prover(folder)(TRUE_CLAIM)
    assert len(asked) == 2


def test_a_link_in_place_of_the_folder_is_not_followed(
    folder: Path, tmp_path: Path, asked: list[Obligation]
) -> None:
    prover(folder)(TRUE_CLAIM)
    real = entries(folder)[0].parent
    real.rename(tmp_path / "elsewhere")
    real.symlink_to(tmp_path / "elsewhere")
    prover(folder)(TRUE_CLAIM)
    assert len(asked) == 2


def test_without_a_place_to_keep_proofs_they_are_made(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    for place in (blocked, blocked / "below"):
        assert prover(place)(TRUE_CLAIM) == Proved()
        assert isinstance(prover(place)(FALSE_CLAIM), Refuted)
    assert RememberingProver(None)(TRUE_CLAIM) == Proved()


def test_a_full_disk_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert prover(folder)(TRUE_CLAIM) == Proved()
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_giving_up_is_kept_only_where_it_would_happen_again(folder: Path) -> None:
    canonical = shape(TRUE_CLAIM)
    kept = Memory(folder)
    kept.keep(canonical, Undecided("timeout"))
    assert kept.recall(canonical) is None
    kept.keep(canonical, Undecided(RESOURCE_LIMIT))
    assert kept.recall(canonical) == Undecided(RESOURCE_LIMIT)


def test_reaching_the_resource_limit_is_told_from_other_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decide, "RESOURCES", 1)
    wide = Values(0, tuple(Field(i, "", "long") for i in range(3)))
    condition = Compare(Comparison.LT, Column(0, "long"), Column(1, "long"))
    claim = Obligation(Filter(0, condition, wide), TRUE, (condition,), 0, Claim.REPRODUCES)
    assert decide.decide(shape(claim), 3) == Undecided(RESOURCE_LIMIT)


def test_many_processes_may_keep_the_same_proofs(folder: Path) -> None:
    def work(number: int) -> None:
        for extra in range(20):
            Memory(folder).keep(shape(TRUE_CLAIM), Refuted(f"{number}" * 10_000), extra)
            found = Memory(folder).recall(shape(TRUE_CLAIM), extra)
            assert isinstance(found, Refuted), "never half an entry"
            assert len(set(found.counterexample)) == 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(entries(folder)) == 20 == len(list(folder.glob("*/*")) + list(folder.glob("*/.*")))


SCRIPT = """
import json, sys
from lineage_core.plan.expr import Anchor, Column, Compare, Comparison, Literal, same
from lineage_core.plan.relation import Field, Filter, Scan
from lineage_core.pushdown import push
from lineage_core.verify import prove
scan = Scan(1, 0, "t", (Field(0, "k", "long"),))
condition = Compare(Comparison.LT, Column(0, "long"), Literal(3, "long"))
row = same(Column(0, "long"), Anchor(0, "long"))
(outcome,) = push(Filter(0, condition, scan), row, prove)
print(json.dumps([type(outcome).__name__, "z3" in sys.modules]))
"""


def test_a_later_process_does_not_even_load_z3(tmp_path: Path) -> None:
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    runs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=env, check=True, capture_output=True, text=True
        )
        runs.append(json.loads(done.stdout))
    assert runs == [["Exact", True], ["Exact", False]]
    assert entries(tmp_path / "row-lineage" / "proofs")


def test_the_cache_is_where_the_user_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_folder() == Path("/somewhere/row-lineage/proofs")
    monkeypatch.setenv("HOME", "/home/somebody")
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert default_folder() == Path("/home/somebody/.cache/row-lineage/proofs")
    monkeypatch.setenv("HOME", "")
    assert default_folder() != Path(".cache/row-lineage/proofs"), "never in the working directory"
