"""Deliveries of events: their content, order and receivers."""

import asyncio
import json
from pathlib import Path

import pytest

from emulator.server.engine.delivery.dispatcher import MAX_CONCURRENT_ATTEMPTS
from tests.server.engine.webhook_world import register, reply_after, webhook_world
from tests.server.webhooks.receiver import HANG_UP, NEVER, Received, Reply, receiving
from tests.turns import turn
from tests.world import LIVE_KEY, OTHER_TEST_KEY, World, world


@pytest.mark.clause("4.2.5", "6.1")
async def test_an_event_contains_the_payment_at_its_instant() -> None:
    async with webhook_world() as hooks:
        payment = await hooks.emulator.create()
        await hooks.pay(payment)
        await hooks.emulator.transition(payment, "refunded")
        await hooks.settle()
        assert hooks.types == [
            "payment.created",
            "payment.processing",
            "payment.completed",
            "payment.refunded",
        ]
        bodies = [received.json for received in hooks.receiver.received]
        assert [body["data"]["status"] for body in bodies] == [
            "pending",
            "processing",
            "completed",
            "refunded",
        ]
        assert bodies[0]["data"] == payment
        assert bodies[1]["data"]["method"] == "telebirr"


async def test_a_body_is_the_bytes_of_the_list_of_events() -> None:
    async with webhook_world() as hooks:
        payment = await hooks.emulator.create(metadata={"ስም": "አበበ"})
        await hooks.pay(payment)
        await hooks.settle()
        listed = (await hooks.emulator.shown("/events"))["data"][::-1]
        sent = [received.body for received in hooks.receiver.received]
        compact = [
            json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
            for event in listed
        ]
        assert sent == compact


async def test_the_first_attempts_of_one_payment_go_out_in_order() -> None:
    """The answer to the first is late, and the second waits for it; another payment does not."""
    answered = asyncio.Event()

    async def answer(received: Received) -> Reply:
        if received.json["data"]["id"] == first["id"] and received.json["type"].endswith("created"):
            await answered.wait()
        return Reply()

    async with webhook_world(answer) as hooks:
        first = await hooks.emulator.create()
        await hooks.pay(first)
        other = await hooks.emulator.create()
        await hooks.pay(other)
        await hooks.receiver.wait_for(4)
        assert [received.json["data"]["id"] for received in hooks.receiver.received] == [
            first["id"],
            *[other["id"]] * 3,
        ]
        answered.set()
        await hooks.settle()
        mine = [
            received.json["type"]
            for received in hooks.receiver.received
            if received.json["data"]["id"] == first["id"]
        ]
        assert mine == ["payment.created", "payment.processing", "payment.completed"]


async def test_an_endpoint_receives_only_the_event_types_of_its_subscription() -> None:
    async with webhook_world(events=["payment.completed", "payment.failed"]) as hooks:
        payment = await hooks.emulator.create()
        await hooks.pay(payment)
        await hooks.settle()
        assert hooks.types == ["payment.completed"]


async def test_only_the_endpoints_of_the_account_and_mode_receive_an_event(emulator: World) -> None:
    async with (
        webhook_world(emulator=emulator) as hooks,
        receiving() as second,
        receiving() as live,
        receiving() as other,
    ):
        await register(emulator, second.url)
        await register(emulator, live.url, LIVE_KEY)
        await register(emulator, other.url, OTHER_TEST_KEY)
        await emulator.create()
        await hooks.settle()
        counts = [len(one.received) for one in (hooks.receiver, second, live, other)]
        assert counts == [1, 1, 0, 0]
        endpoints = (await emulator.shown("/webhook_endpoints"))["data"]
        assert len({endpoint["secret"] for endpoint in endpoints}) == 2


async def test_an_endpoint_that_never_responds_delays_no_other(emulator: World) -> None:
    async with receiving(lambda _: NEVER) as dead, webhook_world(emulator=emulator) as hooks:
        await register(emulator, dead.url)
        for _ in range(30):
            payment = await emulator.create()
            await emulator.pay(payment)
        await hooks.receiver.wait_for(90)
        assert len(dead.received) == MAX_CONCURRENT_ATTEMPTS


async def test_a_new_endpoint_receives_only_later_events(emulator: World) -> None:
    payment = await emulator.create()
    async with webhook_world(emulator=emulator) as hooks:
        await hooks.pay(payment)
        await hooks.settle()
        assert hooks.types == ["payment.processing", "payment.completed"]


async def test_a_replayed_create_call_sends_no_second_event() -> None:
    async with webhook_world() as hooks:
        for _ in range(3):
            await hooks.create(idempotency_key="order-1")
        assert hooks.types == ["payment.created"]


async def test_a_handler_may_call_back_and_sees_the_instant_of_the_event() -> None:
    async def answer(received: Received) -> Reply:
        seen.append(await hooks.emulator.retrieve(received.json["data"]["id"]))
        instants.append((await hooks.emulator.shown("/clock"))["now"])
        return Reply()

    seen: list[dict[str, object]] = []
    instants: list[str] = []
    async with webhook_world(answer) as hooks:
        await hooks.emulator.create(expires_in=60)
        await hooks.create(expires_in=90)
        await hooks.advance(3_600)
        assert [payment["status"] for payment in seen] == ["pending"] * 2 + ["expired"] * 2
        assert instants[2:] == ["2026-01-01T00:01:00.000Z", "2026-01-01T00:01:30.000Z"]


async def test_a_payment_that_a_handler_creates_during_an_advance_is_one_of_its_effects() -> None:
    async def answer(received: Received) -> Reply:
        if received.json["type"] == "payment.expired":
            await hooks.emulator.create(expires_in=60)
        return Reply()

    async with webhook_world(answer) as hooks:
        await hooks.create(expires_in=60)
        effects = await hooks.advance(125)
        types = [effect.get("event_type", effect["type"]) for effect in effects]
        assert types == [
            *("payment.expired", "payment.expired", "payment.created", "payment.expired"),
            *("payment.expired", "payment.created"),
        ]


async def test_attempts_of_one_instant_are_in_the_order_of_their_events_in_both_modes(
    emulator: World,
) -> None:
    async with webhook_world(emulator=emulator) as hooks:
        await register(emulator, hooks.receiver.url, key=LIVE_KEY)
        live = await emulator.create(LIVE_KEY, expires_in=60)
        test = await emulator.create(expires_in=60)
        await hooks.settle()
        effects = await hooks.advance(60)
        assert [effect["payment"] for effect in effects] == [live["id"], test["id"]] * 2


async def test_a_connection_that_is_dropped_is_a_failed_attempt() -> None:
    async with webhook_world(lambda _: HANG_UP) as hooks:
        await hooks.create()
        [delivery] = await hooks.deliveries()
        [attempt] = delivery["attempts"]
        assert attempt["status"] is None
        assert attempt["error"]
        assert delivery["status"] == "pending"


async def test_a_reset_cancels_attempts_in_progress() -> None:
    async with webhook_world(lambda _: NEVER) as hooks:
        await hooks.emulator.create()
        await hooks.receiver.wait_for(1)
        await hooks.emulator.control("POST", "/reset")
        hooks.receiver.answer = lambda _: Reply()
        await register(hooks.emulator, hooks.receiver.url)
        await hooks.create()
        [delivery] = await hooks.deliveries()
        assert [attempt["status"] for attempt in delivery["attempts"]] == [200]
        assert len(hooks.receiver.received) == 2


async def test_an_account_can_be_deleted_during_an_attempt(emulator: World) -> None:
    created = await emulator.control("POST", "/accounts", {"clock": "frozen"})
    account, key = created.json()["id"], created.json()["test_key"]
    async with receiving(lambda _: NEVER) as receiver:
        await register(emulator, receiver.url, key)
        await emulator.create(key)
        await receiver.wait_for(1)
        response = await emulator.control("DELETE", f"/accounts/{account}")
        assert response.status_code == 204
        await receiver.drained()
        assert (await emulator.shown("/deliveries"))["data"] == []


async def test_an_endpoint_that_is_disabled_during_an_attempt_gets_no_other() -> None:
    answered = asyncio.Event()
    async with webhook_world(reply_after(answered, 500)) as hooks:
        payment = await hooks.emulator.create()
        await hooks.pay(payment)
        await hooks.receiver.wait_for(1)
        path = f"/webhook_endpoints/{hooks.endpoint['id']}"
        await hooks.emulator.control("PATCH", path, {"enabled": False})
        answered.set()
        assert await hooks.advance(100) == []
        assert len(hooks.receiver.received) == 1
        assert {delivery["status"] for delivery in await hooks.deliveries()} == {"cancelled"}


async def test_an_event_right_after_a_reset_is_sent() -> None:
    async with receiving() as receiver, world(webhook_url=receiver.url) as emulator:
        for number in range(10):
            payment = await emulator.create()
            body = {"method": "telebirr", "phone": "0900000001"}
            path = f"/payments/{payment['id']}/pay"
            paying = asyncio.create_task(emulator.control("POST", path, body))
            resetting = asyncio.create_task(emulator.control("POST", "/reset"))
            for _ in range(2):  # until the handlers of both calls have begun
                await turn()
            await emulator.create(metadata={"number": str(number)})
            await asyncio.gather(paying, resetting)
            while not any(
                received.json["data"]["metadata"] == {"number": str(number)}
                for received in receiver.received
            ):
                await receiver.wait_for(len(receiver.received) + 1)


async def test_a_ping_during_a_reset_is_not_recorded() -> None:
    async with webhook_world() as hooks:
        path = f"/webhook_endpoints/{hooks.endpoint['id']}/ping"
        _, ping = await asyncio.gather(
            hooks.emulator.control("POST", "/reset"), hooks.emulator.control("POST", path)
        )
        assert ping.status_code == 404
        assert await hooks.deliveries() == []


async def test_a_reset_restores_the_configured_endpoint(tmp_path: Path) -> None:
    database = str(tmp_path / "kept.sqlite3")
    async with receiving(lambda _: Reply(status=410)) as receiver:
        async with world(database=database, webhook_url=receiver.url) as emulator:
            [first] = (await emulator.shown("/webhook_endpoints"))["data"]
            await emulator.create()
            await emulator.advance(0)
        async with world(database=database, webhook_url=receiver.url) as emulator:
            [kept] = (await emulator.shown("/webhook_endpoints"))["data"]
            assert kept == first | {"enabled": False}
            await emulator.control("POST", "/reset")
            [given] = (await emulator.shown("/webhook_endpoints"))["data"]
            assert given == first


async def test_a_ping_of_a_deleted_account_does_not_affect_the_next_account(
    emulator: World,
) -> None:
    """Without others the next account has the same number, and its rows the same places."""
    answered = asyncio.Event()
    refusing = receiving(lambda _: Reply(status=500))
    async with receiving(reply_after(answered)) as slow, refusing as receiver:
        old = (await emulator.done("POST", "/accounts", {"seed": 1}))["test_key"]
        endpoint = await register(emulator, slow.url, old)
        path = f"/webhook_endpoints/{endpoint['id']}/ping"
        pinging = asyncio.create_task(emulator.control("POST", path, key=old))
        await slow.wait_for(1)
        await emulator.control("POST", "/reset", {"all": True})
        new = (await emulator.done("POST", "/accounts", {"seed": 1}))["test_key"]
        await register(emulator, receiver.url, new)
        await emulator.create(new)
        await emulator.advance(0, new)
        before = await emulator.shown("/deliveries", key=new)
        answered.set()
        assert (await pinging).status_code == 404
        assert (await emulator.shown("/deliveries", key=new)) == before
