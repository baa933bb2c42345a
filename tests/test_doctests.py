"""The examples in docstrings are right."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "lineage_core", ROOT / "provider" / "row_lineage_provider")
MODULES = sorted(
    ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
    for package in PACKAGES
    for path in package.rglob("*.py")
    if ">>>" in path.read_text()
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert (result.attempted > 0, result.failed) == (True, 0)


def test_there_are_examples() -> None:
    assert len(MODULES) >= 3
