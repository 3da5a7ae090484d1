"""The receiver of webhooks: what it takes, and what it believes."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx
import pytest
from standardwebhooks import Webhook as StandardWebhook

from emulator.replay.receiver import (
    MAX_BODY_BYTES,
    Arrival,
    Inbox,
    Receiver,
    receiving,
    signed,
)

SECRET = "whsec_" + b64encode(b"a secret of twenty-four b").decode()
BODY = b'{"type":"payment.created","data":{"id":"pay_1"}}'
WHEN = "1767225600"


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving("127.0.0.1") as receiver:
        yield receiver


def opened(receiver: Receiver) -> Inbox:
    inbox = receiver.open_inbox()
    inbox.secret = SECRET
    return inbox


def headers(signature: str, timestamp: str = WHEN) -> dict[str, str]:
    return {
        "webhook-id": "evt_1",
        "webhook-timestamp": timestamp,
        "webhook-signature": signature,
    }


def genuine(body: bytes = BODY) -> str:
    return signed(SECRET, f"evt_1.{WHEN}.".encode() + body)


async def deliver(inbox: Inbox, sent: dict[str, str], body: bytes = BODY) -> Arrival:
    async with httpx.AsyncClient(trust_env=False) as client:
        response = await client.post(inbox.url, content=body, headers=sent)
    assert response.status_code == 200
    return inbox.arrivals[-1]


async def test_a_signature_is_that_of_standard_webhooks(receiver: Receiver) -> None:
    inbox = opened(receiver)
    arrival = await deliver(inbox, headers(genuine()))
    assert arrival.is_genuine
    assert (arrival.id, arrival.timestamp, arrival.body) == ("evt_1", WHEN, BODY)
    assert (arrival.type, arrival.payment_id) == ("payment.created", "pay_1")


def test_it_signs_as_the_library_of_merchants_does() -> None:
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(int(WHEN), UTC)
    assert StandardWebhook(SECRET).sign("evt_1", at, BODY.decode()) == genuine()


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (headers(genuine()), BODY.replace(b"created", b"failed!")),
        (headers(genuine(), timestamp="1767222000"), BODY),
        (headers("v1,Zm9yZWlnbg=="), BODY),
        (headers(""), BODY),
        (headers("v1,ÿ"), BODY),
        ({}, BODY),
    ],
    ids=["body", "timestamp", "signature", "no signature", "no ASCII", "no headers"],
)
async def test_what_was_changed_after_signing_is_forged(
    receiver: Receiver, sent: dict[str, str], body: bytes
) -> None:
    encoded = {name: value.encode("latin-1") for name, value in sent.items()}
    arrival = await deliver(opened(receiver), encoded, body)  # type: ignore[arg-type]
    assert not arrival.is_genuine


async def test_one_good_signature_of_several_is_enough(receiver: Receiver) -> None:
    arrival = await deliver(opened(receiver), headers(f"v1,b2xk {genuine()}"))
    assert arrival.is_genuine


async def test_a_body_that_tells_of_no_event_is_taken_as_it_is(receiver: Receiver) -> None:
    inbox = opened(receiver)
    for body in (b"", b"[]", b'{"data":1}', b"\xff"):
        arrival = await deliver(inbox, headers(genuine(body)), body)
        assert (arrival.is_genuine, arrival.payment_id) == (True, None)


async def test_each_case_has_an_address_of_its_own(receiver: Receiver) -> None:
    one, other = opened(receiver), opened(receiver)
    other.step = 3
    await deliver(other, headers(genuine()))
    assert one.url != other.url
    assert one.arrivals == []
    assert [arrival.step for arrival in other.arrivals] == [3]


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"POST /99 HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
        b"POST /1 HTTP/1.1\r\ncontent-length: many\r\n\r\n",
        b"POST /1 HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1),
        b"POST /1 HTTP/1.1\r\ncontent-length: 10\r\n\r\nhalf",
        b"POST /1 HTTP/1.1\r\nx: " + b"a" * 70_000,
    ],
    ids=["no HTTP", "no inbox", "no length", "too large", "cut off", "too long a head"],
)
async def test_whoever_sends_no_webhook_is_hung_up_on(receiver: Receiver, sent: bytes) -> None:
    inbox = opened(receiver)
    host, port = inbox.url.removeprefix("http://").partition("/")[0].split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(sent)
    writer.write_eof()
    async with asyncio.timeout(60):
        with suppress(ConnectionError):  # It had not read all.
            assert await reader.read() == b""
    writer.close()
    assert inbox.arrivals == []
