"""The section `checkout` of scenarios: the order of the customer's redirect and the webhook."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from emulator.domain.effects import MAX_REDIRECT_WAIT_MS
from emulator.server.engine.payments.customer import Submission
from emulator.settings import Settings
from tests.server.checkout.reading import Page
from tests.server.checkout.visiting import SUCCESS_URL, Customer, customer
from tests.server.engine.webhook_world import WebhookWorld, reply_after, webhook_world
from tests.server.webhooks.receiver import NEVER, Answer
from tests.world import World, world

COMPLETES = "0900000001"
LAST_EVENTS = ["payment.completed", "payment.processing", "payment.refunded"]
REDIRECTS = f"0;url={SUCCESS_URL}"


async def redirecting(emulator: World, then: dict[str, Any], **rule: Any) -> None:
    """Add a rule for the payments of these tests, after one that does not match."""
    when = {"phone": COMPLETES, "amount": 15_000, "method": "telebirr"}
    other = {"when": {**when, "amount": 1}, "then": {"redirect": "never"}}
    rules: dict[str, Any] = {"version": 1, "name": "back"}
    rules |= {"checkout": [other, {"when": when, "then": then, **rule}]}
    response = await emulator.control("PUT", "/scenarios/back", rules)
    assert response.status_code == 201, response.text


async def paid(emulator: World) -> Customer:
    """A customer whose payment completes at the submit; no page has been opened since."""
    buyer = await customer(emulator)
    engine = emulator.app.engine
    checkout = await engine.checkouts.open(buyer.path.rpartition("/")[2])
    submission = Submission(method="telebirr", phone=COMPLETES)
    await engine.customer.pay(checkout.owner, checkout.payment.id, submission)
    return buyer


@asynccontextmanager
async def shop(then: dict[str, Any], answer: Answer | None = None) -> AsyncIterator[WebhookWorld]:
    async with webhook_world(answer, events=["payment.completed"]) as hooks:
        await redirecting(hooks.emulator, then)
        yield hooks


async def opening(hooks: WebhookWorld, buyer: Customer) -> "asyncio.Task[Page]":
    """The request for the page after the submit, which waits."""
    task = asyncio.create_task(buyer.open("/wait"))
    for _ in range(3):
        await hooks.emulator.control("GET", "/events")
    return task


@pytest.mark.parametrize("status", [200, 500])
async def test_the_page_redirects_after_the_webhook_has_been_answered(status: int) -> None:
    may_respond = asyncio.Event()
    async with shop({"redirect": "after_webhook"}, reply_after(may_respond, status)) as hooks:
        page = await opening(hooks, await paid(hooks.emulator))
        await hooks.receiver.wait_for(1)
        assert not page.done()
        may_respond.set()
        assert (await page).refresh == REDIRECTS


async def test_the_page_redirects_after_a_failed_attempt_without_a_response() -> None:
    async with webhook_world() as hooks:
        await redirecting(hooks.emulator, {"redirect": "after_webhook"})
        path = f"/webhook_endpoints/{hooks.endpoint['id']}"
        await hooks.emulator.control("PATCH", path, {"url": "http://127.0.0.1:9/"})
        assert (await (await paid(hooks.emulator)).open("/wait")).refresh == REDIRECTS


async def test_the_page_waits_for_the_webhook_for_fifteen_seconds_at_most() -> None:
    async with shop({"redirect": "after_webhook"}, lambda _: NEVER) as hooks:
        delay = {"when": {}, "then": {"delay": "1h"}}
        late = {"version": 1, "name": "late", "webhooks": [delay]}
        await hooks.emulator.control("PUT", "/scenarios/late", late)
        buyer = await paid(hooks.emulator)
        hooks.emulator.wall.move(MAX_REDIRECT_WAIT_MS - 1)
        page = await opening(hooks, buyer)
        assert not page.done()
        hooks.emulator.wall.move(1)
        assert (await page).refresh == REDIRECTS


@pytest.mark.parametrize("moment", ["after_webhook", "before_webhook"])
async def test_without_an_endpoint_the_page_redirects_at_once(emulator: World, moment: str) -> None:
    await redirecting(emulator, {"redirect": moment})
    assert (await (await paid(emulator)).open("/wait")).refresh == REDIRECTS


async def test_the_webhook_is_sent_two_seconds_after_the_page() -> None:
    async with shop({"redirect": "before_webhook"}) as hooks:
        buyer = await paid(hooks.emulator)
        hooks.emulator.wall.move(MAX_REDIRECT_WAIT_MS - 1)
        assert (await buyer.open("/wait")).refresh == REDIRECTS
        for _ in range(2):
            # A reload does not start the delay again.
            hooks.emulator.wall.move(999)
            await buyer.open("/wait")
        assert hooks.types == []
        hooks.emulator.wall.move(2)
        await hooks.receiver.wait_for(1)


async def test_without_a_page_the_webhook_is_sent_after_fifteen_seconds() -> None:
    async with shop({"redirect": "before_webhook", "delay": "0s"}) as hooks:
        await paid(hooks.emulator)
        hooks.emulator.wall.move(MAX_REDIRECT_WAIT_MS - 1)
        await hooks.emulator.control("GET", "/events")
        assert hooks.types == []
        hooks.emulator.wall.move(1)
        await hooks.receiver.wait_for(1)


async def test_later_and_held_webhooks_follow_the_one_that_waits_for_the_page() -> None:
    async with webhook_world(events=LAST_EVENTS) as hooks:
        await redirecting(hooks.emulator, {"redirect": "before_webhook"})
        held = [{"when": {"event": "payment.processing"}, "then": {"hold": True}}]
        rules = {"version": 1, "name": "held", "webhooks": held}
        await hooks.emulator.control("PUT", "/scenarios/held", rules)
        buyer = await paid(hooks.emulator)
        path = "/payments/latest/transition"
        await hooks.emulator.control("POST", path, {"status": "refunded"})
        hooks.emulator.wall.move(MAX_REDIRECT_WAIT_MS - 1)
        assert (await buyer.open("/wait")).refresh is None
        assert hooks.types == []
        hooks.emulator.wall.move(1)
        await hooks.receiver.wait_for(3)
        assert hooks.types == LAST_EVENTS


@pytest.mark.parametrize("webhooks", ["wait", "background"])
async def test_an_advance_sends_the_webhook_without_a_page(webhooks: str) -> None:
    async with shop({"redirect": "before_webhook"}) as hooks:
        await paid(hooks.emulator)
        assert hooks.types == []
        body = {"seconds": 0} if webhooks == "wait" else {"seconds": 0, "webhooks": webhooks}
        await hooks.emulator.control("POST", "/clock/advance", body)
        await hooks.receiver.wait_for(1)


async def test_a_payment_that_completes_in_an_advance_waits_for_no_page() -> None:
    async with shop({"redirect": "before_webhook"}) as hooks:
        late = [{"when": {}, "then": [{"after": "5s", "status": "completed"}]}]
        rules = {"version": 1, "name": "late", "outcomes": late}
        await hooks.emulator.control("PUT", "/scenarios/late", rules)
        await hooks.pay(await hooks.emulator.create())
        await hooks.advance(5)
        assert hooks.types == ["payment.completed"]


async def test_the_page_of_a_customer_who_closes_the_tab_does_not_redirect() -> None:
    async with shop({"redirect": "never"}) as hooks:
        page = await (await paid(hooks.emulator)).open("/wait")
        assert (page.name, page.refresh) == ("result-completed", None)
        await hooks.receiver.wait_for(1)


async def test_a_redirect_survives_a_restart_and_belongs_to_a_snapshot(tmp_path: Path) -> None:
    settings = Settings(database=str(tmp_path / "shop.db"), seed=1)
    async with world(settings) as emulator:
        await redirecting(emulator, {"redirect": "never"})
        buyer = await paid(emulator)
        assert (await emulator.control("PUT", "/snapshots/paid")).status_code == 201
    async with world(settings) as emulator:
        again = Customer(world=emulator, payment_id=buyer.payment_id, path=buyer.path)
        assert (await again.open("/wait")).refresh is None
        await emulator.control("POST", "/snapshots/paid/restore")
        assert (await again.open("/wait")).refresh is None
