"""One walk over the declared calls on objects: shown, unknown, of another owner, deleted."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from emulator.server.control.app import RESOURCES
from tests.server.control import refusal
from tests.server.engine.webhook_world import WebhookWorld, webhook_world
from tests.server.openapi.conftest import printed
from tests.server.openapi.navigation import operations
from tests.server.openapi.test_control_document import BODY_NEEDED, QUERY_NEEDED, validate
from tests.world import LIVE_KEY, OTHER_TEST_KEY, World

# The noun of the refusals, by the collection.
KINDS = {
    kind: {"deliveries": "delivery"}.get(kind, kind.removesuffix("s"))
    for kind in (
        *("payments", "webhook_endpoints", "deliveries", "events", "requests"),
        *("scenarios", "faults", "snapshots", "accounts"),
    )
}
# Their objects belong to an account in both modes, or to no account.
OF_ACCOUNT = ("scenarios", "faults", "snapshots")
CALLS = {
    kind: [
        each
        for resource in RESOURCES
        for each in resource.operations
        if each.path.startswith(f"/_emulator/{kind}/{{")
        and each.id not in ("put_scenario", "save_snapshot")
    ]
    for kind in KINDS
}
PAGED = ("deliveries", "events", "requests")
UNKNOWN = (
    *("nothing", "A", "a.", "x" * 64, "dlv_", "dlv_0000029999999999999999999", "dlv_ስስስስስስ"),
    "we_000000000000000000000000",
)


@pytest.fixture
async def hooks() -> AsyncIterator[WebhookWorld]:
    """Two objects of each kind in the test mode of the first account."""
    async with webhook_world() as hooks:
        emulator, url = hooks.emulator, hooks.receiver.url
        await emulator.done(
            "POST", "/webhook_endpoints", {"url": url, "events": ["payment.failed"]}
        )
        for name in ("first", "second"):
            await hooks.create()
            await emulator.done("PUT", f"/scenarios/{name}", {"outcomes": []})
            await emulator.done("PUT", f"/snapshots/{name}")
            await emulator.done(
                "POST", "/faults", {"when": {"mode": "live"}, "then": {"drop": True}}
            )
            await emulator.done("POST", "/accounts", {"name": name})
        yield hooks


async def listed(emulator: World, kind: str, **key: str) -> list[dict[str, Any]]:
    return list((await emulator.shown(f"/{kind}", **key))["data"])


def key_of(entry: dict[str, Any]) -> str:
    return str(entry.get("id") or entry["name"])


async def call(emulator: World, operation: Any, name: str, **key: str) -> Any:
    path = operation.path.removeprefix("/_emulator").partition("{")
    path = path[0] + name + path[2].partition("}")[2] + QUERY_NEEDED.get(operation.id, "")
    return await emulator.control(operation.method, path, BODY_NEEDED.get(operation.id), **key)


@pytest.mark.parametrize("kind", KINDS)
async def test_each_object_is_shown_as_in_the_list(hooks: WebhookWorld, kind: str) -> None:
    emulator = hooks.emulator
    entries = await listed(emulator, kind)
    assert len(entries) >= 2
    for get in [each for each in CALLS[kind] if each.id.startswith("get_")]:
        for entry in entries:
            response = await call(emulator, get, key_of(entry))
            shown = response.json()
            assert response.status_code == 200
            # A payment is shown in its details, a scenario with its rules.
            of_list = shown["payment"] if kind == "payments" else {**shown, **entry}
            assert of_list == (entry if kind == "payments" else shown)


@pytest.mark.parametrize("kind", KINDS)
async def test_no_call_finds_an_unknown_object(hooks: WebhookWorld, kind: str) -> None:
    before = await listed(hooks.emulator, kind)
    document = json.loads(printed("control"))
    described = {each.name: each for each in operations(document)}
    for operation in CALLS[kind]:
        # The name of a snapshot is of ASCII.
        for name in [each for each in UNKNOWN if kind != "snapshots" or each.isascii()]:
            response = await call(hooks.emulator, operation, name)
            assert refusal(response) == (404, f"{KINDS[kind]}_not_found", None), operation.id
            assert f"'{name}'" in response.json()["error"]["message"]
            validate(document, described[operation.id], response)
    assert await listed(hooks.emulator, kind) == before


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "accounts"])
async def test_no_call_finds_an_object_of_another_owner(hooks: WebhookWorld, kind: str) -> None:
    emulator, code = hooks.emulator, f"{KINDS[kind]}_not_found"
    before = await listed(emulator, kind)
    [newest, *_] = before
    others = [OTHER_TEST_KEY] if kind in OF_ACCOUNT else [OTHER_TEST_KEY, LIVE_KEY]
    for key in others:
        assert key_of(newest) not in map(key_of, await listed(emulator, kind, key=key))
        for operation in CALLS[kind]:
            response = await call(emulator, operation, key_of(newest), key=key)
            assert refusal(response) == (404, code, None), operation.id
        if kind in PAGED:
            path = f"/{kind}?before={key_of(newest)}"
            response = await emulator.control("GET", path, key=key)
            assert refusal(response) == (400, "invalid_before", "before")
    assert await listed(emulator, kind) == before


@pytest.mark.parametrize("kind", OF_ACCOUNT)
async def test_both_modes_of_an_account_have_its_objects(hooks: WebhookWorld, kind: str) -> None:
    assert await listed(hooks.emulator, kind, key=LIVE_KEY) == await listed(hooks.emulator, kind)


@pytest.mark.parametrize(
    "kind",
    [kind for kind, calls in CALLS.items() if any(each.method == "DELETE" for each in calls)],
)
async def test_an_object_is_deleted_once(hooks: WebhookWorld, kind: str) -> None:
    newest, *rest = await listed(hooks.emulator, kind)
    [delete] = [each for each in CALLS[kind] if each.method == "DELETE"]
    response = await call(hooks.emulator, delete, key_of(newest))
    assert (response.status_code, response.content) == (204, b"")
    assert await listed(hooks.emulator, kind) == rest
    for operation in CALLS[kind]:
        response = await call(hooks.emulator, operation, key_of(newest))
        assert refusal(response) == (404, f"{KINDS[kind]}_not_found", None), operation.id
