"""Sends requests of which every failure is a response that says why."""

import asyncio
from dataclasses import dataclass
from typing import Any

from emulator.clock import SystemClock
from emulator.http.addresses import BaseUrl
from emulator.http.client import HttpClient, HttpResponse, Unreachable
from emulator.http.failures import RequestStage, explain_failure
from emulator.http.name_lookup import ip_addresses

CONTROL = "/_emulator"
HEALTH = f"{CONTROL}/health"
ACCOUNTS = f"{CONTROL}/accounts"
ENDPOINTS = f"{CONTROL}/webhook_endpoints"
CHECKOUT_URL = f"{CONTROL}/checkout_url"
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

    async def request(self, method: str, path: str, value: object = None) -> HttpResponse:
        """Send a request on its own connection. Raises nothing: see `HttpResponse.failure`."""
        try:
            async with asyncio.timeout(self.timeout_s):
                # First, since this look-up does not delay the end of the program.
                await ip_addresses(self.base_url.host.encode("ascii"))
                async with HttpClient(self.base_url, key=self.key) as client:
                    if value is None:
                        return await client.request(method, path)
                    return await client.request_json(method, path, value)
        except TimeoutError:
            return HttpResponse(failure=f"no response within {self.timeout_s:g} s")
        except (Unreachable, OSError, UnicodeError) as error:
            stage = RequestStage.CONNECTING
            _, phrase = explain_failure(error, host=self.base_url.host, stage=stage)
            return HttpResponse(failure=phrase)


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
    status = str(response.status)
    if "code" in response.error:
        text = f"{status} {response.error['code']}"
    else:
        server = response.header("server")
        words = (status, server and f"Server: {server}", response.header("content-type"))
        text = ", ".join(word for word in words if word)
    return text[:MAX_SHOWN_CHARACTERS]
