"""What earlier runs of the same plan have shown: how big their intermediates were."""

from __future__ import annotations

from collections.abc import Mapping

from lineage_core.catalog import Catalog
from lineage_core.codec import digest
from lineage_core.errors import NotFoundError
from lineage_core.plan.relation import Plan
from lineage_core.store.filesystem import ArtifactStore


def observed_sizes(
    catalog: Catalog, artifacts: ArtifactStore, dataset: str, plan: Plan
) -> Mapping[int, int]:
    """Return the bytes that intermediates took in the newest run of `plan`, by place.

    Runs are looked for among those that wrote `dataset`; empty if there is none of the same plan.
    """
    try:
        refs = catalog.writers(dataset)
    except NotFoundError:
        return {}
    same = digest(plan)
    for ref in refs:
        output = artifacts.load(ref.run_id).outputs[ref.index]
        if output.plan is not None and output.program is not None and digest(output.plan) == same:
            steps = output.program.steps
            return {
                steps[artifact.step].at: sum(file.size for file in artifact.snapshot.files)
                for artifact in output.artifacts
            }
    return {}
