"""Spark types as the schema facet writes them: nested types become nested fields."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lineage_core.openlineage.identity import PRODUCER
from lineage_core.snapshot import ColumnType

if TYPE_CHECKING:
    from openlineage.client.facet_v2 import schema_dataset


def schema_facet(columns: Iterable[ColumnType]) -> schema_dataset.SchemaDatasetFacet:
    """Return the schema facet of a dataset with `columns`."""
    from openlineage.client.facet_v2 import schema_dataset

    fields = [_field(column.name, _parsed(column.type)) for column in columns]
    return schema_dataset.SchemaDatasetFacet(fields, producer=PRODUCER)


def _parsed(type_: str) -> Any:
    """Return the tree of a type in Spark's JSON form; a plain name stays as it is."""
    return json.loads(type_) if type_.startswith("{") else type_


def _field(name: str, tree: Any) -> schema_dataset.SchemaDatasetFacetFields:
    from openlineage.client.facet_v2 import schema_dataset

    match tree:
        case {"type": "struct", "fields": members}:
            nested = [_field(member["name"], member["type"]) for member in members]
        case {"type": "array", "elementType": element}:
            nested = [_field("_element", element)]
        case {"type": "map", "keyType": key, "valueType": value}:
            nested = [_field("key", key), _field("value", value)]
        case {"type": "udt", "sqlType": stored}:
            return _field(name, stored)
        case _:
            return schema_dataset.SchemaDatasetFacetFields(name, str(tree))
    return schema_dataset.SchemaDatasetFacetFields(name, tree["type"], fields=nested)
