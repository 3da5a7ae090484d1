"""`GET /_emulator/stream`: what happens, as server-sent events (design, section 10)."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import pytest

from emulator.server.control.events import _encoded
from emulator.server.engine.accounts.activity import MIN_INTERVAL_MS, StreamMessage
from tests.asgi import asgi
from tests.server.engine.webhook_world import WebhookWorld, webhook_world
from tests.world import LIVE_KEY, OTHER_TEST_KEY, World, world

Message = tuple[str, dict[str, Any]]
END: Message = ("end", {})


@asynccontextmanager
async def listening(
    emulator: World, query: str = "", *, reads: asyncio.Event | None = None
) -> AsyncIterator[asyncio.Queue[Message]]:
    """The messages of a stream; the first has arrived when the block begins.

    `END` follows the last. After the first, the client reads when `reads` is set.
    """
    received: asyncio.Queue[Message] = asyncio.Queue()
    begun = asyncio.Event()
    app = asgi(emulator.app)

    async def send(message: Any) -> None:
        if begun.is_set() and reads is not None:
            await reads.wait()
        for text in message.get("body", b"").decode().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in text.splitlines())
            if fields:
                received.put_nowait((fields["event"], json.loads(fields["data"])))
                begun.set()
        if begun.is_set() and not message.get("more_body", True):
            received.put_nowait(END)

    async def receive() -> Any:
        return await asyncio.Future()

    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": "/_emulator/stream",
        "raw_path": b"/_emulator/stream",
        "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1:8080")],
        "server": ("127.0.0.1", 8080),
    }
    task = asyncio.create_task(app(scope, receive, send))
    try:
        await begun.wait()
        yield received
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def next_message(
    emulator: World,
    received: asyncio.Queue[Message],
    kind: str,
    *,
    skipped: list[str] | None = None,
) -> Any:
    """The data of the next message of a kind; the kinds of those before it are `skipped`."""
    while True:
        waiting = asyncio.create_task(received.get())
        while not waiting.done():
            await emulator.wall.waited_for()
            emulator.wall.move(MIN_INTERVAL_MS)
        found, data = waiting.result()
        if found == kind:
            return data
        if skipped is not None:
            skipped.append(found)


async def test_the_stream_begins_with_the_version(emulator: World) -> None:
    async with listening(emulator) as received:
        health = await emulator.api.get("/_emulator/health")
        assert await received.get() == ("hello", {"version": health.json()["version"]})


async def test_a_client_connects_again_after_a_second() -> None:
    assert [chunk async for chunk in _encoded(_two_messages())] == [
        "retry: 1000\nevent: hello\ndata: {}\nid: 7-False-\n\n",
        "event: clock\ndata: {}\nid: 1.5\n\n",
    ]


async def _two_messages() -> AsyncIterator[StreamMessage]:
    yield StreamMessage("hello", "{}", "7-False-")
    yield StreamMessage("clock", "{}", "1.5")


async def test_a_new_payment_and_its_request_are_streamed(emulator: World) -> None:
    async with listening(emulator) as received:
        payment = await emulator.create()
        change = await next_message(emulator, received, "payments")
        assert change["count"] == 1
        assert change["events"][0]["type"] == "payment.created"
        assert change["events"][0]["data"]["id"] == payment["id"]
        await next_message(emulator, received, "requests")


async def test_a_failed_attempt_is_streamed_without_an_event(emulator: World) -> None:
    rules = {"version": 1, "name": "page", "checkout": [{"when": {}, "then": {"attempts": 2}}]}
    await emulator.done("PUT", "/scenarios/page", rules)
    payment = await emulator.create()
    async with listening(emulator) as received:
        await emulator.pay(payment, "0900000002")
        change = await next_message(emulator, received, "payments")
        assert change["count"] == 2
        assert [event["type"] for event in change["events"]] == ["payment.processing"]


async def _retrieve(hooks: WebhookWorld, payment: dict[str, Any]) -> None:
    await hooks.emulator.retrieve(payment["id"])


async def _expire(hooks: WebhookWorld, payment: dict[str, Any]) -> None:
    await hooks.emulator.transition(payment, "expired")


async def _resend(hooks: WebhookWorld, payment: dict[str, Any]) -> None:
    [delivery] = await hooks.deliveries(f"?payment={payment['id']}")
    await hooks.resend(delivery)


async def _drop(hooks: WebhookWorld, payment: dict[str, Any]) -> None:
    await hooks.emulator.control("PUT", "/deliveries/paused", {"paused": True})
    await _expire(hooks, payment)
    [_, delivery] = await hooks.deliveries(f"?payment={payment['id']}")
    await hooks.emulator.control("POST", f"/deliveries/{delivery['id']}/drop")


@pytest.mark.parametrize(
    ("change", "kind"),
    [(_retrieve, "requests"), (_resend, "payments"), (_expire, "payments"), (_drop, "payments")],
)
async def test_the_stream_of_a_payment_has_only_what_concerns_it(
    change: Callable[[WebhookWorld, dict[str, Any]], Awaitable[None]], kind: str
) -> None:
    async with webhook_world() as hooks:
        payment, other = [await hooks.create() for _ in range(2)]
        async with listening(hooks.emulator, f"payment={payment['id']}") as received:
            await received.get()
            await hooks.create()
            await _retrieve(hooks, other)
            await _resend(hooks, other)
            await _expire(hooks, other)
            assert await _kinds(hooks, received) == set()
            await change(hooks, payment)
            assert await _kinds(hooks, received) == {kind}


async def _kinds(hooks: WebhookWorld, received: asyncio.Queue[Message]) -> set[str]:
    """The kinds of the messages about what has happened, and about no setting."""
    await hooks.settle()
    kinds: list[str] = []
    # A message of the second change is in a later group than what follows that of the first one.
    for is_enabled in (True, False):
        path = "/scenarios/late-success/enabled"
        await hooks.emulator.control("PUT", path, {"enabled": is_enabled})
        await next_message(hooks.emulator, received, "rules", skipped=kinds)
    return {*kinds} - {"clock"}


async def test_the_stream_of_an_unknown_payment_is_refused(emulator: World) -> None:
    response = await emulator.control("GET", "/stream?payment=pay_none")
    assert response.json()["error"]["code"] == "payment_not_found"


async def test_a_page_has_the_revision_of_its_stream(emulator: World) -> None:
    """They are equal, unless something has changed in between."""
    owner, seen = emulator.app.engine.accounts.first.test, set()
    changes = [partial(emulator.control, *change) for change in CHANGES.values()]
    for change in (*changes, emulator.create, emulator.payments):
        await change()
        page = await emulator.api.get("/_emulator/view/payments", headers={"Accept": "text/html"})
        (shown,) = re.findall(r'data-revision="([^"]*)"', page.text)
        assert shown == emulator.app.engine.activity.revision(owner)
        assert shown not in seen
        seen.add(shown)


async def test_other_accounts_and_modes_are_not_streamed(emulator: World) -> None:
    async with listening(emulator) as received:
        await emulator.create(OTHER_TEST_KEY)
        await emulator.create(LIVE_KEY)
        mine = await emulator.create()
        change = await next_message(emulator, received, "payments")
        assert [event["data"]["id"] for event in change["events"]] == [mine["id"]]
        assert change["count"] == 1


CHANGES = {
    "clock": ("PUT", "/clock", {"rate": 2}),
    "rules": ("PUT", "/scenarios/late-success/enabled", {"enabled": True}),
    "endpoints": ("POST", "/webhook_endpoints", {"url": "http://127.0.0.1:1/"}),
    "deliveries": ("PUT", "/deliveries/paused", {"paused": True}),
}


@pytest.mark.parametrize("kind", CHANGES)
async def test_each_kind_of_change_has_a_message(emulator: World, kind: str) -> None:
    async with listening(emulator) as received:
        response = await emulator.control(*CHANGES[kind])
        assert response.is_success, response.text
        await next_message(emulator, received, kind)


async def test_many_changes_are_one_message(emulator: World) -> None:
    async with listening(emulator) as received:
        for _ in range(30):
            await emulator.create()
        change = await next_message(emulator, received, "payments")
        assert (change["count"], len(change["events"])) == (30, 25)


async def test_changes_while_a_client_does_not_read_are_one_message(emulator: World) -> None:
    reads = asyncio.Event()
    async with listening(emulator, reads=reads) as slow, listening(emulator) as fast:
        counts: list[int] = []
        for _ in range(4):
            await emulator.create()
            await next_message(emulator, fast, "payments")
        reads.set()
        while sum(counts) < 4:
            counts.append((await next_message(emulator, slow, "payments"))["count"])
        assert len(counts) == 2


async def test_the_stream_of_a_deleted_account_ends(emulator: World) -> None:
    account = await emulator.done("POST", "/accounts", {})
    async with listening(emulator, f"account={account['id']}") as received:
        await emulator.control("DELETE", f"/accounts/{account['id']}")
        emulator.wall.move(MIN_INTERVAL_MS)
        await received_until(received, END)


async def test_a_reset_is_streamed(emulator: World) -> None:
    await emulator.create()
    async with listening(emulator) as received:
        await emulator.control("POST", "/reset")
        assert await next_message(emulator, received, "payments") == {"count": 0, "events": []}


async def test_streams_end_with_the_program() -> None:
    async with AsyncExitStack() as stack:
        async with world() as emulator:
            received = await stack.enter_async_context(listening(emulator))
        await received_until(received, END)


async def received_until(received: asyncio.Queue[Message], last: Message) -> None:
    while await received.get() != last:
        pass
