"""HTTP client with retries, a limit on waiting after 429, and a limit on lost responses.

UserError       the service has no connection, or loses its responses again and again
CheckStopped    a request has no complete response: its check cannot continue
  LostResponse  the connection returned no complete response
  RateLimited   the service refuses requests with 429 for longer than the client waits
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import Any, Self
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from emulator import __version__
from emulator.clock import SystemClock, pause
from emulator.domain.instants import Instant
from emulator.domain.user_error import UserError
from emulator.http.client import HttpClient

MAX_RESPONSE_S = 20
MAX_RESPONSE_BYTES = 16 * 1024 * 1024
MAX_TOTAL_WAIT_S = 60
# The wait after a 429 that names no seconds, or 0: so that waiting ends.
MIN_WAIT_S = 1
MAX_LOST_RESPONSES = 3
MAX_QUOTED_CHARACTERS = 60
JSON = "application/json"
INTERRUPTED = "Ctrl-C ended the comparison"

_TOO_MANY_REQUESTS = 429
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", re.ASCII)


class CheckStopped(Exception):
    """A check cannot continue; the message is the reason, for the report."""


class RateLimited(CheckStopped):
    """The service refuses requests with 429, and the maximum wait is used up."""


class LostResponse(CheckStopped):
    """The connection returned no complete response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRequest:
    """A request; without a `key` it is not authenticated, and `media_type` may be empty."""

    method: str = "GET"
    path: str = "/v1/payments"
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    media_type: str = JSON
    key: str | None = None
    scheme: str = "Bearer"

    @property
    def value(self) -> Any:
        """The parsed body; `...` if it is no JSON, and where it was not recorded."""
        return _parsed(self.body or b"")[1]

    @property
    def headers(self) -> dict[str, str]:
        headers = {"accept": JSON, "user-agent": f"payments-emulator-verify/{__version__}"}
        if self.key is not None:
            headers["authorization"] = f"{self.scheme} {self.key}".strip()
        if self.body is not None and self.media_type:
            headers["content-type"] = self.media_type
        return headers


@dataclass(frozen=True, kw_only=True)
class ServiceResponse:
    """A complete response; header names are in lower case."""

    request: ServiceRequest
    status: int
    headers: Mapping[str, str]
    body: bytes
    span: tuple[Instant, Instant] | None = None
    """When a recorded request was sent and its response arrived."""

    def follows(self, earlier: "ServiceResponse") -> bool:
        """Whether the request was sent after another response; True where that is not known."""
        return not (self.span and earlier.span) or self.span[0] >= earlier.span[1]

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_refusal(self) -> bool:
        """Whether the status is 4xx."""
        return 400 <= self.status < 500

    @property
    def is_json(self) -> bool:
        """Whether the body is JSON by RFC 8259 and its media type says so."""
        return self.has_json_type and self._parsed[0]

    @property
    def has_json_body(self) -> bool:
        """Whether the body can be parsed as JSON, with any media type and any Unicode encoding."""
        return self._parsed[1] is not ...

    @property
    def has_json_type(self) -> bool:
        return self.media_type == JSON or self.media_type.endswith("+json")

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @cached_property
    def members(self) -> Mapping[str, Any]:
        """The members of a body that is an object; otherwise empty."""
        value = self._parsed[1]
        return value if isinstance(value, dict) else {}

    @property
    def data(self) -> list[Any]:
        """The entries of a list; empty if the body is not a list."""
        data = self.members.get("data")
        return data if isinstance(data, list) else []

    @property
    def payments(self) -> list[dict[str, Any]]:
        return [entry for entry in self.data if isinstance(entry, dict)]

    @property
    def ids(self) -> list[str]:
        return [str(payment.get("id")) for payment in self.payments]

    @property
    def next_cursor(self) -> str | None:
        cursor = self.members.get("next_cursor")
        return cursor if isinstance(cursor, str) else None

    @property
    def has_next_page(self) -> bool:
        """The value of `has_more`; if it is not Boolean, whether there is a cursor."""
        has_more = self.members.get("has_more")
        return has_more if isinstance(has_more, bool) else self.next_cursor is not None

    @property
    def has_error(self) -> bool:
        """Whether the body has an error object, which may be empty."""
        return isinstance(self.members.get("error"), dict)

    @property
    def error(self) -> Mapping[str, Any]:
        """The error object (contract, section 7); empty if the body has none."""
        return self.members["error"] if self.has_error else {}

    @property
    def code(self) -> object:
        return self.error.get("code")

    @property
    def param(self) -> object:
        return self.error.get("param")

    @property
    def summary(self) -> str:
        """The status, with the code of an error."""
        code = f" `{printable(self.code)}`" if isinstance(self.code, str) else ""
        return f"{self.status}{code}"

    @property
    def retry_after_s(self) -> float | None:
        """The number of seconds in `Retry-After` (contract, sections 7 and 8), or None."""
        text = self.headers.get("retry-after", "")
        return float(text) if _NUMBER.fullmatch(text) else None

    @cached_property
    def _parsed(self) -> tuple[bool, Any]:
        return _parsed(self.body)


def _parsed(body: bytes) -> tuple[bool, Any]:
    """Whether a body is JSON by RFC 8259, that is, UTF-8 without a byte order mark and without
    NaN; and the value of such JSON, or of laxer JSON. `...` if it is no JSON."""
    try:
        return True, json.loads(body.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        pass
    try:
        return False, json.loads(body)
    except (ValueError, RecursionError):
        return False, ...


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def json_text(value: object) -> str:
    """A JSON value in one short line without control characters."""
    return f"`{printable(json.dumps(value, ensure_ascii=False))}`"


def member_text(members: Mapping[str, Any], name: str) -> str:
    """A member's JSON value, or that the member is absent."""
    return json_text(members[name]) if name in members else "absent"


def printable(text: str) -> str:
    """Text from a service, shortened and without characters that control a terminal."""
    line = "".join(
        character if character.isprintable() and character != "`" else "�" for character in text
    )
    return line if len(line) <= MAX_QUOTED_CHARACTERS else f"{line[: MAX_QUOTED_CHARACTERS - 1]}…"


class HttpTransport:
    """Transport over HTTP.

    A proxy of the environment is used only for https, where it cannot read the requests.
    """

    def __init__(self, base_url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.base_url = base_url
        self._http = HttpClient(
            proxy=_proxy(base_url), max_response_bytes=MAX_RESPONSE_BYTES, transport=transport
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def send(self, request: ServiceRequest) -> ServiceResponse:
        """Send a request once. Raises UserError without a connection, and LostResponse."""
        query = f"?{urlencode(request.query)}" if request.query else ""
        url = f"{self.base_url}{request.path}{query}"
        response = await self._http.send(
            request.method, url, request.headers, request.body or b"", timeout_s=MAX_RESPONSE_S
        )
        if response.is_refused:
            raise UserError(f"cannot reach {self.base_url}: {response.failure}")
        if response.failure is not None:
            raise LostResponse(response.failure)
        return ServiceResponse(
            request=request,
            status=response.status,
            headers=dict(response.headers),
            body=response.body,
        )


def _proxy(base_url: str) -> str | None:
    """The proxy of the environment for a service with https, if there is one."""
    url = urlsplit(base_url)
    if url.scheme != "https" or proxy_bypass(url.hostname or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get("https", proxies.get("all"))
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


class ServiceClient:
    """Sends requests to one service, each with `send_once`; `responses` are all responses.

    After a 429 it waits for the time in `Retry-After`, a minute in total; a 5xx is retried once,
    as the contract requires. `refusal` is the reason to send no more requests, or None;
    `is_stopped` means that Ctrl-C is. `show` receives the text of each wait.
    """

    def __init__(
        self,
        base_url: str,
        send_once: Callable[[ServiceRequest], Awaitable[ServiceResponse]],
        *,
        wall: SystemClock,
        show: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.base_url = base_url
        self.responses: list[ServiceResponse] = []
        self.refusal: str | None = None
        self.is_stopped = False
        self.lost_count = 0
        self._request_once = send_once
        self._wall = wall
        self._show = show
        self._left_wait_s = MAX_TOTAL_WAIT_S
        # Concurrent waits follow each other, so that each second counts once.
        self._waiting = asyncio.Lock()

    async def send(self, request: ServiceRequest) -> ServiceResponse:
        """Raises UserError and CheckStopped, RateLimited included."""
        if self.is_stopped:
            raise CheckStopped(INTERRUPTED)
        self._check_rate_limit()
        has_failed = False
        # It ends: each 429 uses up some of the wait, and a 5xx is retried once.
        while True:
            response = await self._send_once(request)
            self.responses.append(response)
            if response.status == _TOO_MANY_REQUESTS:
                await self._wait(max(ceil(response.retry_after_s or 0), MIN_WAIT_S))
            elif response.status >= 500 and not has_failed:
                has_failed = True
            else:
                return response

    def _check_rate_limit(self) -> None:
        """Raises RateLimited after a refusal: the service would refuse this request too."""
        if self.refusal is not None:
            raise RateLimited(self.refusal)

    async def _wait(self, seconds: int) -> None:
        async with self._waiting:
            self._check_rate_limit()
            if seconds > self._left_wait_s:
                total = f"{MAX_TOTAL_WAIT_S} s"
                self.refusal = (
                    f"429 requires a wait of {seconds} s, but only {self._left_wait_s} s of {total}"
                    " are left"
                    if self._left_wait_s
                    else f"429 was returned again after a wait of {total} in total"
                )
                raise RateLimited(self.refusal)
            self._left_wait_s -= seconds
            self._show(f"waiting {seconds} s: the service said 429")
            await pause(self._wall, 1_000 * seconds)
            self._show("")

    async def _send_once(self, request: ServiceRequest) -> ServiceResponse:
        try:
            return await self._request_once(request)
        except LostResponse as error:
            self.lost_count += 1
            if self.lost_count >= MAX_LOST_RESPONSES:
                raise UserError(
                    f"{self.base_url} does not respond: {error}, {MAX_LOST_RESPONSES} times"
                ) from None
            raise
