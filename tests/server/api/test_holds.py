"""The fault `hold: delivery`: a computed response waits until a webhook has been answered."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from emulator.domain.effects import MAX_RESPONSE_HOLD_MS
from tests.depth import usually
from tests.server.engine.webhook_world import WebhookWorld, webhook_world
from tests.server.webhooks.receiver import Received, Reply
from tests.world import World, headers

HANDSET = "0911223344"


async def hold(emulator: World, request: str = "retrieve_payment") -> None:
    rule = {"when": {"request": request}, "then": {"hold": "delivery"}, "times": 1}
    response = await emulator.control("POST", "/faults", rule)
    assert response.status_code == 201, response.text


@asynccontextmanager
async def held(
    hooks: WebhookWorld, path: str = "/v1/payments/{id}"
) -> AsyncIterator[tuple[dict[str, Any], "asyncio.Task[Any]"]]:
    """A payment in processing, and a request whose response is held."""
    emulator = hooks.emulator
    payment = await emulator.create()
    await hooks.pay(payment, HANDSET)
    await hooks.settle()
    is_list = path == "/v1/payments"
    await hold(emulator, "list_payments" if is_list else "retrieve_payment")
    polling = asyncio.create_task(emulator.api.get(path.format(**payment), headers=headers()))
    while not (await emulator.shown("/faults"))["data"][0]["used"]:
        pass
    assert not polling.done()
    yield payment, polling


async def approve(emulator: World, payment: dict[str, Any]) -> None:
    path = f"/payments/{payment['id']}/answer"
    response = await emulator.control("POST", path, {"answer": "approve"})
    assert response.json()["status"] == "completed"


@pytest.mark.parametrize("path", ["/v1/payments/{id}", "/v1/payments"])
async def test_a_poll_arrives_after_the_webhook_and_has_the_status_before_it(path: str) -> None:
    async def answer(received: Received) -> Reply:
        if received.json["type"] == "payment.completed":
            assert not polling.done()
        return Reply(status=500)

    async with webhook_world(answer) as hooks, held(hooks, path) as (payment, polling):
        await approve(hooks.emulator, payment)
        response = (await polling).json()
        assert hooks.types[-1] == "payment.completed"
        assert response.get("data", [response])[0]["status"] == "processing"
        # Only one response was to be held.
        assert (await hooks.emulator.retrieve(payment["id"]))["status"] == "completed"


async def test_a_response_is_held_for_five_seconds_at_most() -> None:
    async with webhook_world() as hooks, held(hooks) as (_, polling):
        hooks.emulator.wall.move(MAX_RESPONSE_HOLD_MS - 1)
        # A delivery of another payment does not release it.
        await hooks.emulator.create()
        await hooks.receiver.wait_for(3)
        await hooks.emulator.control("GET", "/events")
        assert not polling.done()
        hooks.emulator.wall.move(1)
        assert (await polling).status_code == 200


async def advance(hooks: WebhookWorld) -> None:
    await hooks.emulator.advance(0)


async def reset(hooks: WebhookWorld) -> None:
    await hooks.emulator.control("POST", "/reset")


async def stop(hooks: WebhookWorld) -> None:
    hooks.emulator.app.engine.change_notifier.close()


@pytest.mark.parametrize("release", [advance, reset, stop])
async def test_an_advance_a_reset_and_the_end_of_the_program_release_a_response(
    release: Callable[[WebhookWorld], Awaitable[None]],
) -> None:
    async with webhook_world() as hooks, held(hooks) as (_, polling):
        await release(hooks)
        response = await polling
        assert (response.status_code, response.json()["status"]) == (200, "processing")


async def test_an_advance_that_is_over_before_a_held_response_looks_releases_it() -> None:
    async with webhook_world() as hooks:
        engine = hooks.emulator.app.engine
        hold = engine.webhooks.holds.begin(engine.accounts.first.test, None)
        await hooks.emulator.advance(0)
        assert hold.is_over


@pytest.mark.parametrize("enabled", [None, False])
async def test_without_an_endpoint_a_response_is_not_held(
    emulator: World, enabled: bool | None
) -> None:
    if enabled is not None:
        body = {"url": "http://127.0.0.1:9/", "enabled": enabled}
        await emulator.control("POST", "/webhook_endpoints", body)
    payment = await emulator.create()
    await hold(emulator)
    assert (await emulator.retrieve(payment["id"]))["status"] == "pending"


async def test_during_an_advance_the_response_to_a_handler_is_not_held() -> None:
    async def answer(received: Received) -> Reply:
        await hooks.emulator.retrieve(received.json["data"]["id"])
        return Reply()

    async with webhook_world(answer, events=["payment.expired"]) as hooks:
        await hooks.emulator.create(expires_in=60)
        await hold(hooks.emulator)
        [_, effect] = await hooks.advance(60)
        assert effect["response_status"] == 200


class Shop:
    """A shop whose webhook handler retrieves the payment and then fulfils the order."""

    def __init__(self, emulator: World, *, is_correct: bool) -> None:
        self._emulator = emulator
        self._is_correct = is_correct
        self._paid: set[str] = set()
        self.fulfilled: list[str] = []

    async def handle(self, received: Received) -> Reply:
        payment_id = received.json["data"]["id"]
        if payment_id not in self._paid:
            payment = await self._emulator.retrieve(payment_id)
            # The correct shop checks when it acts, as a unique constraint does.
            is_new = not self._is_correct or payment_id not in self._paid
            if payment["status"] == "completed" and is_new:
                self._paid.add(payment_id)
                self.fulfilled.append(payment_id)
        return Reply()


@pytest.mark.sampled
@pytest.mark.parametrize(("is_correct", "times_fulfilled"), [(True, 1), (False, 2)])
async def test_a_check_then_act_handler_fails_in_every_run_and_a_correct_one_in_none(
    is_correct: bool, times_fulfilled: int
) -> None:
    runs = usually(5, deep=100)
    async with webhook_world(events=["payment.completed"]) as hooks:
        emulator = hooks.emulator
        rule = {"when": {}, "then": {"copies": 2, "concurrent": True}}
        races = {"version": 1, "name": "race", "webhooks": [rule]}
        assert (await emulator.control("PUT", "/scenarios/race", races)).status_code == 201
        shop = Shop(emulator, is_correct=is_correct)
        hooks.receiver.answer = shop.handle
        for run in range(1, runs + 1):
            payment = await emulator.create()
            await hold(emulator)
            await emulator.pay(payment)
            query = f"/deliveries?payment={payment['id']}"
            while not all(
                delivery["attempts"] for delivery in (await emulator.shown(query))["data"]
            ):
                pass
            assert len(shop.fulfilled) == run * times_fulfilled
