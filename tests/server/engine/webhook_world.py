"""A world with a webhook endpoint, and its receiver."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from tests.server.webhooks.receiver import Answer, Received, Receiver, Reply, receiving
from tests.world import APPROVES, TEST_KEY, World, world

TIMES_OUT = "+251900000003"


@dataclass(frozen=True, kw_only=True)
class WebhookWorld:
    """A program, a receiver, and the endpoint that leads from the one to the other."""

    emulator: World
    receiver: Receiver
    endpoint: dict[str, Any]

    @property
    def types(self) -> list[str]:
        """What was received, in the order of arrival."""
        return [received.json["type"] for received in self.receiver.received]

    @property
    def ids(self) -> list[str]:
        return [received.headers["webhook-id"] for received in self.receiver.received]

    async def pay(self, payment: dict[str, Any], phone: str = APPROVES) -> None:
        await self.emulator.pay(payment, phone)

    async def advance(self, seconds: float) -> list[dict[str, Any]]:
        """The effects."""
        advanced = await self.emulator.advance(seconds)
        assert advanced["settled"]
        return list(advanced["effects"])

    async def settle(self) -> None:
        """Return when all that is due now has been attempted."""
        assert await self.advance(0) == []

    async def create(self, **changes: Any) -> dict[str, Any]:
        """Create a payment and wait for the attempts that are due."""
        payment = await self.emulator.create(**changes)
        await self.settle()
        return payment

    async def resend(self, delivery: dict[str, Any]) -> dict[str, Any]:
        return dict(await self.emulator.done("POST", f"/deliveries/{delivery['id']}/resend"))

    async def deliveries(self, query: str = "") -> list[dict[str, Any]]:
        """Oldest first."""
        return list((await self.emulator.shown(f"/deliveries{query}"))["data"][::-1])


async def register(emulator: World, url: str, key: str = TEST_KEY, **terms: Any) -> dict[str, Any]:
    return dict(await emulator.done("POST", "/webhook_endpoints", {"url": url, **terms}, key))


@asynccontextmanager
async def webhook_world(
    answer: Answer | None = None, emulator: World | None = None, **terms: Any
) -> AsyncIterator[WebhookWorld]:
    """A world, or the given one, with an endpoint of its first account's test mode."""
    async with (
        world() if emulator is None else nullcontext(emulator) as emulator,
        receiving(answer) as receiver,
    ):
        endpoint = await register(emulator, receiver.url, **terms)
        yield WebhookWorld(emulator=emulator, receiver=receiver, endpoint=endpoint)


def reply_after(event: asyncio.Event, status: int = 200) -> Answer:
    """Each response waits for the event."""

    async def answer(_: Received) -> Reply:
        await event.wait()
        return Reply(status=status)

    return answer


def attempts_in(effects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [effect for effect in effects if effect["type"] == "webhook.attempt"]
