"""Waiting for the response to a delivery."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.server.api.raw_requests import RawRequest, send_raw
from tests.server.control import refusal
from tests.server.engine.webhook_world import reply_after, webhook_world
from tests.server.webhooks.receiver import HANG_UP, Reply, replies
from tests.world import World

WAIT = "/deliveries/wait?event=payment.created"


async def wait(emulator: World, query: str = "") -> httpx.Response:
    return await emulator.control("GET", f"{WAIT}{query}")


async def begun(emulator: World, query: str = "") -> asyncio.Task[httpx.Response]:
    """A wait that has begun and is not over."""
    task = asyncio.create_task(wait(emulator, query))
    await emulator.wall.waited_for()
    assert not task.done()
    return task


def shown(response: httpx.Response) -> tuple[bool, str | None]:
    waited = response.json()
    return waited["reached"], waited["delivery"] and waited["delivery"]["status"]


async def test_a_wait_ends_as_soon_as_the_endpoint_responds() -> None:
    responds = asyncio.Event()
    async with webhook_world(reply_after(responds)) as hooks:
        waiting = await begun(hooks.emulator)
        payment = await hooks.emulator.create()
        assert shown(await wait(hooks.emulator, "&timeout=0")) == (False, "pending")
        responds.set()
        response = await waiting
        assert shown(response) == (True, "succeeded")
        assert response.json()["delivery"]["payment"] == payment["id"]
        assert (await wait(hooks.emulator)).json() == response.json()


async def test_an_error_status_is_a_response_and_a_cut_connection_is_none() -> None:
    async with webhook_world(replies(HANG_UP, Reply(status=500), Reply())) as hooks:
        await hooks.create()
        waiting = await begun(hooks.emulator)
        await hooks.advance(1)
        response = await waiting
        assert shown(response) == (True, "pending")
        assert [each["status"] for each in response.json()["delivery"]["attempts"]] == [None, 500]


async def test_a_wait_ends_after_the_last_attempt() -> None:
    async with webhook_world(lambda _: HANG_UP) as hooks:
        await hooks.create()
        waiting = await begun(hooks.emulator)
        await hooks.advance(81)
        assert shown(await waiting) == (True, "failed")


@pytest.mark.parametrize(
    ("method", "body"), [("DELETE", None), ("PATCH", {"enabled": False})], ids=["delete", "disable"]
)
async def test_a_wait_ends_when_the_delivery_is_cancelled(method: str, body: Any) -> None:
    async with webhook_world(lambda _: HANG_UP) as hooks:
        await hooks.create()
        waiting = await begun(hooks.emulator)
        await hooks.emulator.control(method, f"/webhook_endpoints/{hooks.endpoint['id']}", body)
        assert shown(await waiting) == (True, "cancelled")


async def test_a_wait_ends_when_a_scenario_drops_the_delivery() -> None:
    async with webhook_world() as hooks:
        rule = {"when": {"event": "payment.created"}, "then": {"drop": True}}
        await hooks.emulator.control("PUT", "/scenarios/drops", {"webhooks": [rule]})
        waiting = await begun(hooks.emulator)
        await hooks.emulator.create()
        assert shown(await waiting) == (True, "dropped")


async def test_a_wait_is_for_the_named_event_payment_and_endpoint() -> None:
    async with webhook_world() as hooks:
        first, second = await hooks.create(), await hooks.emulator.create()
        await hooks.settle()
        for query, expected in (
            ("", second["id"]),
            (f"&payment={first['id']}", first["id"]),
            (f"&endpoint={hooks.endpoint['id']}", second["id"]),
        ):
            waited = (await wait(hooks.emulator, query)).json()
            assert (waited["reached"], waited["delivery"]["payment"]) == (True, expected)
        path = "/deliveries/wait?event=payment.refunded&timeout=0"
        response = await hooks.emulator.control("GET", path)
        assert response.json() == {"reached": False, "delivery": None}
        for query, code in (("payment=pay_x", "payment"), ("endpoint=we_x", "webhook_endpoint")):
            response = await wait(hooks.emulator, f"&{query}")
            assert refusal(response) == (404, f"{code}_not_found", None)


async def test_a_wait_ends_when_its_time_is_over_or_its_payment_is_gone(emulator: World) -> None:
    payment = await emulator.create()
    waiting = await begun(emulator, "&timeout=0.25")
    emulator.wall.move(250)
    assert shown(await waiting) == (False, None)
    waiting = await begun(emulator, f"&payment={payment['id']}")
    await emulator.control("POST", "/reset")
    assert refusal(await waiting) == (404, "payment_not_found", None)


@pytest.mark.parametrize("path", [WAIT, "/payments/{}/wait?status=failed"])
async def test_a_wait_ends_when_its_client_disconnects(emulator: World, path: str) -> None:
    payment = await emulator.create()
    path, _, query = path.format(payment["id"]).partition("?")
    hang_up = asyncio.Event()
    request = RawRequest(
        path=f"/_emulator{path}",
        query=query.encode(),
        headers=[(b"host", b"localhost")],
        hang_up=hang_up,
    )
    waiting = asyncio.create_task(send_raw(emulator, request))
    await emulator.wall.waited_for()
    hang_up.set()
    assert (await waiting).status == 0
    assert emulator.app.engine.change_notifier._waiting == {}
