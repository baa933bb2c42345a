"""The published OpenLineage schemas, as the installed client knows them.

The client's classes are generated from the published JSON schemas and carry their URLs, so a schema
built back from a class is the published one, in the version that is in use. Our own facets are
checked against `docs/spec`. A facet of an unknown schema is an error, except for Airflow's own.
"""

from __future__ import annotations

import enum
import json
import pkgutil
import types
import typing
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import attrs
import jsonschema
from openlineage.client import generated
from openlineage.client.generated.base import RunEvent

SPEC = Path(__file__).parents[2] / "docs" / "spec"
AIRFLOW = "https://raw.githubusercontent.com/apache/airflow/"
FORMATS = {
    "eventTime": "date-time",
    "runId": "uuid",
    "_producer": "uri",
    "_schemaURL": "uri",
    "schemaURL": "uri",
}

_FILLED_IN = ("_producer", "_schemaURL", "producer", "schemaURL")

Schema = dict[str, Any]


def validate_event(event: dict[str, Any]) -> None:
    """Raise `jsonschema.ValidationError` unless all of `event` has a published form."""
    _check(event, schema_of(RunEvent))
    for facet in facets(event):
        _check(facet, facet_schema(facet["_schemaURL"]))


def facets(tree: Any) -> typing.Iterator[dict[str, Any]]:
    """Yield every facet in an event."""
    if isinstance(tree, dict):
        if "_schemaURL" in tree:
            yield tree
        for value in tree.values():
            yield from facets(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from facets(value)


def facet_schema(url: str) -> Schema:
    """Return the schema that a facet's `_schemaURL` names."""
    base, fragment = urldefrag(url)
    own = SPEC / base.rpartition("/")[2]
    if own.is_file():
        schema = json.loads(own.read_text())
        assert schema["$id"] == base
        return {"$ref": f"#{fragment}", "$defs": schema["$defs"]}
    if url in _classes():
        return schema_of(_classes()[url])
    if url.startswith(AIRFLOW):
        return {"type": "object", "required": ["_producer", "_schemaURL"]}
    raise jsonschema.ValidationError(f"no such schema: {url}")


@cache
def _classes() -> dict[str, type]:
    modules = [
        import_module(f"{generated.__name__}.{module.name}")
        for module in pkgutil.iter_modules(generated.__path__)
    ]
    found = [value for module in modules for value in vars(module).values()]
    return {
        value._get_schema(): value
        for value in found
        if isinstance(value, type) and attrs.has(value) and hasattr(value, "_get_schema")
    }


def schema_of(kind: Any) -> Schema:
    """Return the JSON schema of what a type of the client is serialised to."""
    origin = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema_of(arg) for arg in arguments if arg is not types.NoneType]}
    if origin is list:
        return {"type": "array", "items": schema_of(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(arguments[1])}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if isinstance(kind, type) and attrs.has(kind):
        return _object(kind)
    names = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}
    return {"type": names[kind]} if kind in names else {}


_open: list[type] = []


def _object(kind: type) -> Schema:
    if kind in _open:  # a schema's fields have fields; deeper ones are checked by what they are in
        return {"type": "object"}
    _open.append(kind)
    try:
        hints = typing.get_type_hints(kind)
        properties = {
            field.name: schema_of(hints[field.name])
            | ({"format": FORMATS[field.name]} if field.name in FORMATS else {})
            for field in attrs.fields(kind)
        }
    finally:
        _open.pop()
    required = [field.name for field in attrs.fields(kind) if field.default is attrs.NOTHING]
    always = [
        name for name in ("_producer", "_schemaURL", "producer", "schemaURL") if name in properties
    ]
    return {"type": "object", "properties": properties, "required": required + always}


def _check(value: Any, schema: Schema) -> None:
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    jsonschema.Draft202012Validator(schema, format_checker=checker).validate(value)
