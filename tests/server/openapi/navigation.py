"""Finds operations, references and examples in an OpenAPI document."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator

Json = dict[str, Any]
HTTP_METHODS = ("get", "post", "put", "patch", "delete", "options", "trace")


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One call: `path` with its parameters in braces."""

    method: str
    path: str
    definition: Json

    @property
    def name(self) -> str:
        return str(self.definition["operationId"])


def operations(document: Json) -> list[Operation]:
    return [
        Operation(method=method, path=path, definition=item[method])
        for path, item in document["paths"].items()
        for method in HTTP_METHODS
        if method in item
    ]


def objects(value: Any) -> Iterator[Json]:
    """Every object of a document, the outer before the inner."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner)


def resolved(document: Json, value: Json) -> Json:
    """What a reference refers to; anything else is itself. Raises KeyError."""
    while "$ref" in value:
        found: Any = document
        for name in value["$ref"].removeprefix("#/").split("/"):
            found = found[name.replace("~1", "/").replace("~0", "~")]
        value = found
    return value


def self_contained(document: Json, schema: Json) -> Json:
    """A schema with the components that it refers to, and no others."""
    schemas: Json = {}
    unread = [schema]
    while unread:
        for found in objects(unread.pop()):
            name = str(found.get("$ref", "")).removeprefix("#/components/schemas/").split("/")[0]
            if name and name not in schemas:
                schemas[name] = document["components"]["schemas"][name]
                unread.append(schemas[name])
    return {**schema, "components": {"schemas": schemas}}


def validator(document: Json, schema: Json) -> Draft202012Validator:
    """Compiled once for each schema, because that takes up to a tenth of a second."""
    return _compiled(json.dumps(self_contained(document, schema)))


@cache
def _compiled(schema: str) -> Draft202012Validator:
    # Browsers and the program also open addresses in other letters than those of `uri`.
    formats = {"uri": lambda _: True}
    return Draft202012Validator(json.loads(schema), validate_formats=True, formats=formats)


def examples(document: Json) -> Iterator[tuple[str, Json, Any]]:
    """Every example: its name, its schema, its value."""
    for found in objects({key: document[key] for key in ("paths", "webhooks") if key in document}):
        schema = found.get("schema")
        if schema is None:
            continue
        if "example" in found:
            yield str(found.get("name", "example")), schema, found["example"]
        for name, example in found.get("examples", {}).items():
            yield name, schema, example["value"]


def problems_of_examples(document: Json) -> list[str]:
    """The examples that their schemas refuse, each with the reason."""
    return [
        f"{name}: {problem.message}"
        for name, schema, value in examples(document)
        for problem in validator(document, schema).iter_errors(value)
    ]


def of_these_calls(document: Json, calls: Collection[str]) -> Json:
    """The document without all other calls."""
    for item in document["paths"].values():
        for method in [method for method, call in item.items() if call["operationId"] not in calls]:
            del item[method]
    return document
