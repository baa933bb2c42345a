"""What an event says about the row lineage of a run, as a JSON tree (`docs/spec`).

The manifest in the store is the truth; this is a small pointer to it that a person can read in a
lineage UI. It names artifacts, counts rows and bytes, and says for each source whether answers will
be exact. It holds no value of any row or predicate, and it has a budget: what does not fit is left
out, and said so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from lineage_core.datasets import openlineage_name
from lineage_core.openlineage.shapes import failure, masked, shortened, step_shape
from lineage_core.plan.program import LineageProgram
from lineage_core.plan.uses import column_lineage
from lineage_core.store.manifest import VERSION, Artifact, OutputRecord, RunRecord

BUDGET = 16 * 1024
"""Bytes of JSON that the summary of one run may take."""

_URL_LENGTH = 1024
_KEEP = 20

Tree = dict[str, Any]


def summary(
    record: RunRecord,
    *,
    store: str,
    materialize: str,
    left_out: tuple[str, ...] = (),
    budget: int = BUDGET,
) -> Tree:
    """Return the content of the run facet of `record`.

    Args:
        record: the run.
        store: URL of the store that holds it; credentials in it are left out.
        materialize: the mode the capture was asked for.
        left_out: what was left out of the other facets.
        budget: bytes of JSON it may take.
    """
    tree: Tree = {
        "formatVersion": VERSION,
        "runId": record.id,
        "store": shortened(without_credentials(store), _URL_LENGTH),
        "manifest": f"runs/{record.id}/manifest.json",
        "materialize": materialize,
        **_state(record),
        "outputs": [_output(output) for output in record.outputs],
    }
    return _within(tree, budget, list(left_out))


def without_credentials(url: str) -> str:
    """Return `url` without user, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def _state(record: RunRecord) -> Tree:
    missing = sum(bool(output.uncaptured) for output in record.outputs)
    if record.uncaptured:
        return {"state": "uncaptured", "reason": failure(record.uncaptured)}
    if missing:
        state = "uncaptured" if missing == len(record.outputs) else "partial"
        return {"state": state, "reason": f"{missing} of {len(record.outputs)} outputs uncaptured"}
    return {"state": "captured"}


def _output(output: OutputRecord) -> Tree:
    tree: Tree = {"dataset": name(output.dataset), "mode": output.mode}
    if output.rows >= 0:
        tree["rows"] = output.rows
    if output.snapshot is not None:
        tree["snapshot"] = output.snapshot.id
    if output.uncaptured or output.program is None:
        return tree | {"state": "uncaptured", "reason": failure(output.uncaptured or "no plan")}
    unknown = column_lineage(output.plan).unknown if output.plan is not None else ()
    return tree | {
        "state": "captured",
        "strategy": _strategy(output.program, output.artifacts),
        "bytesSaved": sum(file.size for a in output.artifacts for file in a.snapshot.files),
        "artifacts": [_artifact(output.program, artifact) for artifact in output.artifacts],
        "sources": [_source(output, output.program, step) for step in output.program.sources],
        "unknownColumns": list(unknown[:_KEEP]),
        "secondsSpent": {t.stage: round(t.seconds, 4) for t in output.timings},
    }


def name(dataset: str) -> Tree:
    """Return a dataset's OpenLineage name as a tree."""
    namespace, path = openlineage_name(dataset)
    return {"namespace": namespace, "name": path}


def _strategy(program: LineageProgram, artifacts: tuple[Artifact, ...]) -> str:
    if not program.saved:
        return "direct"
    saved = {artifact.step for artifact in artifacts}
    return "saved" if saved.issuperset(program.saved) else "recompute"


def _artifact(program: LineageProgram, artifact: Artifact) -> Tree:
    return {
        "operator": program.steps[artifact.step].name,
        "how": str(artifact.how),
        "rows": artifact.rows,
        "bytes": sum(file.size for file in artifact.snapshot.files),
        "files": [file.path for file in artifact.snapshot.files],
    }


def _source(output: OutputRecord, program: LineageProgram, number: int) -> Tree:
    step = program.steps[number]
    snapshot = output.inputs[step.source]
    tree: Tree = {
        "dataset": name(snapshot.dataset),
        "snapshot": snapshot.id,
        "precision": "superset" if step.superset else "exact",
        "predicates": [step_shape(program, part) for part in program.chain(number)[1:]],
    }
    if step.superset:
        tree["reason"] = shortened("; ".join(map(masked, step.superset)))
    return tree


def _within(tree: Tree, budget: int, left_out: list[str]) -> Tree:
    """Leave out the least important parts, one kind after the other, until `tree` fits."""
    for what, cut in _CUTS:
        if _size(tree) <= budget:
            break
        tree = tree | {"outputs": [cut(output) for output in tree["outputs"]]}
        left_out.append(what)
    if _size(tree) > budget:
        tree = tree | {"outputs": tree["outputs"][:_KEEP]}
        left_out.append(f"outputs after the first {_KEEP}")
    return tree | ({"truncated": ", ".join(left_out)} if left_out else {})


def _size(tree: Tree) -> int:
    return len(json.dumps(tree).encode())


def _without_predicates(output: Tree) -> Tree:
    sources = [{k: v for k, v in s.items() if k != "predicates"} for s in output.get("sources", ())]
    return output | ({"sources": sources} if sources else {})


def _without_files(output: Tree) -> Tree:
    artifacts = [{k: v for k, v in a.items() if k != "files"} for a in output.get("artifacts", ())]
    return output | ({"artifacts": artifacts} if artifacts else {})


def _few_sources(output: Tree) -> Tree:
    few = {k: output[k][:_KEEP] for k in ("sources", "artifacts") if k in output}
    return output | few


def _bare(output: Tree) -> Tree:
    return {
        k: v for k, v in output.items() if k in ("dataset", "mode", "rows", "snapshot", "state")
    }


_CUTS: tuple[tuple[str, Callable[[Tree], Tree]], ...] = (
    ("predicates", _without_predicates),
    ("artifact files", _without_files),
    (f"sources and artifacts after the first {_KEEP}", _few_sources),
    ("all details of outputs", _bare),
)
