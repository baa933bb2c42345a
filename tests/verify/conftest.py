"""The maker of mutants, loaded by its path: tests are no package."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_NAME = "tests.verify.mutate"  # as type checkers call it

_spec = spec_from_file_location(_NAME, Path(__file__).with_name("mutate.py"))
assert _spec is not None and _spec.loader is not None
sys.modules[_NAME] = module_from_spec(_spec)
_spec.loader.exec_module(sys.modules[_NAME])
