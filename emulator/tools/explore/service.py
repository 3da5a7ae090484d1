"""Calls the emulator of an exploration: payments, events, faults and the clock."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from emulator.domain.payment_methods import DEFAULT_METHODS, customer_submission
from emulator.http import emulator_calls as calls
from emulator.http.emulator_client import EmulatorClient

# An advance may take this long.
MAX_CALL_S = 70


class ExploreError(Exception):
    """The shop or the emulator cannot be used; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """An event, in the bytes that are delivered."""

    id: str
    type: str
    payment: str
    body: bytes


class _EventPage(msgspec.Struct):
    data: list[msgspec.Raw]


# The bytes of the events, which are delivered unchanged.
_EVENTS = calls.EmulatorCall(
    "GET", calls.EVENTS.path, lambda page: msgspec.json.decode(page.body, type=_EventPage).data
)
Payment = Mapping[str, Any]


class Service:
    """The account of an exploration in an emulator."""

    def __init__(self, client: EmulatorClient) -> None:
        self.base_url = client.base_url
        self.call, self._send = client.call, client.send
        # The method that was accepted last comes first.
        self._methods = list(DEFAULT_METHODS)

    async def payments(self, limit: int) -> Sequence[Payment]:
        """The newest payments, newest first."""
        return await self.call(calls.NEWEST_PAYMENTS(limit=limit))

    async def events(self, payment_id: str, *, limit: int) -> list[ServiceEvent]:
        """The newest events of a payment, oldest first, among the newest of the account."""
        events, sought = [], payment_id.encode()
        for raw in reversed(await self.call(_EVENTS(limit=limit))):
            # Most events are of other payments, and are not parsed.
            if sought in (body := bytes(raw)):
                event = json.loads(body)
                if event["data"]["id"] == payment_id:
                    events.append(ServiceEvent(event["id"], event["type"], payment_id, body))
        return events

    async def submit(self, payment: Payment) -> None:
        """The customer submits a method that the payment offers; a payment does not list them."""
        for method in self._methods[:-1]:
            call = calls.PAY(payment["id"], body=customer_submission(method))
            if (await self._send(call)).is_success:
                self._methods.remove(method)
                self._methods.insert(0, method)
                return
        submission = customer_submission(self._methods[-1])
        await self.call(calls.PAY(payment["id"], body=submission))

    async def answer(self, payment: Payment, *, approves: bool) -> None:
        """The customer approves the payment, or cancels it."""
        is_at_bank = "bank" in customer_submission(self._methods[0])
        answer = "approve" if approves else "decline" if is_at_bank else "cancel"
        await self.call(calls.ANSWER(payment["id"], body={"answer": answer}))

    async def change(self, payment_id: str, status: str, *, is_unusual: bool = False) -> None:
        """Change the payment's status from outside."""
        body = {"status": status} | ({"unusual": True} if is_unusual else {})
        await self.call(calls.TRANSITION(payment_id, body=body))

    @asynccontextmanager
    async def fault(
        self, request: str, then: Mapping[str, Any], times: int = 1, *, nth: int | None = None
    ) -> AsyncIterator[str]:
        """Apply a fault to the next `times` requests, or to the `nth`; yield its id."""
        when = {"request": request} | ({"nth": nth} if nth else {})
        rule = {"when": when, "then": then, "times": times}
        fault = await self.call(calls.ADD_FAULT(body=rule))
        try:
            yield str(fault["id"])
        finally:
            await self.call(calls.DELETE_FAULT(fault["id"]))

    async def has_applied(self, fault_id: str) -> bool:
        """Whether a fault was applied to a request."""
        faults = await self.call(calls.FAULTS())
        return any(fault["used"] for fault in faults if fault["id"] == fault_id)

    async def count_reads(self, payment_id: str) -> int:
        """How often the application has read a payment."""
        path = calls.RETRIEVE_PAYMENT(payment_id).path
        return int((await self.call(calls.REQUEST_COUNT(path=path)))["count"])

    async def last_request(self, path: str) -> str | None:
        """The id of the newest request with a path, which may end with a star."""
        listed = await self.call(calls.REQUESTS(limit=1, path=path))
        return next((str(entry["id"]) for entry in listed), None)

    @asynccontextmanager
    async def silent_endpoint(self, url: str | None) -> AsyncIterator[calls.Json | None]:
        """Disable the endpoint with a URL during the block, and yield it, if there is one.

        Explore delivers the events itself.
        """
        listed = await self.call(calls.ENDPOINTS)
        endpoint = next((each for each in listed if each["url"] == url), None)
        if endpoint is None:
            yield None
            return
        change = calls.CHANGE_ENDPOINT(endpoint["id"], body={"enabled": False})
        await self.call(change)
        try:
            yield endpoint
        finally:
            await self.call(replace(change, body={"enabled": endpoint["enabled"]}))
