"""Who imports whom (DESIGN section 2), read with `ast` from the source of both packages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"lineage_core": ROOT, "row_lineage_provider": ROOT / "provider"}

HOMES: dict[str, tuple[str, ...]] = {
    "airflow": ("row_lineage_provider",),
    "alembic": ("lineage_core.catalog",),
    "click": ("lineage_core.cli",),
    "duckdb": ("lineage_core.query.engines.duckdb", "lineage_core.query.engines.duckdb_confined"),
    "py4j": ("lineage_core.capture", "lineage_core.execute"),
    "pyspark": ("lineage_core.capture", "lineage_core.execute", "lineage_core.query.engines.spark"),
    "row_lineage_provider": ("row_lineage_provider",),
    "sqlalchemy": ("lineage_core.catalog",),
    "z3": ("lineage_core.verify",),
}
"""Each library (and the provider itself) with the only places that may import it."""

ABOVE = tuple(f"lineage_core.{name}" for name in ("lineage", "questions", "cli", "doctor"))
"""The public API and what people start: made of the stages, so no stage may need them."""

FORBIDDEN = ("pickle", "cloudpickle", "dill", "marshal", "shelve")
"""A store others can write to must not be able to run code here."""


@dataclass(frozen=True, slots=True)
class Import:
    """At `line` of module `module`, the module or name `target` is imported."""

    module: str
    target: str
    line: int


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def imports_of(module: str, source: str) -> list[Import]:
    """Return all that `source` imports when it runs, at any depth.

    Imports for annotations only (`if TYPE_CHECKING:`) never run and do not count; `import_module`
    of a constant does.
    """
    return [
        Import(module, target, node.lineno)
        for node in _running(ast.parse(source))
        for target in _targets(node)
    ]


def _running(tree: ast.AST) -> Iterator[ast.stmt | ast.expr]:
    if isinstance(tree, ast.If) and ast.unparse(tree.test).endswith("TYPE_CHECKING"):
        for statement in tree.orelse:
            yield from _running(statement)
        return
    if isinstance(tree, ast.stmt | ast.expr):
        yield tree
    for child in ast.iter_child_nodes(tree):
        yield from _running(child)


def _targets(node: ast.stmt | ast.expr) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=origin, names=names):
            return [f"{origin or ''}.{alias.name}" for alias in names]
        case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if ast.unparse(
            function
        ).endswith(("import_module", "__import__")):
            return [name]
    return []


def misplaced(imports: list[Import]) -> list[Import]:
    """Return the imports of a library outside its homes."""
    return [
        found
        for found in imports
        for library, homes in HOMES.items()
        if within(found.target, library) and not any(within(found.module, home) for home in homes)
    ]


def name_of(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def stage(module: str) -> str:
    """Return the unit of dependency that a module of the core belongs to: `lineage_core.<name>`."""
    return ".".join(module.split(".")[:2])


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    """The source text of every module of both packages, by module name."""
    return {
        name_of(path.relative_to(root)): path.read_text()
        for package, root in PACKAGES.items()
        for path in sorted((root / package).rglob("*.py"))
    }


@pytest.fixture(scope="module")
def imports(sources: dict[str, str]) -> list[Import]:
    """Every import of both packages."""
    return [found for name, text in sources.items() for found in imports_of(name, text)]


def test_every_library_is_imported_at_home_only(imports: list[Import]) -> None:
    assert not misplaced(imports)


@pytest.mark.parametrize(
    "source",
    [
        "import pyspark",
        "import pyspark.sql as sql",
        "def f():\n    from pyspark.sql import SparkSession",
        "try:\n    pass\nfinally:\n    import pyspark",
        "import importlib\nimportlib.import_module('pyspark.sql')",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import pyspark",
    ],
)
def test_a_misplaced_import_is_noticed(source: str) -> None:
    assert misplaced(imports_of("lineage_core.plan.expr", source))
    assert not misplaced(imports_of("lineage_core.capture.session", source))


def test_an_import_for_annotations_is_allowed() -> None:
    source = "if TYPE_CHECKING:\n    from pyspark.sql import SparkSession"
    assert not imports_of("lineage_core.lineage", source)


def test_every_home_is_in_use(imports: list[Import], sources: dict[str, str]) -> None:
    """A rule about a place that is not there would hold for no good reason."""
    homes = {home for places in HOMES.values() for home in places} | {*ABOVE}
    assert not {home for home in homes if not any(within(name, home) for name in sources)}
    used = {library for library in HOMES if any(within(i.target, library) for i in imports)}
    assert used == set(HOMES)


def test_stages_do_not_depend_on_each_other_in_circles(imports: list[Import]) -> None:
    graph: dict[str, set[str]] = {}
    for found in imports:
        origin, target = stage(found.module), stage(found.target)
        if within(origin, "lineage_core") and within(target, "lineage_core") and origin != target:
            graph.setdefault(origin, set()).add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_no_stage_needs_what_is_made_of_stages(
    imports: list[Import], sources: dict[str, str]
) -> None:
    """A name that `lineage_core` re-exports is part of the public API, too."""
    core = {stage(name) for name in sources if within(name, "lineage_core")}
    stages = core - {*ABOVE, "lineage_core"}
    assert not [
        found
        for found in imports
        if stage(found.module) in stages
        and within(found.target, "lineage_core")
        and stage(found.target) not in stages
    ]


def test_the_plan_depends_on_nothing_but_errors(imports: list[Import]) -> None:
    of_plan = [found for found in imports if within(found.module, "lineage_core.plan")]
    assert of_plan
    allowed = ("lineage_core.plan", "lineage_core.errors")
    assert not [
        found
        for found in of_plan
        if within(found.target, "lineage_core")
        and not any(within(found.target, name) for name in allowed)
    ]


def test_nothing_is_pickled(imports: list[Import]) -> None:
    assert not [found for found in imports if any(within(found.target, name) for name in FORBIDDEN)]
