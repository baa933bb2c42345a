"""Mutation testing works: mutants are what they should be, and a sample of them is caught.

`make prove` runs all of them.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verify.mutate import mutants

ROOT = Path(__file__).parents[2]

MISTAKES = {
    "a < b": ["a <= b", "a >= b"],
    "a == b": ["a != b"],
    "a in b": ["a not in b"],
    "a <= b <= c": ["a <= b", "b <= c"],
    "a and b and c": ["a or b or c", "b and c", "a and c", "a and b"],
    "not a": ["a"],
    "a & b": ["a | b"],
    "f(1, True)": ["f(2, True)", "f(1, False)"],
    "x if a else y": ["x if not a else y", "x", "y"],
    "[p for p in q if a if not b]": [
        "[p for p in q if not a if not b]",
        "[p for p in q if True if not b]",
        "[p for p in q if a if b]",
        "[p for p in q if a if True]",
    ],
    "conj([p, *q])": ["disj([p, *q])", "conj([*q])", "conj([p])"],
    "{'rank', 'ntile'}": ["{'ntile'}", "{'rank'}"],
    "all(p)": ["any(p)"],
    "same(p, q)": ["same(q, p)", "Compare(Comparison.EQ, p, q)"],
    "Compare(op, p, q)": ["Compare(op, q, p)"],
    "IsNull(p)": ["not_null", "FALSE"],
    "substitute(p, q)": ["p"],
    "(TRUE,)": ["(FALSE,)"],
    "p.left.id": ["p.right.id"],
    "Comparison.SAME": ["Comparison.EQ"],
    "FrameUnit.ROWS": ["FrameUnit.RANGE"],
    "JoinKind.LEFT_ANTI": ["JoinKind.LEFT_SEMI"],
    "Claim.PRECISE": ["Claim.COVERS"],
    "f'{a < b}'": [],
    "f('a', b)": [],
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_made_one_at_a_time(text: str) -> None:
    source = f'"""Text, wörtlich."""\n\n\ndef f(x: a | b) -> a | b:\n    return {text}\n'
    found = []
    for mutant in mutants("package.module", source):
        assert mutant.function == "f" and mutant.source.startswith(source[:50])
        found.append(ast.unparse(ast.parse(mutant.source)).partition("return ")[2])
    expected = ["Not(IsNull(p))" if e == "not_null" else e for e in MISTAKES[text]]
    assert sorted(found) == sorted(ast.unparse(ast.parse(e)) for e in expected)


def test_a_mutant_is_known_by_where_and_what_it_is() -> None:
    source = "def f(a, b):\n    return a < b, b < a, a < b\n"
    names = [str(m) for m in mutants("package.module", source)]
    assert "module.f: a < b -> a <= b" in names and "module.f: a < b -> a <= b #2" in names
    assert len(names) == len(set(names)) == 9
    assert [str(m) for m in mutants("package.module", "\n\n" + source)] == names


def test_alternatives_of_a_pattern_and_its_guard() -> None:
    source = "match x:\n    case A.B | A.C if y == 1:\n        pass\n"
    names = {str(m).partition(": ")[2] for m in mutants("package.module", source)}
    assert names == {
        "A.B | A.C -> A.C",
        "A.B | A.C -> A.B",
        "y == 1 -> y != 1",
        "y == 1 -> True",
        "1 -> 2",
    }


def test_a_sample_of_mutants_is_caught() -> None:
    """In a process of its own: mutants are forked from it, which takes one without threads."""
    command = [sys.executable, "-m", "tests.verify.mutants", "--sample", "30", "--pipelines", "10"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
