"""A shop of an account with variants, as it sees responses and webhooks."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from tests.connection import Connection
from tests.server.api.calls import PAYMENTS
from tests.server.webhooks.receiver import Receiver, receiving
from tests.world import APPROVES, START, World, order, world

KEY = "test_shop"
# So that no fraction of a second is zero.
CLOCK = f"frozen@{START.replace('Z', '.123Z')}"


class Answer(NamedTuple):
    """A response as it was sent, or a webhook, without a status line."""

    body: bytes
    headers: dict[str, str]
    status_line: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def status(self) -> int:
        return int(self.status_line.split(" ")[1])

    @property
    def variants(self) -> list[str]:
        """Those that the response names."""
        return list(filter(None, self.headers.get("emulator-variant", "").split(",")))


class Shop:
    """Sends each request on a connection of its own."""

    def __init__(self, emulator: World, receiver: Receiver) -> None:
        self.emulator = emulator
        self._receiver = receiver

    async def send(self, path: str, body: object = None, key: str = KEY) -> Answer:
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nhost: localhost\r\n"
            f"authorization: Bearer {key}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(content)}\r\n\r\n"
        )
        connection = Connection(self.emulator)
        await connection.send(head.encode() + content)
        await connection.ended()
        lines, _, sent = bytes(connection.transport.sent).partition(b"\r\n\r\n")
        status_line, *headers = lines.decode().split("\r\n")
        return Answer(sent, dict(line.split(": ", 1) for line in headers), status_line)

    async def create(self, **changes: object) -> Answer:
        return await self.send(PAYMENTS, order(**changes))

    async def replay(self) -> Answer:
        """The second response to a create call."""
        await self.create(idempotency_key="order-1")
        return await self.create(idempotency_key="order-1")

    async def conflict(self) -> Answer:
        await self.create(idempotency_key="order-1")
        return await self.create(idempotency_key="order-1", amount=999)

    async def page(self) -> Answer:
        """The last page of two payments of one instant."""
        await self.create()
        await self.create()
        return await self.send(f"{PAYMENTS}?limit=10")

    async def unknown(self) -> Answer:
        return await self.send(f"{PAYMENTS}/pay_unknown")

    async def busy(self) -> Answer:
        """A conflict that can be repeated after a second."""
        fault = {"when": {"request": "list_payments"}, "then": {"status": 409}}
        await self.control("POST", "/faults", fault)
        return await self.send(PAYMENTS)

    async def control(self, method: str, path: str, body: object = None) -> Any:
        return await self.emulator.done(method, path, body, KEY)

    async def webhook(self) -> Answer:
        """The first webhook about a new payment."""
        return (await self.webhooks())[0]

    async def webhooks(self) -> list[Answer]:
        """The webhooks about a payment that is paid."""
        payment = (await self.create()).json
        await self.emulator.pay(payment, APPROVES, key=KEY)
        await self.control("POST", "/clock/advance", {"seconds": 0})
        return [Answer(received.body, received.headers) for received in self._receiver.received]


@asynccontextmanager
async def shop(
    vary: str | int | None = None, *, of_program: str = "off", form: str = "standard"
) -> AsyncIterator[Shop]:
    """The shop of a new account; the variants of the program are those of `serve --vary`."""
    async with world(vary=of_program) as emulator, receiving() as receiver:
        account = {"vary": vary, "clock": CLOCK, "test_key": KEY, "live_key": "live_shop"}
        await emulator.done("POST", "/accounts", account)
        await emulator.done(
            "POST", "/webhook_endpoints", {"url": receiver.url, "format": form}, KEY
        )
        yield Shop(emulator, receiver)
