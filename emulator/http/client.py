"""HTTP client of the tools, and calls of an emulator that do not block the event loop.

The client is httpx, with limits of time and size; it keeps no cookies and follows no redirects. A
missing or incomplete response is a failed `HttpResponse`.

PaymentsEmulatorError    see `emulator_calls`
  AccountNotCreated      the emulator created no temporary account, or the response was lost
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import httpx
import sniffio  # noqa: F401 - httpx searches for it in each request

from ..domain.accounts import is_well_formed_key
from . import emulator_calls as calls
from .addresses import BaseUrl, without_password
from .emulator_calls import EmulatorCall, PaymentsEmulatorError
from .failures import NotHttp, RequestStage, causes, connection_failure
from .response import HttpResponse, timed_out
from .tls import tls_context

MAX_CONNECT_S = 10
# Shorter than any server's limit, so that no request meets a connection that is being closed:
# then it would be unknown whether the server has received the request.
MAX_IDLE_S = 1
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
_NOT_SENT = (httpx.ConnectError, httpx.InvalidURL, httpx.LocalProtocolError, ValueError)
# After Ctrl-C the user waits for the deletion of an account.
MAX_DELETION_S = 10
T = TypeVar("T")
Send = Callable[[EmulatorCall[Any]], Awaitable[HttpResponse]]


class HttpClient:
    """Sends requests, on idle connections again if it `keeps_connections`.

    `local_address` is the address of the last kept connection. A `transport` replaces the network.
    """

    def __init__(
        self,
        *,
        keeps_connections: bool = True,
        proxy: str | None = None,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.local_address: tuple[str, int] = ("", 0)
        self._keeps_connections = keeps_connections
        self._proxy = proxy
        self._max_response_bytes = max_response_bytes
        # Of httpx.AsyncClient, only the transport has no cookies, redirects and log lines.
        self._transports = {} if transport is None else {"http": transport, "https": transport}

    async def aclose(self) -> None:
        """Close the idle connections."""
        for transport in self._transports.values():
            await transport.aclose()

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, *, timeout_s: float
    ) -> HttpResponse:
        """Send a request once, and return its response; every failure is a response, too."""
        try:
            request = self._request(method, url, headers, body)
            # Before the time begins, because the first transport imports modules.
            transport = self._transport(request.url.scheme)
            async with asyncio.timeout(timeout_s):
                return await self._received(await transport.handle_async_request(request))
        except TimeoutError:
            return timed_out(timeout_s)
        # ValueError: a host name in the form of an international one.
        except (httpx.TransportError, httpx.InvalidURL, ValueError) as error:
            return explain(error, host=urlsplit(url).hostname or "")

    def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> httpx.Request:
        parts = urlsplit(url)
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        # The path is sent verbatim, also the dots of `/v1/payments/..`; httpcore would use it in
        # the request to a proxy, too.
        verbatim = {} if self._proxy else {"target": _encoded(path)}
        return httpx.Request(
            method,
            without_password(url),
            headers=[(_encoded(name), _encoded(value)) for name, value in headers.items()],
            content=body,
            extensions={**verbatim, "timeout": {"connect": MAX_CONNECT_S}},
        )

    async def _received(self, response: httpx.Response) -> HttpResponse:
        body = bytearray()
        try:
            stream = response.extensions.get("network_stream")
            if self._keeps_connections and stream is not None:
                with suppress(OSError):  # The connection is closed already.
                    self.local_address = stream.get_extra_info("client_addr")[:2]
            async for part in response.aiter_bytes():
                body += part
                if len(body) > self._max_response_bytes:
                    limit = f"{self._max_response_bytes:,} bytes"
                    return HttpResponse(failure=f"the response is larger than {limit}")
        except (httpx.TransportError, httpx.DecodingError):
            return HttpResponse(failure="the response is incomplete")
        finally:
            await response.aclose()
        pairs = ((name.decode("latin-1"), text) for name, text in response.headers.raw)
        headers = [(name.lower(), text.decode("latin-1")) for name, text in pairs]
        return HttpResponse(status=response.status_code, headers=headers, body=bytes(body))

    def _transport(self, scheme: str) -> httpx.AsyncBaseTransport:
        """The connections of a scheme; only https needs certificates."""
        if scheme not in self._transports:
            kept = None if self._keeps_connections else 0
            self._transports[scheme] = httpx.AsyncHTTPTransport(
                verify=tls_context(verifies=scheme == "https"),
                limits=httpx.Limits(max_keepalive_connections=kept, keepalive_expiry=MAX_IDLE_S),
                proxy=self._proxy,
                trust_env=False,
            )
        return self._transports[scheme]


def explain(error: Exception, *, host: str) -> HttpResponse:
    """The failed response that explains an exception of httpx to the user of a command."""
    if isinstance(error, httpx.ConnectTimeout):
        return HttpResponse(failure=f"no connection within {MAX_CONNECT_S} s", is_refused=True)
    if isinstance(error, httpx.ProxyError):
        return HttpResponse(failure=str(error), is_refused=True)
    if isinstance(error, _NOT_SENT):
        is_connect = isinstance(error, httpx.ConnectError)
        reason = error if is_connect else ValueError(str(error))
        return HttpResponse(failure=connection_failure(reason, host=host), is_refused=True)
    # Of the parser; the end of the connection has no such cause.
    is_http = not any(type(cause).__module__.startswith("h11") for cause in causes(error))
    failure = error if is_http else NotHttp()
    stage = RequestStage.AWAITING_RESPONSE
    return HttpResponse(failure=connection_failure(failure, host=host, stage=stage))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class EmulatorClient:
    """Calls one emulator, with an API key if it has one; open within `async with`.

    A copy with another key uses the same connections, and is not opened.
    """

    base_url: BaseUrl
    key: str | None = None
    timeout_s: float = calls.MAX_RESPONSE_S
    http: HttpClient = field(default_factory=HttpClient)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    async def call(self, call: EmulatorCall[T]) -> T:
        """The result of a call, sent once. Raises PaymentsEmulatorError."""
        return call.result(await self.send(call), self.base_url)

    async def send(self, call: EmulatorCall[Any]) -> HttpResponse:
        """The response to a call, also a refusal, or none.

        The call is sent once: a repetition would not meet the same fault. Raises
        PaymentsEmulatorError if no connection is possible.
        """
        response = await self.try_to_send(call)
        if response.is_refused:
            call.result(response, self.base_url)
        return response

    async def try_to_send(self, call: EmulatorCall[Any]) -> HttpResponse:
        """The response to a call, also a refusal, or none for any reason."""
        headers, body = call.encode(self.key)
        url = f"{self.base_url}{call.path}"
        return await self.http.send(call.method, url, headers, body, timeout_s=self.timeout_s)


@asynccontextmanager
async def silent_endpoint(client: EmulatorClient, url: str | None) -> AsyncIterator[Any]:
    """Disable the endpoint with a URL during the block, and yield it, if there is one.

    A command that delivers the events itself needs it. Raises PaymentsEmulatorError.
    """
    listed = await client.call(calls.ENDPOINTS)
    endpoint = next((each for each in listed if each["url"] == url), None)
    if endpoint is None:
        yield None
        return
    change = calls.CHANGE_ENDPOINT(endpoint["id"], body={"enabled": False})
    await client.call(change)
    try:
        yield endpoint
    finally:
        await client.call(replace(change, body={"enabled": endpoint["enabled"]}))


class AccountNotCreated(PaymentsEmulatorError):
    """The emulator created no temporary account; `response` says why."""


class TemporaryAccount:
    """An account that is created for a block, and deleted at its end unless `is_kept`.

    The account of a given `key` is neither created nor deleted. `undeleted` is its name if it could
    not be deleted.
    """

    def __init__(self, send: Send, settings: Mapping[str, object], key: str | None = None) -> None:
        self.id = ""
        self.key = key or ""
        self.is_kept = False
        self.undeleted: str | None = None
        self._send = send
        self._settings = settings

    async def __aenter__(self) -> Self:
        """Raises AccountNotCreated, and PaymentsEmulatorError if no connection is possible."""
        if self.key:
            return self
        response = await self._send(calls.CREATE_ACCOUNT(body=self._settings))
        self.key = str(response.member("test_key"))
        if response.status != 201 or not is_well_formed_key(self.key):
            raise AccountNotCreated(response.explanation, response)
        self.id = str(response.member("id"))
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self.is_kept:
            await self._delete()

    async def _delete(self) -> None:
        if self.id:
            is_deleted = False
            with suppress(TimeoutError):
                async with asyncio.timeout(MAX_DELETION_S):
                    response = await self._send(calls.DELETE_ACCOUNT(self.id))
                    is_deleted = response.status in (204, 404)
            self.undeleted = None if is_deleted else str(self._settings["name"])
