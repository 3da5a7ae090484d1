"""Deliveries over the control API: what was sent, what came back, resends and pauses."""

from typing import Any

import pytest

from emulator.server.engine.delivery.deliveries import MAX_RESENT
from emulator.server.engine.delivery.gates import MAX_PAUSE_MS, MAX_PAUSED_DELIVERIES
from tests.server.engine.webhook_world import WebhookWorld, register, webhook_world
from tests.server.webhooks.receiver import Reply, replies
from tests.world import LIVE_KEY, World


async def test_a_delivery_shows_each_attempt_as_it_went_over_the_wire() -> None:
    late = Reply(status=503, headers={"X-Shop": "busy"}, body="በኋላ".encode())
    async with webhook_world(replies(late, Reply(status=200, body=b"ok"))) as hooks:
        payment = await hooks.emulator.create(metadata={"ስም": "አበበ"})
        await hooks.settle()
        await hooks.advance(1)
        [delivery] = await hooks.deliveries()
        assert list(delivery) == [
            *("id", "event", "type", "payment", "endpoint", "status", "created_at"),
            *("fault", "next_attempt_at", "attempts"),
        ]
        assert delivery["id"].startswith("dlv_")
        assert delivery["event"] == hooks.ids[0]
        assert delivery["type"] == "payment.created"
        assert delivery["payment"] == payment["id"]
        assert delivery["endpoint"] == hooks.endpoint["id"]
        first, second = delivery["attempts"]
        for attempt, received in zip((first, second), hooks.receiver.received, strict=True):
            assert attempt["request"]["url"] == hooks.receiver.url
            assert attempt["request"]["body"].encode() == received.body
            sent = attempt["request"]["headers"]
            assert sent.items() <= received.headers.items()
            assert {"webhook-id", "webhook-timestamp", "webhook-signature"} <= set(sent)
            assert attempt["duration_ms"] >= 0
        assert first["status"] == 503
        assert first["response"]["headers"]["x-shop"] == "busy"
        assert first["response"]["body"] == "በኋላ"
        assert (second["status"], second["response"]["body"]) == (200, "ok")
        assert [attempt["trigger"] for attempt in (first, second)] == ["schedule"] * 2


async def test_an_attempt_to_an_unreachable_endpoint_has_a_cause(emulator: World) -> None:
    endpoint = await register(emulator, "http://127.0.0.1:1/hook")
    ping = await emulator.control("POST", f"/webhook_endpoints/{endpoint['id']}/ping")
    [attempt] = ping.json()["attempts"]
    assert attempt["status"] is None
    assert attempt["response"] is None
    assert "refused" in attempt["error"]
    assert ":1" in attempt["cause"], "whichever address would work"


@pytest.mark.parametrize(
    ("status", "word"),
    [(401, "secret"), (404, "path"), (410, "PATCH"), (422, "JSON"), (500, "log"), (302, "2xx")],
)
async def test_an_attempt_with_an_error_status_has_a_likely_cause(status: int, word: str) -> None:
    async with webhook_world(lambda _: Reply(status=status)) as hooks:
        path = f"/webhook_endpoints/{hooks.endpoint['id']}/ping"
        [attempt] = (await hooks.emulator.done("POST", path))["attempts"]
        assert attempt["status"] == status
        assert word in attempt["cause"]


async def test_deliveries_are_listed_newest_first_and_can_be_chosen() -> None:
    async with webhook_world(replies(Reply(), Reply(status=500))) as hooks:
        first = await hooks.emulator.create()
        await hooks.settle()
        second = await hooks.emulator.create()
        await hooks.emulator.pay(second)
        await hooks.settle()
        everything = await hooks.deliveries()
        payments = [first["id"], *[second["id"]] * 3]
        assert [delivery["payment"] for delivery in everything] == payments
        assert await hooks.deliveries("?limit=1") == everything[-1:]
        assert await hooks.deliveries(f"?payment={second['id']}") == everything[1:]
        assert await hooks.deliveries("?status=succeeded") == everything[:1]
        # Retries are scheduled.
        assert await hooks.deliveries("?failing=true") == everything[1:]
        assert await hooks.deliveries("?failing=true&status=succeeded") == []
        assert await hooks.deliveries("?failing=false") == everything
        assert await hooks.deliveries(f"?endpoint={hooks.endpoint['id']}") == everything


async def test_a_long_list_has_each_delivery_once_and_in_order() -> None:
    """The list is read in parts of fifty and written in parts of twenty."""
    async with webhook_world() as hooks:
        payments = [await hooks.emulator.create() for _ in range(61)]
        await hooks.settle()
        listed = await hooks.deliveries()
    assert [delivery["payment"] for delivery in listed] == [payment["id"] for payment in payments]


async def test_a_resend_is_one_more_attempt_of_the_same_event() -> None:
    async with webhook_world(replies(Reply(status=500), Reply(status=500), Reply())) as hooks:
        await hooks.emulator.create()
        await hooks.settle()
        [delivery] = await hooks.deliveries()
        failed = await resend(hooks.emulator, delivery)
        assert failed["status"] == "pending"
        assert failed["next_attempt_at"] == delivery["next_attempt_at"]
        resent = await resend(hooks.emulator, delivery)
        assert resent["status"] == "succeeded"
        triggers = [attempt["trigger"] for attempt in resent["attempts"]]
        assert triggers == ["schedule", "resend", "resend"]
        assert [attempt["number"] for attempt in resent["attempts"]] == [1, 2, 3]
        assert await hooks.advance(100) == [], "it has arrived"
        assert len(set(hooks.ids)) == 1


async def test_what_has_arrived_can_be_sent_again() -> None:
    async with webhook_world(replies(Reply(), Reply(status=500), Reply())) as hooks:
        await hooks.emulator.create()
        await hooks.settle()
        [delivery] = await hooks.deliveries()
        assert (await resend(hooks.emulator, delivery))["status"] == "succeeded"
        assert len(hooks.receiver.received) == 2
        assert await hooks.advance(100) == []


async def test_a_resend_has_the_payment_of_the_original_event() -> None:
    async with webhook_world() as hooks:
        payment = await hooks.emulator.create()
        await hooks.settle()
        await hooks.pay(payment)
        await hooks.settle()
        await resend(hooks.emulator, (await hooks.deliveries())[0])
        assert hooks.receiver.received[-1].body == hooks.receiver.received[0].body


async def resend(emulator: World, delivery: dict[str, Any]) -> dict[str, Any]:
    response = await emulator.control("POST", f"/deliveries/{delivery['id']}/resend")
    assert response.status_code == 200, response.text
    return dict(response.json())


async def test_the_failing_deliveries_of_an_endpoint_are_sent_again() -> None:
    replies_by_event = iter([500, 500, 503, 200, 500, 200])
    async with webhook_world(lambda _: Reply(status=next(replies_by_event))) as hooks:
        for _ in range(3):
            await hooks.create()
        unreachable = await register(hooks.emulator, "http://127.0.0.1:1/hook")
        path = f"/webhook_endpoints/{unreachable['id']}/ping"
        ping = await hooks.emulator.done("POST", path)
        engine = hooks.emulator.app.engine
        _, failures = await engine.webhooks.deliveries.groups(engine.accounts.first.test)
        error = ping["attempts"][0]["error"]
        assert [(name, each.status, each.error, each.count) for name, each in failures] == [
            (hooks.endpoint["id"], 500, None, 2),
            (hooks.endpoint["id"], 503, None, 1),
            (unreachable["id"], None, error, 1),
        ]
        body = {"endpoint": hooks.endpoint["id"]}
        resent = await hooks.emulator.done("POST", "/deliveries/resend", body)
        assert resent == {"resent": 3, "answered": 2, "failed": 1, "left": 0}
        triggers = [each["attempts"][-1]["trigger"] for each in await hooks.deliveries()]
        assert triggers == [*["resend"] * 3, "ping"], "the other endpoint gets nothing"
        failing = await hooks.deliveries(f"?endpoint={hooks.endpoint['id']}&failing=true")
        assert [each["attempts"][-1]["status"] for each in failing] == [500]


async def test_at_most_the_newest_hundred_are_sent_again_in_the_order_of_their_payment() -> None:
    status = 500
    async with webhook_world(lambda _: Reply(status=status)) as hooks:
        for _ in range(MAX_RESENT):
            await hooks.create()
        payment = await hooks.create()
        await hooks.emulator.pay(payment)
        await hooks.settle()
        body, sent_before = {"endpoint": hooks.endpoint["id"]}, len(hooks.receiver.received)
        status = 200
        first = await hooks.emulator.done("POST", "/deliveries/resend", body)
        assert first == {"resent": MAX_RESENT, "answered": MAX_RESENT, "failed": 0, "left": 3}
        again = [received.json for received in hooks.receiver.received[sent_before:]]
        types = [each["type"] for each in again if each["data"]["id"] == payment["id"]]
        assert types == ["payment.created", "payment.processing", "payment.completed"]
        second = await hooks.emulator.done("POST", "/deliveries/resend", body)
        assert second == {"resent": 3, "answered": 3, "failed": 0, "left": 0}
        assert await hooks.deliveries("?failing=true") == []


async def test_a_changed_delivery_has_its_fault() -> None:
    async with webhook_world() as hooks:
        rule = {"when": {"event": "payment.created"}, "then": {"copies": 2}}
        response = await hooks.emulator.control("PUT", "/scenarios/twice", {"webhooks": [rule]})
        assert response.status_code == 201, response.text
        await hooks.emulator.create()
        for delivery in await hooks.deliveries():
            assert delivery["fault"] == {"copies": 2}


PAUSED = "/deliveries/paused"


async def pause(hooks: WebhookWorld) -> None:
    response = await hooks.emulator.control("PUT", PAUSED, {"paused": True})
    assert response.json() == {"paused": True, "seconds_left": MAX_PAUSE_MS / 1000}


async def is_paused(emulator: World) -> bool:
    return bool((await emulator.shown(PAUSED))["paused"])


async def act(hooks: WebhookWorld, delivery: dict[str, Any], action: str) -> dict[str, Any]:
    path = f"/deliveries/{delivery['id']}/{action}"
    return dict(await hooks.emulator.done("POST", path))


async def three_waiting(hooks: WebhookWorld) -> list[dict[str, Any]]:
    """The deliveries of a paid payment, which wait."""
    await pause(hooks)
    await hooks.pay(await hooks.emulator.create())
    waiting = await hooks.deliveries()
    assert [each["attempts"] for each in waiting] == [[], [], []]
    return waiting


async def test_paused_deliveries_are_released_in_any_order_repeated_or_dropped() -> None:
    async with webhook_world() as hooks:
        created, processing, completed = await three_waiting(hooks)
        assert (await act(hooks, completed, "release"))["status"] == "succeeded"
        assert (await act(hooks, completed, "resend"))["status"] == "succeeded"
        assert (await act(hooks, processing, "drop"))["status"] == "dropped"
        assert (await act(hooks, created, "release"))["status"] == "succeeded"
        assert hooks.types == ["payment.completed", "payment.completed", "payment.created"]
        assert await is_paused(hooks.emulator)


async def test_the_end_of_a_pause_sends_what_waits_in_order() -> None:
    async with webhook_world() as hooks:
        await three_waiting(hooks)
        response = await hooks.emulator.control("PUT", PAUSED, {"paused": False})
        assert response.json() == {"paused": False, "seconds_left": None}
        await hooks.settle()
        assert hooks.types == ["payment.created", "payment.processing", "payment.completed"]


@pytest.mark.parametrize("is_advanced", [True, False])
async def test_an_advance_or_five_minutes_of_real_time_end_a_pause(is_advanced: bool) -> None:
    async with webhook_world() as hooks:
        await three_waiting(hooks)
        if is_advanced:
            await hooks.advance(0)
            assert len(hooks.types) == 3
        else:
            await hooks.emulator.wall.waited_for()
            hooks.emulator.wall.move(MAX_PAUSE_MS)
        assert not await is_paused(hooks.emulator)
        await hooks.receiver.wait_for(3)


async def test_one_delivery_more_than_can_wait_ends_a_pause() -> None:
    async with webhook_world() as hooks:
        await pause(hooks)
        for _ in range(MAX_PAUSED_DELIVERIES):
            await hooks.emulator.create()
        assert await is_paused(hooks.emulator)
        assert hooks.types == []
        await hooks.emulator.create()
        await hooks.receiver.wait_for(MAX_PAUSED_DELIVERIES + 1)
        assert not await is_paused(hooks.emulator)


async def test_a_pause_is_of_one_mode_and_ends_with_a_reset() -> None:
    async with webhook_world() as hooks:
        await pause(hooks)
        live = await hooks.emulator.control("GET", PAUSED, key=LIVE_KEY)
        assert live.json() == {"paused": False, "seconds_left": None}
        await hooks.emulator.control("POST", "/reset")
        assert not await is_paused(hooks.emulator)


async def test_a_released_delivery_that_fails_keeps_its_schedule() -> None:
    async with webhook_world(replies(Reply(status=500), Reply())) as hooks:
        await pause(hooks)
        await hooks.emulator.create()
        [delivery] = await hooks.deliveries()
        failed = await act(hooks, delivery, "release")
        assert (failed["status"], len(failed["attempts"])) == ("pending", 1)
        assert failed["attempts"][0]["trigger"] == "schedule"
        await hooks.advance(1)
        assert [each["status"] for each in await hooks.deliveries()] == ["succeeded"]


async def test_a_retry_can_be_released_without_a_pause() -> None:
    async with webhook_world(replies(Reply(status=500), Reply())) as hooks:
        await hooks.create()
        [delivery] = await hooks.deliveries()
        assert (await act(hooks, delivery, "release"))["status"] == "succeeded"
        assert await hooks.advance(100) == []
