"""What a test hears of webhooks, and what the merchant's own application is told."""

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import httpx
import pytest
from etb_payments_emulator_pytest import PaymentsAccount, Webhook
from standardwebhooks import Webhook as Library
from standardwebhooks import WebhookVerificationError

from tests.pytest_plugin.merchant import create

OF_A_PAID_PAYMENT = ["payment.created", "payment.processing", "payment.completed"]
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - of nobody


def types(account: PaymentsAccount) -> list[str]:
    return [webhook.type for webhook in account.webhooks]


def test_every_webhook_has_arrived_by_the_time_one_looks(payments_account: PaymentsAccount) -> None:
    payment_id = create(payments_account)
    payments_account.pay(payment_id)
    assert types(payments_account) == OF_A_PAID_PAYMENT
    for webhook, event in zip(payments_account.webhooks, payments_account.events, strict=True):
        assert webhook.event == event
        assert webhook.data == event["data"]
        assert webhook.payment == payment_id
        assert webhook.id == event["id"]
        assert webhook.is_verified


def test_what_falls_due_in_an_advance_has_arrived_with_it(
    payments_account: PaymentsAccount,
) -> None:
    create(payments_account, expires_in=60)
    effects = payments_account.advance("60s")
    assert [effect["type"] for effect in effects] == ["payment.expired"], "its own ear is no news"
    assert types(payments_account)[-1] == "payment.expired"


def test_what_is_verified_here_is_verified_by_the_library(
    payments_account: PaymentsAccount,
) -> None:
    payments_account.pay(create(payments_account))
    library = Library(payments_account.webhook_secret)
    for webhook in payments_account.webhooks:
        assert webhook.is_verified
        assert library.verify(webhook.body, dict(webhook.headers)) == webhook.event


@pytest.mark.parametrize("part", ["body", "signature", "timestamp"])
def test_what_is_forged_is_verified_neither_here_nor_by_the_library(
    payments_account: PaymentsAccount, part: str
) -> None:
    rule = {"when": {"event": "payment.completed"}, "then": {"tamper": part}}
    payments_account.use_scenario({"name": "forged", "webhooks": [rule]})
    payments_account.pay(create(payments_account))
    *genuine, forged = payments_account.webhooks
    assert [webhook.is_verified for webhook in (*genuine, forged)] == [True, True, False]
    with pytest.raises(WebhookVerificationError):
        Library(payments_account.webhook_secret).verify(forged.body, dict(forged.headers))
    assert "not verified" in repr(forged)


def test_a_duplicate_is_heard_twice(payments_account: PaymentsAccount) -> None:
    payments_account.use_scenario("duplicate-webhooks")
    payments_account.pay(create(payments_account))
    first, second = payments_account.webhooks[-2:]
    assert (first.id, first.body) == (second.id, second.body)


def test_a_webhook_whose_body_is_no_event_says_so_little() -> None:
    for body in (b"", b"[]", b'{"data": 3}'):
        webhook = Webhook(headers={}, body=body, is_verified=False)
        assert (webhook.id, webhook.payment, dict(webhook.data)) == ("", None, {})


def test_a_webhook_can_be_handed_on_to_a_test_client(payments_account: PaymentsAccount) -> None:
    library = Library(payments_account.webhook_secret)
    taken = []

    def handler(request: httpx.Request) -> httpx.Response:
        taken.append(library.verify(request.content, dict(request.headers)))
        return httpx.Response(204)

    payments_account.pay(create(payments_account))
    client = httpx.Client(transport=httpx.MockTransport(handler), base_url="http://shop.test")
    with client:
        for webhook in payments_account.webhooks:
            client.post("/webhooks", content=webhook.body, headers=webhook.headers)
    assert [event["type"] for event in taken] == OF_A_PAID_PAYMENT


async def test_an_application_on_the_loop_of_the_test_is_told_while_a_thread_waits(
    payments_account: PaymentsAccount,
) -> None:
    requests = []

    async def application(reader: StreamReader, writer: StreamWriter) -> None:
        requests.append((await reader.readline()).decode().strip())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(application, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        payments_account.deliver_to(f"http://127.0.0.1:{port}/hook", events=["payment.created"])
        create(payments_account)
        await asyncio.to_thread(payments_account.advance, "1s")
        assert requests == ["POST /hook HTTP/1.1"]


@dataclass
class Application:
    """A merchant's application: what it was sent, and what it answers, at first and then."""

    answers: list[int]
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


@contextmanager
def application(*answers: int) -> Iterator[Application]:
    app = Application(answers=list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            app.headers.append(dict(self.headers.items()))
            app.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response_only(app.answers.pop(0) if app.answers else 200)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        app.url = f"http://127.0.0.1:{server.server_port}/webhooks"
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield app
        finally:
            server.shutdown()
            thread.join()


def test_an_application_is_told_what_the_test_hears(payments_account: PaymentsAccount) -> None:
    with application() as app:
        endpoint = payments_account.deliver_to(app.url)
        payments_account.pay(create(payments_account))
        told = list(app.bodies)
        assert told == [webhook.body for webhook in payments_account.webhooks], "when one has paid"
        for headers, body in zip(app.headers, app.bodies, strict=True):
            assert Library(endpoint.secret).verify(body, headers) == json.loads(body)


def test_an_application_may_have_a_secret_and_events_of_its_own(
    payments_account: PaymentsAccount,
) -> None:
    with application() as app:
        endpoint = payments_account.deliver_to(app.url, secret=SECRET, events=["payment.completed"])
        payments_account.pay(create(payments_account))
        assert types(payments_account) == OF_A_PAID_PAYMENT
    assert (endpoint.url, endpoint.secret) == (app.url, SECRET)
    assert [json.loads(body)["type"] for body in app.bodies] == ["payment.completed"]


def test_a_failed_delivery_is_tried_again_as_time_passes(payments_account: PaymentsAccount) -> None:
    with application(500, 503) as app:
        payments_account.deliver_to(app.url, events=["payment.created"])
        create(payments_account)
        effects = payments_account.advance("1m")
        [delivery] = payments_account.deliveries
        assert [attempt["status"] for attempt in delivery["attempts"]] == [500, 503, 200]
        assert [effect["response_status"] for effect in effects] == [503, 200]
        assert len(payments_account.webhooks) == 1, "what the test hears needs no second attempt"
