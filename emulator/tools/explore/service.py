"""Calls the emulator of an exploration: payments, events, faults and the clock."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import Struct

from emulator.domain.payment_methods import customer_submission
from emulator.domain.user_error import UserError
from emulator.http import emulator_calls as calls
from emulator.http.client import EmulatorClient

# An advance may take this long.
MAX_CALL_S = 70
# A handler that reads payments more often is not of interest.
MAX_COUNTED = 20
# The new payments and events of all histories that run at the same time; mostly there are few.
MAX_SHARED = 100
NEWEST = (8, MAX_SHARED)
NEWEST_EVENTS = (*NEWEST, 1_000)


class ServiceEvent(Struct, frozen=True):
    """An event of a payment, in the bytes that are delivered."""

    id: str
    type: str
    body: bytes
    payment: str


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
        self._submission: Mapping[str, str] = {}

    async def event(self, event_type: str, payment_id: str) -> ServiceEvent:
        """An event of a payment. Raises UserError."""
        for limit in NEWEST_EVENTS:
            for raw in await self.call(_EVENTS(limit=limit)):
                # Most events are of other payments, and are not parsed.
                if payment_id.encode() in (body := bytes(raw)):
                    event = json.loads(body)
                    if (event["type"], event["data"]["id"]) == (event_type, payment_id):
                        return ServiceEvent(event["id"], event_type, body, payment_id)
        raise UserError(f"the payment {payment_id} has no {event_type}")

    async def submit(self, payment: Payment) -> None:
        """The customer submits a method that the payment offers: the last one, if it is offered."""
        pay = calls.PAY(payment["id"], body=self._submission)
        if not self._submission or not (await self._send(pay)).is_success:
            details = await self.call(calls.PAYMENT(payment["id"]))
            self._submission = customer_submission(details["methods"][0])
            await self.call(calls.PAY(payment["id"], body=self._submission))

    async def answer(self, payment: Payment, *, approves: bool) -> None:
        """The customer approves the payment, or cancels it; all payments offer the same methods."""
        no = "decline" if "bank" in self._submission else "cancel"
        body = {"answer": "approve" if approves else no}
        await self.call(calls.ANSWER(payment["id"], body=body))

    async def pay(self, payment: Payment) -> None:
        """The customer pays."""
        await self.submit(payment)
        await self.answer(payment, approves=True)

    async def change(self, payment_id: str, status: str, **more: bool) -> None:
        """Change the payment's status from outside."""
        await self.call(calls.TRANSITION(payment_id, body={"status": status, **more}))

    @asynccontextmanager
    async def fault(
        self, request: str, then: Mapping[str, Any], times: int = 1, **when: int
    ) -> AsyncIterator[Callable[[], Awaitable[bool]]]:
        """Apply a fault to the next `times` requests; yield whether it was applied to one."""
        rule = {"when": {"request": request, **when}, "then": then, "times": times}
        fault = await self.call(calls.ADD_FAULT(body=rule))

        async def has_applied() -> bool:
            faults = await self.call(calls.FAULTS())
            return any(each["used"] for each in faults if each["id"] == fault["id"])

        try:
            yield has_applied
        finally:
            await self.call(calls.DELETE_FAULT(fault["id"]))

    async def reads(self, path: str) -> set[str]:
        """The newest reads by the application, of a path that may end with a star."""
        listed = await self.call(calls.REQUESTS(limit=MAX_COUNTED, method="GET", path=path))
        return {entry["id"] for entry in listed}
