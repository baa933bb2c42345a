"""The modules of the oracle, loaded by their paths: tests are no package.

Each is known by the name that type checkers give it, so they import each other as usual.
"""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_MODULES = (
    "values",
    "aggregates",
    "windows",
    "interpreter",
    "sources",
    "window_calls",
    "generator",
    "pipeline",
    "lake",
    "replayable",
    "check",
)
"""In such an order that a module follows those it imports."""


def _load(name: str) -> None:
    full = f"tests.pipelines.{name}"
    spec = spec_from_file_location(full, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    sys.modules[full] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[full])


for _name in _MODULES:
    _load(_name)
