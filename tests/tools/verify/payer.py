"""A customer of `verify` who sends the forms of the real pages, and the webhooks of the run."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from emulator.http.received_webhooks import ReceivedWebhook, WebhookReceiver
from emulator.scenarios.webhook_form_file import shipped_form, webhook_form_json
from emulator.tools.verify.session import CollectedWebhooks, Session
from tests.server.checkout.reading import Page
from tests.server.checkout.visiting import Customer
from tests.server.engine.visitors import UNSCRIPTED
from tests.world import World

NUMBER = re.compile(r"\+251[0-9]{9}")


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a customer and a handler of webhooks see; a wrong server shows other things."""

    address: Callable[[str], str | None] = lambda address: address
    has_secret: bool = True
    sent_form: str = "standard"
    expected_form: str = "standard"
    webhooks: Callable[[ReceivedWebhook], Sequence[ReceivedWebhook]] = lambda webhook: [webhook]


async def follow(buyer: Customer, instruction: str) -> Page:
    """Do what `verify` prints; return the page on which the customer is."""
    if "cancel button" in instruction:
        page = await buyer.open()
        return await buyer.submit(page.form("/cancel"), page)
    if "bank" in instruction:
        page = await buyer.pay("bank_transfer", bank="walia_test")
        return await buyer.answer(page, "approve")
    number = NUMBER.search(instruction)
    return await buyer.pay("telebirr", phone=number[0] if number else UNSCRIPTED)


class Payer:
    """Follows each instruction at once; `lines` are all instructions."""

    # Within 15 s of the last event, so that no attempt to deliver it lasts too long.
    max_wait_ms = 44_000

    def __init__(self, emulator: World, key: str, seen: Seen) -> None:
        self.lines: list[str] = []
        self._emulator = emulator
        self._key = key
        self._seen = seen

    async def instruct(self, *lines: str) -> None:
        url, instruction = lines
        self.lines += lines
        path = urlsplit(re.sub(r".*(http\S+).*", r"\1", url)).path
        self._buyer = Customer(world=self._emulator, payment_id="", path=path, key=self._key)
        self._page = await follow(self._buyer, instruction)
        await self._emulator.advance(0, self._key)

    async def ask(self, _: str) -> str | None:
        await self._emulator.advance(0, self._key)
        page = self._page if self._page.refresh else await self._buyer.open("/wait")
        return self._seen.address((page.refresh or "").removeprefix("0;url="))


@asynccontextmanager
async def paying(emulator: World, session: Session, seen: Seen) -> AsyncIterator[None]:
    """Let a customer pay in a session, and receive the webhooks of its account."""
    received: list[ReceivedWebhook] = []
    async with WebhookReceiver() as receiver:
        await receiver.listen("127.0.0.1")
        path = receiver.register(
            lambda request: received.extend(seen.webhooks(request.read(webhook_form_json(form))))
        )
        form = shipped_form(seen.expected_form)
        endpoint = {"url": f"{receiver.base_url}{path}", "format": seen.sent_form}
        created = await emulator.done("POST", "/webhook_endpoints", endpoint, session.key)
        secret = created["secret"] if seen.has_secret else ""
        session.webhooks = CollectedWebhooks(received=received, secret=secret, form=form)
        session.customer = Payer(emulator, session.key, seen)
        yield
