"""Sends requests of which every failure is a response that says why."""

import asyncio
from dataclasses import dataclass
from typing import Any

from emulator.clock import SystemClock
from emulator.http.addresses import BaseUrl
from emulator.http.emulator_calls import EmulatorCall, PaymentsEmulatorError
from emulator.http.emulator_client import EmulatorClient
from emulator.http.name_lookup import ip_addresses
from emulator.http.response import HttpResponse

MAX_SHOWN_CHARACTERS = 60
MAX_LOOKUP_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long to wait for a response, and the clock that measures durations.

    `probe_s` is for any server; an emulator may take longer, since its first requests load modules,
    and so may a merchant's handler.
    """

    clock: SystemClock
    probe_s: float = 2.0
    response_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetServer:
    """A server that may be an emulator, and the API key that requests to it carry."""

    base_url: BaseUrl
    timeout_s: float
    key: str | None = None

    async def send(self, call: EmulatorCall[Any]) -> HttpResponse:
        """Send a call on its own connection. Raises nothing: see `HttpResponse.failure`."""
        url, timeout_s = self.base_url, self.timeout_s
        async with EmulatorClient(url, key=self.key, timeout_s=timeout_s) as client:
            try:
                return await client.send(call)
            except PaymentsEmulatorError as error:
                return error.response


async def lookup(host: str) -> list[str]:
    """The addresses of a name; none when it is unknown or the name server is slow."""
    try:
        async with asyncio.timeout(MAX_LOOKUP_S):
            return await ip_addresses(host.encode("ascii"))
    except (OSError, UnicodeError):  # TimeoutError is an OSError.
        return []


def response_items(response: HttpResponse) -> list[dict[str, Any]] | None:
    """The objects of a list; None when the response contains no list."""
    data = response.member("data") if response.status == 200 else None
    if not isinstance(data, list):
        return None
    return [entry for entry in data if isinstance(entry, dict)]


def describe(response: HttpResponse) -> str:
    """A response in a few words: the failure, or the status with the most specific detail."""
    if response.failure is not None:
        return response.failure
    text = response.summary
    if "code" not in response.error:
        server = response.header("server")
        words = (text, server and f"Server: {server}", response.header("content-type"))
        text = ", ".join(word for word in words if word)
    return text[:MAX_SHOWN_CHARACTERS]
