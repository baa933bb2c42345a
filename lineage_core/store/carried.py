"""What a write leaves for the index that is built right after it, and that removes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lineage_core.plan.relation import Field
from lineage_core.store.manifest import Artifact


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """The rows of one write with the rids they were made of.

    Attributes:
        artifact: where they are: `c<id>` for each written column, and for each `rid_id`.
        at: the operator whose rows they are.
        columns: the columns by which written rows are told.
        files: by place of the scan, the canonical URI of each file by what its rids carry for it.
    """

    artifact: Artifact
    at: int
    columns: tuple[Field, ...]
    files: Mapping[int, Mapping[int, str]]
