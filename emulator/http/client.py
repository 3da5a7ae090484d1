"""HTTP client that limits the time and the size of responses and sends each request once.

It keeps no cookies, uses no proxies and follows no redirects.

    Unreachable          there is no connection
    HttpResponse         otherwise; its `failure` says why the response is missing or incomplete
"""

import asyncio
import json
import selectors
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import httptools

from .addresses import DEFAULT_PORTS, BaseUrl, host_with_port
from .failures import explain_no_connection
from .name_lookup import ip_addresses

if TYPE_CHECKING:
    import ssl

# A scenario's latency may be five minutes.
MAX_RESPONSE_S = 330
MAX_CONNECT_S = 10
# Shorter than that of any server, so that no request meets a connection that is being closed:
# then it would be unknown whether the server has received the request.
MAX_IDLE_S = 2
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
JSON = "application/json"
# Needs one call of the system, and the default one four; Windows does not have it.
_Selector = getattr(selectors, "PollSelector", selectors.DefaultSelector)


class Unreachable(Exception):
    """No connection to the emulator is possible; the message is one line for the user."""


@dataclass(frozen=True, kw_only=True)
class HttpResponse:
    """A response; without a complete one, `failure` says why and the rest is empty."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    failure: str | None = None

    @property
    def is_error(self) -> bool:
        """Whether the status is an error, or no complete response was received."""
        return self.failure is not None or self.status >= 400

    @cached_property
    def json(self) -> Any:
        """The parsed body, or None when it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def member(self, name: str) -> Any:
        """A member of a body that is an object; None when there is no such member."""
        return self.json.get(name) if isinstance(self.json, dict) else None

    @property
    def error(self) -> Mapping[str, Any]:
        """The error object of the body (contract, section 7); empty when there is none."""
        error = self.member("error")
        return error if isinstance(error, dict) else {}


class _Connection(asyncio.Protocol):
    """One connection, which carries one exchange after another."""

    def __init__(self) -> None:
        self.is_reusable = True
        self.idle_since_s = 0.0
        self.transport: asyncio.Transport
        self._response: asyncio.Future[HttpResponse] | None = None
        self._start()

    def _start(self) -> None:
        self._parser: Any = httptools.HttpResponseParser(self)
        self._status = 0
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._received_bytes = 0

    async def exchange(self, request: bytes) -> HttpResponse:
        """Send a request and wait for the end of its response, or of the connection."""
        self._start()
        self._response = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self._response

    def has_closed(self) -> bool:
        """Whether an idle connection has closed, also when the event loop has yet to notice."""
        if not self.is_reusable:
            return True
        with _Selector() as selector:
            selector.register(
                self.transport.get_extra_info("socket").fileno(), selectors.EVENT_READ
            )
            return bool(selector.select(0))

    def _end(self, response: HttpResponse, *, is_reusable: bool = False) -> None:
        """The first end of an exchange counts."""
        self.is_reusable = is_reusable
        if self._response is not None and not self._response.done():
            self._response.set_result(response)

    def _fail(self, failure: str) -> None:
        self._end(HttpResponse(failure=failure))

    def _complete(self, *, is_reusable: bool = False) -> None:
        response = HttpResponse(status=self._status, headers=self._headers, body=bytes(self._body))
        self._end(response, is_reusable=is_reusable)

    # ---- What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # of a stream

    def data_received(self, data: bytes) -> None:
        if self._response is None or self._response.done():
            self.is_reusable = False
            return
        self._received_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"the response is not HTTP: {error}")
        if self._received_bytes > MAX_RESPONSE_BYTES:
            self._fail(f"the response is larger than {MAX_RESPONSE_BYTES:,} bytes")

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._status:
            self._fail("the connection was closed before a response")
        elif exc is None and not self._headers.keys() & {"content-length", "transfer-encoding"}:
            self._complete()
        else:
            self._fail("the connection was closed in the middle of the response")

    # ---- What the parser calls

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            # Those of an interim response, such as 103.
            self._headers.clear()
        else:
            self._status = status

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if self._status:
            self._complete(is_reusable=self._parser.should_keep_alive())


class HttpClient:
    """Sends requests to one emulator, with an API key if it has one; open within `async with`."""

    def __init__(
        self, base_url: BaseUrl, *, key: str | None = None, tls: "ssl.SSLContext | None" = None
    ) -> None:
        self.base_url = base_url
        # The address of this machine that the emulator sees; known after the first response.
        self.local_host = ""
        self._key = key
        self._tls = tls
        self._idle: list[_Connection] = []

    def with_key(self, key: str | None) -> "HttpClient":
        """Return another client of the same emulator, not yet open."""
        return HttpClient(self.base_url, key=key, tls=self._tls_context())

    def use_key(self, key: str) -> None:
        """Send this key with all later requests."""
        self._key = key

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for connection in self._idle:
            connection.transport.close()

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        media_type: str = JSON,
        timeout_s: float = MAX_RESPONSE_S,
    ) -> HttpResponse:
        """Send a request once; a repetition would not meet the same fault. Raises Unreachable."""
        try:
            async with asyncio.timeout(timeout_s):
                connection = self._idle_connection() or await self._connect()
                return await self._exchange(
                    connection, self._request(method, path, body, media_type)
                )
        except TimeoutError:
            return HttpResponse(failure=f"timed out after {timeout_s:g} s")

    async def request_json(self, method: str, path: str, value: object) -> HttpResponse:
        """Send a request with a JSON value as its body. Raises Unreachable."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return await self.request(method, path, text.encode("utf-8", "surrogatepass"))

    async def _exchange(self, connection: _Connection, request: bytes) -> HttpResponse:
        try:
            response = await connection.exchange(request)
        except asyncio.CancelledError:
            connection.transport.abort()
            raise
        if connection.is_reusable:
            connection.idle_since_s = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.transport.close()
        return response

    def _idle_connection(self) -> _Connection | None:
        oldest_s = asyncio.get_running_loop().time() - MAX_IDLE_S
        while self._idle:
            connection = self._idle.pop()
            if connection.idle_since_s > oldest_s and not connection.has_closed():
                return connection
            connection.transport.close()
        return None

    async def _connect(self) -> _Connection:
        """Connect to the first address that accepts the connection. Raises Unreachable."""
        base = self.base_url
        is_encrypted = base.scheme == "https"
        failure: OSError | None = None
        try:
            async with asyncio.timeout(MAX_CONNECT_S):
                for address in await ip_addresses(base.host.encode("ascii")):
                    try:
                        _, connection = await asyncio.get_running_loop().create_connection(
                            _Connection,
                            address,
                            base.port,
                            ssl=self._tls_context() if is_encrypted else None,
                            server_hostname=base.host if is_encrypted else None,
                        )
                    except OSError as error:
                        failure = failure or error
                        continue
                    self.local_host = connection.transport.get_extra_info("sockname")[0]
                    return connection
                raise failure or OSError(f"{base.host} has no address")
        except TimeoutError:
            raise self._unreachable(f"no connection within {MAX_CONNECT_S} s") from None
        # ValueError: a host name that is not valid.
        except (OSError, ValueError) as error:
            raise self._unreachable(explain_no_connection(error)) from None

    def _tls_context(self) -> "ssl.SSLContext | None":
        if self._tls is None and self.base_url.scheme == "https":
            self._tls = tls_context("https")
        return self._tls

    def _unreachable(self, reason: str) -> Unreachable:
        return Unreachable(f"cannot reach the emulator at {self.base_url}: {reason}")

    def _request(self, method: str, path: str, body: bytes, media_type: str) -> bytes:
        base = self.base_url
        port = None if base.port == DEFAULT_PORTS[base.scheme] else base.port
        # The path is sent verbatim, also the dots of `/v1/payments/..`.
        lines = [f"{method} {base.path}{path} HTTP/1.1", f"host: {host_with_port(base.host, port)}"]
        if self._key is not None:
            lines.append(f"authorization: Bearer {self._key}")
        if body:
            lines.append(f"content-type: {media_type}")
        if body or method not in {"GET", "DELETE"}:
            lines.append(f"content-length: {len(body)}")
        return "\r\n".join((*lines, "\r\n")).encode() + body


def tls_context(scheme: str) -> "ssl.SSLContext":
    """Trust the authorities of the system, or those of SSL_CERT_FILE, and those of browsers."""
    import ssl

    import certifi

    if scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # Never used, and quick to create.
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
