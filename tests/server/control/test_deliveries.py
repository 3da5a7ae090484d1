"""Deliveries over the control API: what was sent, what came back, and sending once more."""

from typing import Any

import pytest

from tests.server.control import refusal
from tests.server.engine.webhook_world import APPROVES, pay, register, webhook_world
from tests.server.webhooks.receiver import Reply, replies
from tests.world import LIVE_KEY, OTHER_TEST_KEY, World


async def test_a_delivery_shows_each_attempt_as_it_went_over_the_wire() -> None:
    late = Reply(status=503, headers={"X-Shop": "busy"}, body="በኋላ".encode())
    async with webhook_world(replies(late, Reply(status=200, body=b"ok"))) as hooks:
        payment = await hooks.emulator.create(metadata={"ስም": "አበበ"})
        await hooks.settle()
        await hooks.advance(1)
        [delivery] = await hooks.deliveries()
        assert list(delivery) == [
            *("id", "event", "type", "payment", "endpoint", "status", "created_at"),
            *("fault", "oddity", "next_attempt_at", "attempts"),
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
        await pay(hooks.emulator, second, APPROVES)
        await hooks.settle()
        everything = await hooks.deliveries()
        payments = [first["id"], *[second["id"]] * 3]
        assert [delivery["payment"] for delivery in everything] == payments
        assert await hooks.deliveries("?limit=1") == everything[-1:]
        assert await hooks.deliveries(f"?payment={second['id']}") == everything[1:]
        assert await hooks.deliveries("?status=succeeded") == everything[:1]
        assert await hooks.deliveries(f"?endpoint={hooks.endpoint['id']}") == everything
        for delivery in everything:
            response = await hooks.emulator.control("GET", f"/deliveries/{delivery['id']}")
            assert response.json() == delivery


async def test_a_long_list_has_each_delivery_once_and_in_order() -> None:
    """The list is read in parts of fifty and written in parts of twenty."""
    async with webhook_world() as hooks:
        payments = [await hooks.emulator.create() for _ in range(61)]
        await hooks.settle()
        listed = await hooks.deliveries()
    assert [delivery["payment"] for delivery in listed] == [payment["id"] for payment in payments]


@pytest.mark.parametrize(
    ("query", "code"),
    [("payment=pay_1", "payment_not_found"), ("endpoint=we_1", "webhook_endpoint_not_found")],
)
async def test_a_query_for_what_is_not_there_is_not_found(
    emulator: World, query: str, code: str
) -> None:
    assert refusal(await emulator.control("GET", f"/deliveries?{query}")) == (404, code, None)


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


async def test_a_delivery_of_another_account_or_mode_is_not_found() -> None:
    async with webhook_world() as hooks:
        await hooks.emulator.create()
        await hooks.settle()
        [delivery] = await hooks.deliveries()
        path = f"/deliveries/{delivery['id']}/resend"
        for key in (LIVE_KEY, OTHER_TEST_KEY):
            response = await hooks.emulator.control("POST", path, key=key)
            assert refusal(response) == (404, "delivery_not_found", None)
        for name in ("dlv_", "x", "dlv_0000029999999999999999999", "dlv_ስስስስስስ"):
            for method, path in (("POST", f"{name}/resend"), ("GET", name)):
                response = await hooks.emulator.control(method, f"/deliveries/{path}")
                assert refusal(response) == (404, "delivery_not_found", None)


async def resend(emulator: World, delivery: dict[str, Any]) -> dict[str, Any]:
    response = await emulator.control("POST", f"/deliveries/{delivery['id']}/resend")
    assert response.status_code == 200, response.text
    return dict(response.json())


async def test_a_changed_delivery_has_its_fault_also_under_the_former_name() -> None:
    async with webhook_world() as hooks:
        rule = {"when": {"event": "payment.created"}, "then": {"copies": 2}}
        response = await hooks.emulator.control("PUT", "/scenarios/twice", {"webhooks": [rule]})
        assert response.status_code == 201, response.text
        await hooks.emulator.create()
        for delivery in await hooks.deliveries():
            assert delivery["fault"] == delivery["oddity"] == {"copies": 2}
