"""HTTP client with retries, a limit on waiting after 429, and a limit on lost responses.

    Unreachable     the service has no connection, or loses its responses again and again
    CheckStopped    a request has no complete response: its check cannot continue
      RateLimited   the service refuses requests with 429 for longer than the client waits

A transport, which sends each request once, raises NoConnection and LostResponse instead.
"""

import asyncio
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from math import ceil
from typing import Protocol, Self
from urllib.parse import urlencode, urlsplit

import httpx

from emulator.clock import SystemClock, pause
from emulator.http.client import NoConnection, tls_context
from emulator.http.failures import RequestStage, explain_failure
from emulator.tools.verify.messages import ServiceRequest, ServiceResponse

MAX_RESPONSE_S = 20
MAX_CONNECT_S = 10
MAX_RESPONSE_BYTES = 16 * 1024 * 1024
MAX_TOTAL_WAIT_S = 60
# The wait after a 429 that names no seconds, or 0: so that waiting ends.
MIN_WAIT_S = 1
MAX_LOST_RESPONSES = 3

_TOO_MANY_REQUESTS = 429
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", re.ASCII)


class Unreachable(Exception):
    """The service cannot be compared; the message is one line for the user."""


class CheckStopped(Exception):
    """A check cannot continue; the message is the reason, for the report."""


class RateLimited(CheckStopped):
    """The service refuses requests with 429, and the maximum wait is used up."""


class LostResponse(Exception):
    """The connection returned no complete response; the message is the reason."""


class Transport(Protocol):
    """Sends requests to one service; tests have one without a network."""

    base_url: str

    async def send(self, request: ServiceRequest) -> ServiceResponse:
        """Send a request once. Raises NoConnection, LostResponse."""


class HttpTransport:
    """Transport over HTTP, which follows no redirects and keeps no cookies.

    A proxy of the environment is used only for https, where it cannot read the requests.
    """

    def __init__(self, base_url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.base_url = base_url
        scheme = base_url.partition(":")[0]
        self._http = httpx.AsyncClient(
            transport=transport,
            trust_env=scheme == "https",
            verify=tls_context(scheme),
            timeout=httpx.Timeout(MAX_RESPONSE_S, connect=MAX_CONNECT_S),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def send(self, request: ServiceRequest) -> ServiceResponse:
        try:
            # Limits the whole response; httpx limits each part of it.
            async with asyncio.timeout(MAX_RESPONSE_S):
                return await self._exchange(request)
        except httpx.ConnectTimeout:
            raise NoConnection(f"no connection within {MAX_CONNECT_S} s") from None
        except httpx.ProxyError as error:
            raise NoConnection(str(error)) from None
        except httpx.ConnectError as error:
            host = urlsplit(self.base_url).hostname or ""
            _, phrase = explain_failure(error, host=host, stage=RequestStage.CONNECTING)
            raise NoConnection(phrase) from None
        except (TimeoutError, httpx.TimeoutException):
            raise LostResponse(f"no response within {MAX_RESPONSE_S} s") from None
        except httpx.TransportError:
            raise LostResponse("the connection was closed before the end of the response") from None

    async def _exchange(self, request: ServiceRequest) -> ServiceResponse:
        response = await self._http.send(
            self._httpx_request(request), stream=True, auth=None, follow_redirects=False
        )
        body = bytearray()
        try:
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_RESPONSE_BYTES:
                    raise LostResponse(f"the response is larger than {MAX_RESPONSE_BYTES:,} bytes")
        finally:
            await response.aclose()
        return ServiceResponse(
            request=request,
            status=response.status_code,
            headers=_headers(response.headers.raw),
            body=bytes(body),
        )

    def _httpx_request(self, request: ServiceRequest) -> httpx.Request:
        query = f"?{urlencode(request.query)}" if request.query else ""
        url = _url(f"{self.base_url}{request.path}{query}")
        return httpx.Request(request.method, url, headers=request.headers, content=request.body)


@lru_cache(maxsize=64)
def _url(text: str) -> httpx.URL:
    """Parsing takes a third of the time of a request, and most requests have the same few URLs."""
    return httpx.URL(text)


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): text.decode("latin-1") for name, text in raw}


class ServiceClient:
    """Sends requests to one service; `responses` are all responses, the oldest first.

    After a 429 it waits for the time in `Retry-After`, a minute in total; a 5xx is retried once,
    as the contract requires. `refusal` is the reason to send no more requests, or None.
    `report_wait` receives the seconds of each wait, and 0 at its end.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        wall: SystemClock,
        report_wait: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.base_url = transport.base_url
        self.responses: list[ServiceResponse] = []
        self.refusal: str | None = None
        self.lost_count = 0
        self._transport = transport
        self._wall = wall
        self._report_wait = report_wait
        self._left_wait_s = MAX_TOTAL_WAIT_S
        # Concurrent waits follow each other, so that each second counts once.
        self._waiting = asyncio.Lock()

    async def send(self, request: ServiceRequest) -> ServiceResponse:
        """Raises Unreachable and CheckStopped, RateLimited included."""
        self._check_rate_limit()
        has_failed = False
        # It ends: each 429 uses up some of the wait, and a 5xx is retried once.
        while True:
            response = await self._send_once(request)
            self.responses.append(response)
            if response.status == _TOO_MANY_REQUESTS:
                await self._wait(response)
            elif response.status >= 500 and not has_failed:
                has_failed = True
            else:
                return response

    def _check_rate_limit(self) -> None:
        """Raises RateLimited after a refusal: the service would refuse this request too."""
        if self.refusal is not None:
            raise RateLimited(self.refusal)

    async def _wait(self, response: ServiceResponse) -> None:
        seconds = max(ceil(retry_after_s(response) or 0), MIN_WAIT_S)
        async with self._waiting:
            self._check_rate_limit()
            if seconds > self._left_wait_s:
                self.refusal = _refusal(seconds, left_s=self._left_wait_s)
                raise RateLimited(self.refusal)
            self._left_wait_s -= seconds
            self._report_wait(seconds)
            try:
                await pause(self._wall, 1_000 * seconds)
            finally:
                self._report_wait(0)

    async def _send_once(self, request: ServiceRequest) -> ServiceResponse:
        try:
            return await self._transport.send(request)
        except NoConnection as error:
            raise Unreachable(f"cannot reach {self.base_url}: {error}") from None
        except LostResponse as error:
            self.lost_count += 1
            if self.lost_count >= MAX_LOST_RESPONSES:
                raise Unreachable(
                    f"{self.base_url} does not respond: {error}, {MAX_LOST_RESPONSES} times"
                ) from None
            raise CheckStopped(str(error)) from None


def _refusal(requested_s: int, *, left_s: int) -> str:
    """Why the client does not wait after a 429."""
    total = f"{MAX_TOTAL_WAIT_S} s"
    if left_s == 0:
        return f"429 was returned again after a wait of {total} in total"
    return f"429 requires a wait of {requested_s} s, but only {left_s} s of {total} are left"


def retry_after_s(response: ServiceResponse) -> float | None:
    """The number of seconds in `Retry-After` (contract, sections 7 and 8); None without one."""
    text = response.headers.get("retry-after", "")
    return float(text) if _NUMBER.fullmatch(text) else None
