"""The document of the control API agrees with the program."""

import json
from typing import Any

import httpx
import pytest
import yaml

from emulator.server.api.errors import ANSWERS
from tests.server.openapi.conftest import printed
from tests.server.openapi.navigation import (
    Json,
    Operation,
    operations,
    problems_of_examples,
    resolved,
    validator,
)
from tests.server.openapi.rich_world import rich_world
from tests.world import World, headers

# The codes that only `/v1` has.
OF_OTHERS = {
    "rate_limit_exceeded",
    "idempotency_key_header",
    "idempotency_key_reused",
    "idempotency_key_in_use",
}
# The call whose response has no end; tests/server/control/test_stream.py reads it.
ENDLESS = "stream"
# The required members and parameters.
QUERY_NEEDED = {
    "wait_for_payment": "?status=completed",
    "wait_for_delivery": "?event=payment.completed&timeout=0",
}
BODY_NEEDED = {
    "pay_payment": {"method": "telebirr"},
    "answer_payment": {"answer": "approve"},
    "transition_payment": {"status": "failed"},
    "place_scenario": {"name": "banks"},
    "switch_scenario": {"enabled": True},
}
# An existing resource for each parameter of a path.
THERE = {"account_id": "acct_other", "name": "banks"}


def parameters(document: Json, operation: Operation, place: str) -> list[Json]:
    found = [resolved(document, one) for one in operation.definition["parameters"]]
    return [parameter for parameter in found if parameter["in"] == place]


def body_schema(operation: Operation) -> Json | None:
    """The schema of a body in JSON."""
    content = operation.definition.get("requestBody", {}).get("content")
    schema: Json | None = content and content["application/json"]["schema"]
    return schema


def members(document: Json, schema: Json) -> set[str]:
    """The names of the members of a body, of all alternatives."""
    schema = resolved(document, schema)
    ways = (members(document, way) for way in schema.get("oneOf", ()))
    return set(schema.get("properties", ())).union(*ways)


def closed(value: Any) -> Any:
    """The schema, with no member allowed that it does not name."""
    if isinstance(value, list):
        return [closed(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    found = {key: closed(inner) for key, inner in value.items()}
    if isinstance(value.get("properties"), dict) and value.get("type") == "object":
        found.setdefault("additionalProperties", False)
    return found


def path_of(operation: Operation) -> str:
    return operation.path.format_map(_There())


class _There(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return THERE.get(name, "x_1")


async def assert_accepted(
    emulator: World, document: Json, described: dict[str, set[str]], *, is_query: bool
) -> None:
    """Sends each name of any call to each call, as a parameter or as a member that is null."""
    words = set().union(*described.values())
    for operation in operations(document):
        if operation.name in described:
            refused = set()
            for word in words:
                sent = (None, f"?{word}=%00") if is_query else ({word: None}, "")
                if code_of(await send(emulator, operation, *sent)) == "unknown_parameter":
                    refused.add(word)
            assert words - refused == described[operation.name], operation.name


async def test_a_call_accepts_exactly_the_described_members(emulator: World, control: Json) -> None:
    described = {
        operation.name: members(control, schema)
        for operation in operations(control)
        if (schema := body_schema(operation)) and operation.name != "put_scenario"
    }
    await assert_accepted(emulator, control, described, is_query=False)


async def test_a_call_without_a_body_accepts_no_members(emulator: World, control: Json) -> None:
    for operation in operations(control):
        if operation.method != "get" and "requestBody" not in operation.definition:
            response = await send(emulator, operation, {"enabled": True})
            assert code_of(response) == "unknown_parameter", operation.name


@pytest.mark.deep
async def test_a_call_accepts_exactly_the_described_parameters(
    emulator: World, control: Json
) -> None:
    described = {
        operation.name: {one["name"] for one in parameters(control, operation, "query")}
        for operation in operations(control)
        # Calls on no account ignore the query.
        if operation.definition.get("security") != []
    }
    await assert_accepted(emulator, control, described, is_query=True)


async def send(
    emulator: World, operation: Operation, body: Any = None, query: str = ""
) -> httpx.Response:
    """Sends a request without a key, so that the query decides about the account."""
    path = path_of(operation) + query
    return await emulator.api.request(operation.method.upper(), path, json=body)


def code_of(response: httpx.Response) -> str | None:
    return response.json()["error"]["code"] if response.status_code >= 400 else None


@pytest.mark.deep
async def test_every_response_is_as_described() -> None:
    """The schemas describe every member of every response."""
    document = closed(json.loads(printed("control")))
    called = set()
    async with rich_world() as rich:
        for operation in operations(document):
            if operation.method != "get" or operation.name == ENDLESS:
                continue
            for path in rich.paths_of(operation.path):
                response = await rich.emulator.api.get(path, headers=headers())
                validate(document, operation, response)
                called.add(operation.name)
    described = {one.name for one in operations(document) if one.method == "get"}
    assert called == described - {ENDLESS}


def validate(document: Json, operation: Operation, response: httpx.Response) -> None:
    described = resolved(document, operation.definition["responses"][str(response.status_code)])
    [(media_type, content)] = described["content"].items()
    assert response.headers["content-type"] == media_type
    value = response.json() if media_type.endswith("json") else yaml.safe_load(response.text)
    problems = validator(document, content["schema"]).iter_errors(value)
    assert [f"{response.url} {one.instance_path}: {one.message}" for one in problems] == []


@pytest.mark.deep
def test_every_example_has_only_what_is_described() -> None:
    assert problems_of_examples(closed(json.loads(printed("control")))) == []


def test_every_code_of_the_table_belongs_to_a_call(control: Json) -> None:
    shown = {
        code
        for operation in operations(control)
        for content in refusals(control, operation)
        for code in codes_of(content)
    }
    of_the_table = {answer.code for answer in ANSWERS.values() if answer.code}
    assert of_the_table - shown == OF_OTHERS
    assert all(code.startswith("invalid_") for code in shown - of_the_table)


def refusals(document: Json, operation: Operation) -> list[Json]:
    """What the responses carry whose body is an error."""
    responses = operation.definition["responses"].values()
    contents = [resolved(document, response).get("content", {}) for response in responses]
    carried = [content["application/json"] for content in contents if "application/json" in content]
    return [one for one in carried if one["schema"]["$ref"] == "#/components/schemas/Error"]


def codes_of(content: Json) -> list[str]:
    codes: list[str] = content["schema"]["properties"]["error"]["properties"]["code"]["enum"]
    return codes
