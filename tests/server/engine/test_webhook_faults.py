"""The webhook faults of scenarios, as a receiver sees them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from emulator.clock import RealClock
from emulator.domain.webhooks import Tamper
from emulator.settings import data_directory
from tests.server.engine.scenario_world import scenario_world
from tests.server.engine.webhook_world import (
    WebhookWorld,
    register,
    reply_after,
    webhook_world,
)
from tests.server.webhooks.receiver import NEVER, Answer, Received, Reply
from tests.world import LIVE_KEY


@asynccontextmanager
async def faulty_world(
    rules: str, directory: Path, answer: Answer | None = None, **terms: Any
) -> AsyncIterator[WebhookWorld]:
    """A receiver in a world where these rules are in force."""
    async with (
        scenario_world(directory, odd=f"webhooks:\n{rules}") as emulator,
        webhook_world(answer, emulator, **terms) as hooks,
    ):
        yield hooks


PAID = [
    pytest.param(
        "  - when: {event: payment.completed}\n    then: {copies: 3}",
        ["created", "processing", "completed", "completed", "completed"],
        [],
        id="copies have one event id",
    ),
    pytest.param(
        "  - when: {event: payment.processing}\n    then: {hold: true, copies: 2}",
        ["created", "completed", "processing", "processing"],
        [],
        id="held until an event of the same instant",
    ),
    pytest.param(
        "  - when: {}\n    then: {hold: true}",
        ["created", "processing"],
        ["completed"],
        id="each one is held until the next",
    ),
    pytest.param(
        "  - when: {event: payment.processing}\n    then: {hold: true}\n"
        "  - when: {event: payment.completed}\n    then: {delay: 10s}",
        ["created"],
        ["completed", "processing"],
        id="held until a delayed event",
    ),
]


@pytest.mark.parametrize(("rules", "at_once", "later"), PAID)
async def test_a_payment_that_is_paid_at_once_sends(
    tmp_path: Path, rules: str, at_once: list[str], later: list[str]
) -> None:
    async with faulty_world(rules, tmp_path) as hooks:
        await hooks.pay(await hooks.emulator.create())
        await hooks.settle()
        assert hooks.types == [f"payment.{kind}" for kind in at_once]
        await hooks.advance(60)
        assert hooks.types == [f"payment.{kind}" for kind in (*at_once, *later)]
        sent = {
            (received.headers["webhook-id"], received.body) for received in hooks.receiver.received
        }
        assert len(sent) == len({*at_once, *later})
        assert len({delivery["id"] for delivery in await hooks.deliveries()}) == len(hooks.ids)


async def test_a_delay_is_measured_by_the_accounts_clock(tmp_path: Path) -> None:
    rules = "  - when: {event: payment.created}\n    then: {delay: 10s}"
    async with faulty_world(rules, tmp_path) as hooks:
        payment = await hooks.create()
        assert hooks.types == []
        assert await hooks.advance(9.999) == []
        await hooks.pay(payment)
        await hooks.settle()
        [effect] = await hooks.advance(0.001)
        assert effect["event_type"] == "payment.created"
        assert hooks.types == ["payment.processing", "payment.completed", "payment.created"]
        assert hooks.receiver.received[-1].json["timestamp"] == "2026-01-01T00:00:00.000Z"


async def test_a_dropped_delivery_is_listed_and_never_attempted(tmp_path: Path) -> None:
    rules = "  - when: {event: payment.completed}\n    then: {drop: true}"
    async with faulty_world(rules, tmp_path) as hooks:
        await hooks.pay(await hooks.emulator.create())
        await hooks.advance(100)
        assert hooks.types == ["payment.created", "payment.processing"]
        dropped = (await hooks.deliveries())[-1]
        assert dropped["type"] == "payment.completed"
        assert dropped["status"] == "dropped"
        assert dropped["attempts"] == []
        assert dropped["next_attempt_at"] is None
        path = f"/deliveries/{dropped['id']}/resend"
        assert (await hooks.emulator.done("POST", path))["status"] == "succeeded"
        assert hooks.types[-1] == "payment.completed"


async def test_a_held_delivery_follows_the_next_event_of_its_payment(tmp_path: Path) -> None:
    rules = "  - when: {event: payment.processing}\n    then: {hold: true}"
    async with faulty_world(rules, tmp_path) as hooks:
        payment = await hooks.emulator.create()
        await hooks.pay(payment, "0911223344")
        await hooks.settle()
        assert hooks.types == ["payment.created"]
        body = {"answer": "approve"}
        await hooks.emulator.control("POST", f"/payments/{payment['id']}/answer", body)
        await hooks.settle()
        assert hooks.types == ["payment.created", "payment.completed", "payment.processing"]


async def test_a_held_delivery_waits_for_a_minute_at_most(tmp_path: Path) -> None:
    rules = "  - when: {event: payment.processing}\n    then: {hold: true}"
    async with faulty_world(rules, tmp_path) as hooks:
        payment = await hooks.emulator.create(methods=["bank_transfer"])
        body = {"method": "bank_transfer", "bank": "walia_test"}
        await hooks.emulator.control("POST", f"/payments/{payment['id']}/pay", body)
        assert await hooks.advance(59.999) == []
        [effect] = await hooks.advance(0.001)
        assert effect["event_type"] == "payment.processing"


async def test_a_held_delivery_whose_handler_causes_the_next_event_is_sent_once(
    tmp_path: Path,
) -> None:
    async def answer(received: Received) -> Reply:
        if received.json["type"] == "payment.created":
            await hooks.pay(payment)
        return Reply()

    rules = "  - when: {event: payment.created}\n    then: {hold: true}"
    async with faulty_world(rules, tmp_path, answer) as hooks:
        payment = await hooks.emulator.create()
        effects = await hooks.advance(60)
        types = [effect["event_type"] for effect in effects]
        assert types == ["payment.created", "payment.processing", "payment.completed"]
        assert hooks.types == types


async def test_a_failed_resend_does_not_release_a_held_delivery(tmp_path: Path) -> None:
    rules = "  - when: {event: payment.created}\n    then: {hold: true}"
    async with faulty_world(rules, tmp_path, lambda _: Reply(status=500)) as hooks:
        payment = await hooks.emulator.create()
        [held] = await hooks.deliveries()
        await hooks.resend(held)
        hooks.receiver.answer = lambda _: Reply()
        await hooks.pay(payment)
        await hooks.settle()
        assert hooks.types == [
            "payment.created",
            "payment.processing",
            "payment.created",
            "payment.completed",
        ]


async def test_during_an_advance_a_create_call_waits_for_no_webhook(tmp_path: Path) -> None:
    """The handler that makes the call would have to answer first."""

    async def answer(received: Received) -> Reply:
        if received.json["type"] == "payment.expired":
            await hooks.emulator.create()
        return Reply()

    rules = "  - when: {event: payment.created}\n    then: {before_response: true}"
    async with faulty_world(rules, tmp_path, answer) as hooks:
        await hooks.emulator.create(expires_in=60)
        await hooks.advance(60)
        assert hooks.types == ["payment.created", "payment.expired", "payment.created"]


async def test_a_webhook_can_arrive_before_the_response_of_the_create_call(tmp_path: Path) -> None:
    async def answer(received: Received) -> Reply:
        assert not creating.done()
        seen.append(await hooks.emulator.retrieve(received.json["data"]["id"]))
        return Reply()

    seen: list[dict[str, Any]] = []
    rules = "  - when: {event: payment.created}\n    then: {before_response: true}"
    async with faulty_world(rules, tmp_path, answer) as hooks:
        creating = asyncio.create_task(hooks.emulator.create())
        assert seen == [] or creating.done()
        assert [await creating] == seen


async def test_the_create_call_waits_for_two_seconds_at_most(tmp_path: Path) -> None:
    rules = "  - when: {}\n    then: {before_response: true}"
    async with faulty_world(rules, tmp_path, lambda _: NEVER) as hooks:
        creating = asyncio.create_task(hooks.emulator.create())
        await hooks.receiver.wait_for(1)
        hooks.emulator.wall.move(1_999)
        await hooks.emulator.control("GET", "/events")
        assert not creating.done()
        hooks.emulator.wall.move(1)
        await creating


async def test_a_create_call_without_a_subscribed_endpoint_does_not_wait(tmp_path: Path) -> None:
    rules = "  - when: {}\n    then: {before_response: true}"
    async with faulty_world(
        rules, tmp_path, lambda _: NEVER, events=["payment.completed"]
    ) as hooks:
        await hooks.emulator.create()
        await hooks.emulator.create(LIVE_KEY)


@pytest.mark.parametrize("tamper", Tamper)
async def test_a_tampered_webhook_never_verifies_but_its_resend_does(
    tmp_path: Path, tamper: str
) -> None:
    rules = f"  - when: {{}}\n    then: {{tamper: {tamper}}}"
    async with scenario_world(tmp_path, odd=f"webhooks:\n{rules}") as emulator:
        # The library holds the timestamp against the real clock.
        emulator.wall.move(RealClock().now_ms() - emulator.wall.now_ms())
        async with webhook_world(lambda _: Reply(status=400), emulator) as hooks:
            library = Webhook(hooks.endpoint["secret"])
            await emulator.create()
            await hooks.advance(81)
            assert len(hooks.receiver.received) == 5
            for received in hooks.receiver.received:
                with pytest.raises(WebhookVerificationError):
                    library.verify(received.body, received.headers)
            [delivery] = await hooks.deliveries()
            assert {attempt["tampered"] for attempt in delivery["attempts"]} == {tamper}
            shown = [attempt["request"]["body"].encode() for attempt in delivery["attempts"]]
            assert shown == [received.body for received in hooks.receiver.received]
            resent = await hooks.resend(delivery)
            assert resent["attempts"][-1]["tampered"] is None
            genuine = hooks.receiver.received[-1]
            library.verify(genuine.body, genuine.headers)
            assert genuine.headers["webhook-id"] == delivery["event"]


@pytest.mark.parametrize("copies", [2, 20])
async def test_concurrent_copies_are_sent_before_the_first_response(
    tmp_path: Path, copies: int
) -> None:
    """Also more copies than there are concurrent attempts otherwise; the next event waits."""
    may_respond = asyncio.Event()
    rules = (
        f"  - when: {{event: payment.created}}\n    then: {{copies: {copies}, concurrent: true}}"
    )
    async with faulty_world(rules, tmp_path, reply_after(may_respond)) as hooks:
        payment = await hooks.emulator.create()
        await hooks.pay(payment)
        received = await hooks.receiver.wait_for(copies)
        await hooks.emulator.control("GET", "/events")
        assert len(hooks.receiver.received) == copies
        assert len({request.headers["webhook-id"] for request in received}) == 1
        may_respond.set()
        await hooks.settle()
        assert hooks.types[copies:] == ["payment.processing", "payment.completed"]


async def test_concurrent_copies_are_sent_together_in_an_advance(tmp_path: Path) -> None:
    both = asyncio.Barrier(2)

    async def answer(_: Received) -> Reply:
        await both.wait()
        return Reply(status=500)

    rules = "  - when: {event: payment.completed}\n"
    rules += "    then: {copies: 2, concurrent: true, delay: 5s}"
    async with faulty_world(rules, tmp_path, answer, events=["payment.completed"]) as hooks:
        await hooks.pay(await hooks.emulator.create())
        effects = await hooks.advance(6)
        assert [effect["number"] for effect in effects] == [1, 1, 2, 2]
        deliveries = [delivery["id"] for delivery in await hooks.deliveries()]
        assert [effect["delivery"] for effect in effects] == deliveries * 2


async def test_an_attempt_with_a_time_out_ends_then_and_its_resend_does_not(tmp_path: Path) -> None:
    rules = "  - when: {}\n    then: {timeout: 500ms}"
    async with faulty_world(rules, tmp_path, lambda _: NEVER) as hooks:
        await hooks.emulator.create()
        await hooks.receiver.wait_for(1)
        hooks.emulator.wall.move(499)
        [delivery] = await hooks.deliveries()
        assert delivery["attempts"] == []
        hooks.emulator.wall.move(1)
        await hooks.settle()
        [delivery] = await hooks.deliveries()
        assert delivery["attempts"][0]["error"] == "timed out after 0.5 s"
        resending = asyncio.create_task(hooks.resend(delivery))
        await hooks.receiver.wait_for(2)
        hooks.emulator.wall.move(14_999)
        await hooks.emulator.control("GET", "/events")
        assert not resending.done()
        hooks.emulator.wall.move(1)
        assert (await resending)["attempts"][-1]["error"] == "timed out after 15 s"
        dispatcher = hooks.emulator.app.engine.webhooks.dispatcher
        assert dispatcher.attempts.unanswered == 1


async def test_a_rule_is_used_once_for_an_event_with_several_deliveries(tmp_path: Path) -> None:
    rules = "  - when: {event: payment.created}\n    then: {copies: 2}\n    times: 2"
    async with faulty_world(rules, tmp_path) as hooks:
        await register(hooks.emulator, hooks.receiver.url)
        for _ in range(3):
            await hooks.create()
        assert len(hooks.receiver.received) == 4 + 4 + 2


async def test_a_rule_of_one_mode_does_not_affect_the_other(tmp_path: Path) -> None:
    rules = "  - when: {mode: live}\n    then: {drop: true}"
    async with faulty_world(rules, tmp_path) as hooks:
        await register(hooks.emulator, hooks.receiver.url, LIVE_KEY)
        await hooks.emulator.create()
        await hooks.emulator.create(LIVE_KEY)
        await hooks.settle()
        assert [received.json["mode"] for received in hooks.receiver.received] == ["test"]


# What a receiver sees of a payment that is paid, with each teaching file.
TAUGHT = {
    "concurrent-webhooks": ["created", "processing", "completed", "completed"],
    "duplicate-webhooks": ["created", "processing", "completed", "completed"],
    "delayed-webhooks": ["created", "processing", "completed"],
    "lost-webhooks": ["created", "processing"],
    "out-of-order-webhooks": ["created", "completed", "processing"],
    "early-webhooks": ["created", "processing", "completed"],
    "forged-webhooks": ["created", "processing", "completed"],
}


def test_every_shipped_webhook_file_is_tested() -> None:
    files = data_directory("scenarios").glob("*-webhooks.yaml")
    assert {path.stem for path in files} == set(TAUGHT)


@pytest.mark.parametrize("name", TAUGHT)
async def test_a_shipped_webhook_file_has_this_effect(name: str) -> None:
    async with webhook_world() as hooks:
        await hooks.emulator.done("PUT", f"/scenarios/{name}/enabled", {"enabled": True})
        payment = await hooks.emulator.create()
        early = len(hooks.receiver.received)
        await hooks.pay(payment)
        await hooks.settle()
        late = len(hooks.receiver.received)
        await hooks.advance(10)
        assert [kind.removeprefix("payment.") for kind in hooks.types] == TAUGHT[name]
        assert early == 1 or name != "early-webhooks"
        assert (late < len(hooks.types)) == (name == "delayed-webhooks")
        tampered = {
            attempt["tampered"]
            for delivery in await hooks.deliveries()
            for attempt in delivery["attempts"]
        }
        assert tampered == ({None, "body", "signature"} if name == "forged-webhooks" else {None})
