"""Webhooks that tests receive, and webhooks to the merchant's application."""

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

import httpx
import pytest
from etb_payments_emulator_pytest import PaymentsAccount, PaymentsEmulatorError
from standardwebhooks import Webhook as Library
from standardwebhooks import WebhookVerificationError

from emulator.pytest_plugin.account import failure_report
from tests.cli.invocation import webhook_receiver
from tests.pytest_plugin.merchant import create

PAID_TYPES = ["payment.created", "payment.processing", "payment.completed"]
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - published


def types(account: PaymentsAccount) -> list[str]:
    return [webhook.type for webhook in account.webhooks]


def test_all_webhooks_have_arrived_when_they_are_read(account: PaymentsAccount) -> None:
    payment_id = create(account)
    account.pay(payment_id)
    assert types(account) == PAID_TYPES
    for webhook, event in zip(account.webhooks, account.events, strict=True):
        assert webhook.event == event
        assert webhook.data == event["data"]
        assert webhook.payment == payment_id
        assert webhook.id == event["id"]
        assert webhook.is_verified


def test_new_webhooks_are_those_since_the_last_call(account: PaymentsAccount) -> None:
    payment_id = create(account)
    assert [webhook.type for webhook in account.new_webhooks()] == PAID_TYPES[:1]
    account.pay(payment_id)
    new = account.new_webhooks()
    assert [webhook.type for webhook in new] == PAID_TYPES[1:]
    assert [Library(account.webhook_secret).verify(each.body, dict(each.headers)) for each in new]
    assert account.new_webhooks() == []
    account.reset()
    account.pay(create(account))
    assert [webhook.type for webhook in account.new_webhooks()] == PAID_TYPES


def test_webhooks_that_become_due_arrive_within_an_advance(account: PaymentsAccount) -> None:
    create(account, expires_in=60)
    # Its own deliveries are hidden.
    assert [effect["type"] for effect in account.advance("60s")] == ["payment.expired"]
    assert types(account)[-1] == "payment.expired"


@pytest.mark.parametrize("part", ["body", "signature", "timestamp"])
def test_forged_webhooks_verify_neither_here_nor_with_the_library(
    account: PaymentsAccount, part: str
) -> None:
    rule = {"when": {"event": "payment.completed"}, "then": {"tamper": part}}
    account.use_scenario({"name": "forged", "webhooks": [rule]})
    account.pay(create(account))
    *genuine, forged = account.webhooks
    assert [webhook.is_verified for webhook in (*genuine, forged)] == [True, True, False]
    with pytest.raises(WebhookVerificationError):
        Library(account.webhook_secret).verify(forged.body, dict(forged.headers))
    assert "not verified" in repr(forged)


def test_a_duplicate_is_received_twice(account: PaymentsAccount) -> None:
    account.use_scenario("duplicate-webhooks")
    account.pay(create(account))
    first, second = account.webhooks[-2:]
    assert (first.id, first.body) == (second.id, second.body)


def test_a_webhook_can_be_passed_to_a_test_client(account: PaymentsAccount) -> None:
    library = Library(account.webhook_secret)
    events = []

    def handler(request: httpx.Request) -> httpx.Response:
        events.append(library.verify(request.content, dict(request.headers)))
        return httpx.Response(204)

    account.pay(create(account))
    client = httpx.Client(transport=httpx.MockTransport(handler), base_url="http://shop.test")
    with client:
        for webhook in account.webhooks:
            client.post("/webhooks", content=webhook.body, headers=webhook.headers)
    assert [event["type"] for event in events] == PAID_TYPES


@asynccontextmanager
async def application_on_this_loop() -> AsyncIterator[tuple[str, list[str]]]:
    """The URL of an application, and the first lines of the requests to it."""
    requests = []

    async def respond(reader: StreamReader, writer: StreamWriter) -> None:
        requests.append((await reader.readline()).decode().strip())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(respond, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook", requests


async def test_an_application_on_the_event_loop_of_the_test_receives_webhooks_while_a_thread_waits(
    account: PaymentsAccount,
) -> None:
    async with application_on_this_loop() as (url, requests):
        account.deliver_to(url, events=["payment.created"])
        create(account)
        await asyncio.to_thread(account.advance, "1s")
        assert requests == ["POST /hook HTTP/1.1"]


WAITS: list[Callable[[PaymentsAccount, str], object]] = [
    lambda account, payment_id: account.pay(payment_id),
    lambda account, payment_id: account.transition(payment_id, "expired"),
    lambda account, _: account.advance("1s"),
    lambda account, _: account.advance("next"),
    lambda account, _: account.webhooks,
    lambda account, _: account.deliveries,
    lambda account, _: account.checklist(),
]


async def test_a_call_that_would_block_the_event_loop_of_the_application_is_refused(
    account: PaymentsAccount,
) -> None:
    async with application_on_this_loop() as (url, requests):
        payment_id = create(account)
        account.deliver_to(url)
        for wait in WAITS:
            with pytest.raises(PaymentsEmulatorError) as raised:
                wait(account, payment_id)
            assert url in str(raised.value)
            assert "await asyncio.to_thread(payments_account.pay, payment_id)" in str(raised.value)
        assert account.payment(payment_id)["status"] == "pending", "nothing has happened"
        await asyncio.to_thread(account.pay, payment_id)
        assert len(requests) == len(PAID_TYPES) - 1


async def test_calls_in_an_asynchronous_test_wait_for_applications_elsewhere(
    account: PaymentsAccount,
) -> None:
    with application() as app:
        account.deliver_to(app.url)
        async with application_on_this_loop():
            account.pay(create(account))
            assert len(app.bodies) == len(account.webhooks) == len(PAID_TYPES)


def test_a_report_does_not_wait_for_an_application_whose_event_loop_has_stopped(
    account: PaymentsAccount,
) -> None:
    with asyncio.Runner() as runner:
        server = application_on_this_loop()
        url, _ = runner.run(server.__aenter__())
        account.deliver_to(url)
        create(account)
        report = failure_report(account)
        runner.run(server.__aexit__(None, None, None))
    assert report.splitlines()[-1].startswith("webhooks  payment.created to ")


@dataclass
class Application:
    """A merchant's application: the requests to it, and its statuses before 200."""

    statuses: list[int]
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


@contextmanager
def application(*statuses: int) -> Iterator[Application]:
    app = Application(statuses=list(statuses))

    def receive(request: BaseHTTPRequestHandler, body: bytes) -> int:
        app.headers.append(dict(request.headers.items()))
        app.bodies.append(body)
        return app.statuses.pop(0) if app.statuses else 200

    with webhook_receiver(receive) as url:
        app.url = f"{url}/webhooks"
        yield app


def test_an_application_receives_the_webhooks_of_the_test(account: PaymentsAccount) -> None:
    with application() as app:
        endpoint = account.deliver_to(app.url)
        account.pay(create(account))
        bodies = list(app.bodies)
        assert bodies == [webhook.body for webhook in account.webhooks], "after pay()"
        for headers, body in zip(app.headers, app.bodies, strict=True):
            assert Library(endpoint.secret).verify(body, headers) == json.loads(body)


def test_an_application_can_have_its_own_secret_and_events(account: PaymentsAccount) -> None:
    with application() as app:
        endpoint = account.deliver_to(app.url, secret=SECRET, events=["payment.completed"])
        account.pay(create(account))
        assert types(account) == PAID_TYPES
    assert (endpoint.url, endpoint.secret) == (app.url, SECRET)
    assert [json.loads(body)["type"] for body in app.bodies] == ["payment.completed"]


def test_a_failed_delivery_is_repeated_as_time_passes(account: PaymentsAccount) -> None:
    with application(500, 503) as app:
        account.deliver_to(app.url, events=["payment.created"])
        create(account)
        effects = account.advance("1m")
        [delivery] = account.deliveries
        assert [attempt["status"] for attempt in delivery["attempts"]] == [500, 503, 200]
        assert [effect["response_status"] for effect in effects] == [503, 200]
        assert len(account.webhooks) == 1, "the test itself needs no second attempt"
