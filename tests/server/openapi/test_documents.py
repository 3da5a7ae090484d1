"""Both documents are valid OpenAPI 3.1 and describe exactly the existing operations."""

import json
import re
from typing import Any

import pytest
from jsonschema_rs import meta
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from emulator import __version__
from emulator.server.openapi.declarations import JsonObject, example_of, ref
from tests.server.openapi.navigation import (
    HTTP_METHODS,
    Json,
    examples,
    objects,
    operations,
    problems_of_examples,
    resolved,
)
from tests.world import World, headers, world

SERVED = {"v1": "/_emulator/openapi/v1.json", "control": "/_emulator/openapi/control.json"}


def test_a_document_is_valid_openapi(document: Json) -> None:
    """As the OpenAPI Initiative's own schema says."""
    problems = OPENAPI_31_VALIDATOR.iter_errors(document)
    assert [f"{problem.instance_path}: {problem.message}" for problem in problems] == []


def test_every_schema_is_valid(document: Json) -> None:
    schemas = [*document["components"]["schemas"].values()]
    schemas += [found["schema"] for found in objects(document) if isinstance(_schema(found), dict)]
    assert schemas
    for schema in schemas:
        meta.validate(schema)


def _schema(found: Json) -> Any:
    # A property may have the name, too.
    return found.get("schema") if {"in", "examples", "description"} & set(found) else None


def test_references_and_components_match(document: Json) -> None:
    references = {found["$ref"] for found in objects(document) if "$ref" in found}
    for reference in references:
        assert resolved(document, {"$ref": reference})
    named = {
        f"#/components/{kind}/{name}"
        for kind, components in document["components"].items()
        if kind != "securitySchemes"
        for name in components
    }
    assert named == references


def test_operation_ids_are_unique(document: Json) -> None:
    assert len({operation.name for operation in operations(document)}) == len(operations(document))


def test_every_response_describes_its_headers_and_content(document: Json) -> None:
    for operation in operations(document):
        for status, response in operation.definition["responses"].items():
            carried = resolved(document, response)
            assert {"Request-Id", "Cache-Control"} <= set(carried["headers"]), operation
            assert "content" in carried or status == "204", operation


def test_every_example_is_valid(document: Json) -> None:
    assert problems_of_examples(document) == []
    assert len(list(examples(document))) >= len(operations(document))


def test_each_code_of_an_error_response_has_an_example(document: Json) -> None:
    for operation in operations(document):
        for response in operation.definition["responses"].values():
            carried = resolved(document, response)
            codes = re.findall(r"`([a-z_]+)`", carried["description"].partition("Codes:")[2])
            if codes:
                shown = carried["content"]["application/json"]["examples"]
                assert {name: each["value"]["error"]["code"] for name, each in shown.items()} == {
                    code: code for code in codes
                }


def test_a_document_has_the_version_of_the_program(document: Json) -> None:
    assert document["openapi"].startswith("3.1.")
    assert document["info"]["version"] == __version__


async def test_the_served_and_the_printed_document_are_equal(
    emulator: World, name: str, document: Json
) -> None:
    for path in (SERVED[name], SERVED[name].removesuffix(".json")):
        response = await emulator.api.get(path)
        assert response.headers["content-type"] == "application/json"
        served = response.json()
        assert served.pop("servers")[0]["url"] == "http://127.0.0.1:8080"
        assert served == {key: document[key] for key in document if key != "servers"}
        assert list(served) == [key for key in document if key != "servers"]


async def test_a_served_document_contains_the_requested_server(emulator: World, name: str) -> None:
    response = await emulator.api.get(SERVED[name], headers={"Host": "shop.localhost:9999"})
    [server] = response.json()["servers"]
    assert server["url"] == "http://shop.localhost:9999"


@pytest.mark.deep
async def test_a_served_document_contains_the_configured_methods(name: str) -> None:
    async with world(methods=("cbebirr", "telebirr")) as emulator:
        text = (await emulator.api.get(SERVED[name])).text
    assert '"cbebirr"' in text
    assert problems_of_examples(json.loads(text)) == []


@pytest.mark.parametrize("name", ["v2", "v1.yaml", ".json", "v1.json.json"])
async def test_an_unknown_document_is_not_found(emulator: World, name: str) -> None:
    response = await emulator.api.get(f"/_emulator/openapi/{name}")
    assert response.json()["error"]["code"] == "route_not_found"


async def test_a_page_of_another_origin_is_refused(emulator: World) -> None:
    for header in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        response = await emulator.api.get(SERVED["v1"], headers=header)
        assert response.json()["error"]["code"] == "forbidden_origin"


async def test_every_path_has_exactly_the_described_methods(
    emulator: World, document: Json
) -> None:
    described = {(operation.method, operation.path) for operation in operations(document)}
    # Here, the last part of the path is read as the identifier of a delivery.
    described.add(("get", "/_emulator/deliveries/resend"))
    # The response of the stream has no end, unless the program stops.
    emulator.app.engine.change_notifier.close()
    for path in document["paths"]:
        requested = path.format_map(_Named())
        for method in HTTP_METHODS:
            response = await emulator.api.request(method.upper(), requested, headers=headers())
            is_route = not response.text.startswith('{"error":{"code":"route_not_found"')
            assert is_route is ((method, path) in described), (method, path, response.text)


class _Named(dict[str, str]):
    """A value for every parameter of a path: one that leads to a route."""

    def __missing__(self, name: str) -> str:
        return {"name": "v1"}.get(name, "x1")


NULLABLE = {"type": ["string", "null"], "examples": ["a"]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "enum": ["a", "b"], "examples": ["b"]}, "b"),
        ({"type": "integer", "minimum": 1, "default": 100}, 100),
        ({"type": "integer", "minimum": 1}, 1),
        ({"type": "number"}, 0),
        ({"type": "string", "const": "a"}, "a"),
        ({"type": "string", "enum": ["a", "b"]}, "a"),
        ({"type": "boolean"}, True),
        ({"anyOf": [ref("Part"), {"type": "null"}]}, "part"),
        ({"type": "array", "items": ref("Part")}, ["part"]),
        ({"type": "object", "properties": {"a": ref("Part")}}, {}),
        ({"type": "object", "properties": {"a": NULLABLE}}, {"a": "a"}),
        ({"type": "object", "properties": {"a": NULLABLE}, "required": ["a"]}, {"a": None}),
    ],
)
def test_an_example_follows_from_the_schema(schema: JsonObject, expected: Any) -> None:
    assert example_of(schema, {"Part": {"const": "part"}}) == expected


def test_a_text_without_an_example_is_an_error() -> None:
    with pytest.raises(LookupError, match="needs an example"):
        example_of({"type": "string"}, {})
