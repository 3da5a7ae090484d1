"""Every example of a request is sent as it is shown, and accepted."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from emulator.scenarios.scenario_file import scenario_schema
from tests.server.engine.webhook_world import WebhookWorld, webhook_world
from tests.server.openapi.navigation import Json, Operation, operations, resolved
from tests.world import World, headers

PENDING, PROCESSING = (), ({"method": "telebirr", "phone": "0911111111"},)
# Of a call the actions on its payment before; without an entry there are none.
LIVES = {"answer_payment": PROCESSING, "transition_payment": PROCESSING}
# The response of this call has no end.
ENDLESS = "stream"
# The rest of a document around an example, by the keys that lead to the example.
AROUND: dict[str, Json] = {
    "file": {"version": 1, "name": "case"},
    "outcomes": {"when": {}, "then": []},
    "outcomes then": {"status": "failed"},
    "expiry": {"when": {}, "after": "5s"},
    "checkout": {"when": {}, "then": {"redirect": "never"}},
    "checkout then": {"redirect": "before_webhook"},
    "faults": {"when": {}, "then": {"status": 500}},
    "faults then": {"status": 500},
    "webhooks": {"when": {}, "then": {"copies": 2}},
    "pay": {"payment": "order"},
    "transition": {"payment": "order", "status": "processing"},
    "fault": {"then": {"status": 500}},
    "fault then": {"status": 500},
}
# What a method needs beside it in a step.
PAYERS = {
    "telebirr": {"phone": "0911111111"},
    "mpesa": {"phone": "0711111111"},
    "bank_transfer": {"bank": "walia_test"},
}


def examples(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each example, and the keys that lead to it; `[]` is an item of a list."""
    if not isinstance(schema, dict):
        return
    for example in schema.get("examples", ()):
        yield path, example
    for name, inner in schema.get("properties", {}).items():
        yield from examples(inner, (*path, name))
    yield from examples(schema.get("items"), (*path, "[]"))
    for inner in schema.get("anyOf", ()):
        yield from examples(inner, path)


def whole(path: tuple[str, ...], example: Any, before: str = "file") -> Any:
    """The document with an example at a place."""
    if not path:
        return example
    key, *rest = path
    if key == "[]":
        return [whole(tuple(rest), example, before)]
    below = key if before in ("file", "step") else f"{before} {key}"
    found = {**AROUND.get(before, {}), key: whole(tuple(rest), example, below)}
    if before == "expiry" and key == "then":
        del found["after"]
    if (before, key) == ("pay", "method"):
        found |= PAYERS[example]
    return found


def scenarios() -> list[Json]:
    schema = scenario_schema()
    found = [whole(path, example) for path, example in examples(schema)]
    for path, example in examples(schema["$defs"]["script_step"]):
        found.append(
            {
                **AROUND["file"],
                "script": [{"create": {"as": "order"}}, whole(path, example, "step")],
            }
        )
    return found


async def test_each_example_of_the_scenario_schema_is_accepted(emulator: World) -> None:
    bodies = scenarios()
    assert len(bodies) > 90
    for body in bodies:
        response = await emulator.control("PUT", "/scenarios/case", body)
        assert response.is_success, (body, response.text)


class Shown:
    """The examples of the requests of a document."""

    def __init__(self, document: Json) -> None:
        self.document = document

    def parameters(self, operation: Operation, place: str) -> Json:
        """The examples of the parameters of a call."""
        found = [resolved(self.document, each) for each in operation.definition["parameters"]]
        return {
            each["name"]: each["example"]
            for each in found
            if each["in"] == place and "example" in each
        }

    def bodies(self, operation: Operation) -> Iterator[tuple[str, Any]]:
        """Each example of a body and of its members, with its media type."""
        content = operation.definition.get("requestBody", {}).get("content", {})
        for media_type, carried in content.items():
            named = [each["value"] for each in carried.get("examples", {}).values()]
            for example in [carried["example"]] if "example" in carried else named:
                yield media_type, example
                schema = resolved(self.document, carried["schema"])
                for name, member in schema.get("properties", {}).items():
                    for value in resolved(self.document, member).get("examples", ()):
                        if isinstance(example, dict) and name in example:
                            yield (
                                media_type,
                                {**example, name: value, **payer(operation, name, value)},
                            )


def payer(operation: Operation, name: str, value: Any) -> Json:
    """What a payment needs beside a method or a phone."""
    if operation.name != "pay_payment" or name not in ("method", "phone"):
        return {}
    return {"method": None} if name == "phone" else {"phone": None, **PAYERS[value]}


async def path_of(hooks: WebhookWorld, operation: Operation) -> str:
    """The path of a call on what exists."""
    emulator = hooks.emulator
    payment = await hooks.create()
    for body in LIVES.get(operation.name, PENDING):
        await emulator.done("POST", f"/payments/{payment['id']}/pay", body)
    values = {
        "payment_id": payment["id"],
        "id": payment["id"],
        "name": "double-success",
        **await there(emulator),
    }
    if "/scenarios/{name}" in operation.path:
        await emulator.done("PUT", "/scenarios/double-success", {})
    if "/snapshots/{name}" in operation.path:
        await emulator.done("PUT", "/snapshots/double-success")
    if "{fault_id}" in operation.path:
        fault = {"when": {"mode": "live"}, "then": {"status": 500}}
        values["fault_id"] = (await emulator.done("POST", "/faults", fault))["id"]
    if operation.name == "get_document":
        values["name"] = "v1"
    if operation.name in ("release_delivery", "drop_delivery"):
        await emulator.done("PUT", "/deliveries/paused", {"paused": True})
        await emulator.create()
        values |= await there(emulator)
    return operation.path.format(**values)


async def there(emulator: World) -> Json:
    """The identifiers of the newest of each kind."""
    newest = {
        kind: (await emulator.shown(f"/{kind}?limit=1"))["data"][0]["id"]
        for kind in ("events", "deliveries", "requests", "payments")
    }
    endpoint = (await emulator.shown("/webhook_endpoints"))["data"][0]["id"]
    return {
        "event_id": newest["events"],
        "delivery_id": newest["deliveries"],
        "request_id": newest["requests"],
        "endpoint_id": endpoint,
        "account_id": "acct_demo",
    }


async def query_of(hooks: WebhookWorld, operation: Operation, shown: Json) -> Json:
    """The examples of a query; those of identifiers are of what exists."""
    now = await there(hooks.emulator)
    kinds = {"list_events": "event_id", "list_deliveries": "delivery_id"}
    payment = (await hooks.emulator.payments())[0]["id"]
    known = {
        "after": payment,
        "payment": payment,
        "before": now[kinds.get(operation.name, "request_id")],
        "endpoint": now["endpoint_id"],
        "exclude_endpoint": now["endpoint_id"],
    }
    query = {name: known.get(name, value) for name, value in shown.items()}
    return {name: json.dumps(value).strip('"') for name, value in query.items()}


def sent(hooks: WebhookWorld, operation: Operation, path: str, **more: Any) -> Any:
    return hooks.emulator.api.request(operation.method.upper(), path, headers=headers(), **more)


@pytest.mark.parametrize("name", ["v1", "control"])
async def test_each_example_of_a_body_is_accepted(document: Json, name: str) -> None:
    shown, count = Shown(document), 0
    for operation in operations(document):
        for media_type, body in shown.bodies(operation):
            if not media_type.endswith("json"):
                continue
            async with webhook_world() as hooks:
                path = await path_of(hooks, operation)
                if "endpoint" in body:
                    body["endpoint"] = hooks.endpoint["id"]
                response: httpx.Response = await sent(hooks, operation, path, json=body)
                assert response.is_success, (operation.name, body, response.text)
                count += 1
    assert count >= {"v1": 1, "control": 40}[name]


async def test_each_example_of_a_parameter_is_accepted(document: Json) -> None:
    shown = Shown(document)
    async with webhook_world() as hooks:
        for operation in operations(document):
            if operation.method != "get" or operation.name == ENDLESS:
                continue
            path = await path_of(hooks, operation)
            query = await query_of(hooks, operation, shown.parameters(operation, "query"))
            for each in (query, *({name: value} for name, value in query.items())):
                needed = {"status": "pending"} if operation.name == "wait_for_payment" else {}
                if operation.name == "wait_for_delivery":
                    needed = {"event": "payment.created"}
                response = await sent(hooks, operation, f"{path}?{urlencode({**needed, **each})}")
                assert response.is_success, (operation.name, each, response.text)
