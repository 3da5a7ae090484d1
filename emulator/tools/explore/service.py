"""Sends the requests of an exploration to the emulator: payments, events, faults and the clock."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from emulator.domain.payment_methods import DEFAULT_METHODS, customer_submission
from emulator.http.addresses import BaseUrl
from emulator.http.client import HttpResponse
from emulator.tools.explore.connections import Connections, Request

CONTROL = "/_emulator"
PAYMENTS = "/v1/payments"
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


Payment = Mapping[str, Any]


class Service:
    """The account of an exploration in an emulator."""

    def __init__(self, base_url: BaseUrl, key: str, connections: Connections) -> None:
        self.base_url = base_url
        self._headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        self._connections = connections
        # The method that was accepted last comes first.
        self._methods = list(DEFAULT_METHODS)

    async def payments(self, limit: int) -> list[Payment]:
        """The newest payments, newest first."""
        page = await self._call("GET", f"{CONTROL}/payments?limit={limit}")
        return list(page["data"])

    async def events(self, payment_id: str, *, limit: int) -> list[ServiceEvent]:
        """The newest events of a payment, oldest first, among the newest of the account."""
        response = await self._send("GET", f"{CONTROL}/events?limit={limit}")
        events, sought = [], payment_id.encode()
        for raw in reversed(msgspec.json.decode(response.body, type=_EventPage).data):
            # Most events are of other payments, and are not parsed.
            if sought in (body := bytes(raw)):
                event = json.loads(body)
                if event["data"]["id"] == payment_id:
                    events.append(ServiceEvent(event["id"], event["type"], payment_id, body))
        return events

    async def submit(self, payment: Payment) -> None:
        """The customer submits a method that the payment offers; a payment does not list them."""
        path = f"{CONTROL}/payments/{payment['id']}/pay"
        for method in self._methods[:-1]:
            response = await self._request("POST", path, customer_submission(method))
            if response.is_success:
                self._methods.remove(method)
                self._methods.insert(0, method)
                return
        await self._call("POST", path, customer_submission(self._methods[-1]))

    async def answer(self, payment: Payment, *, approves: bool) -> None:
        """The customer approves the payment, or cancels it."""
        is_at_bank = "bank" in customer_submission(self._methods[0])
        answer = "approve" if approves else "decline" if is_at_bank else "cancel"
        await self._call("POST", f"{CONTROL}/payments/{payment['id']}/answer", {"answer": answer})

    async def change(self, payment_id: str, status: str, *, is_unusual: bool = False) -> None:
        """Change the payment's status from outside."""
        body = {"status": status} | ({"unusual": True} if is_unusual else {})
        await self._call("POST", f"{CONTROL}/payments/{payment_id}/transition", body)

    async def create(self, body: Mapping[str, Any]) -> Payment:
        """Create a payment beside the shop's."""
        return dict(await self._call("POST", PAYMENTS, body))

    async def advance_until(self, instant: str) -> None:
        await self._call("POST", f"{CONTROL}/clock/advance", {"until": instant})

    @asynccontextmanager
    async def fault(self, request: str, then: Mapping[str, Any], times: int) -> AsyncIterator[None]:
        """Apply a fault to the next `times` requests of the block."""
        if not times:
            yield
            return
        rule = {"when": {"request": request}, "then": then, "times": times}
        fault = await self._call("POST", f"{CONTROL}/faults", rule)
        try:
            yield
        finally:
            await self._send("DELETE", f"{CONTROL}/faults/{fault['id']}")

    async def last_request(self, path: str) -> str | None:
        """The id of the newest request with a path, which may end with a star."""
        listed = await self._call("GET", f"{CONTROL}/requests?limit=1&path={path}")
        return next((str(entry["id"]) for entry in listed["data"]), None)

    @asynccontextmanager
    async def silent_endpoint(self, url: str | None, secret: str) -> AsyncIterator[str]:
        """Disable the endpoint with a URL during the block; yield its secret.

        Explore delivers the events itself. Without such an endpoint, yields `secret`.
        """
        listed = await self._call("GET", f"{CONTROL}/webhook_endpoints")
        endpoint = next((each for each in listed["data"] if each["url"] == url), None)
        if endpoint is None:
            yield secret
            return
        path = f"{CONTROL}/webhook_endpoints/{endpoint['id']}"
        await self._call("PATCH", path, {"enabled": False})
        try:
            yield str(endpoint["secret"])
        finally:
            await self._call("PATCH", path, {"enabled": endpoint["enabled"]})

    async def _call(self, method: str, path: str, body: object = None) -> Any:
        return (await self._send(method, path, body)).json

    async def _send(self, method: str, path: str, body: object = None) -> HttpResponse:
        response = await self._request(method, path, body)
        if response.is_refused:
            raise ExploreError(f"cannot reach the emulator at {self.base_url}: {response.failure}")
        if not response.is_success:
            error = response.json.get("error", {}) if isinstance(response.json, dict) else {}
            reason = response.failure or f"{response.status} {error.get('message', '')}"
            raise ExploreError(f"the emulator refused {method} {path}: {reason.rstrip()}")
        return response

    async def _request(self, method: str, path: str, body: object) -> HttpResponse:
        content = b"" if body is None else json.dumps(body).encode()
        url = f"{self.base_url}{path}"
        request = Request(method=method, url=url, headers=self._headers, body=content)
        return await self._connections.send(request, timeout_s=MAX_CALL_S)
