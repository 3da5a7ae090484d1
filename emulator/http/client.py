"""HTTP client that limits the time and the size of responses, and uses idle connections again.

It keeps no cookies, uses no proxies and follows no redirects. A missing or incomplete response is a
failed `HttpResponse`.
"""

import asyncio
import selectors
import socket
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httptools

from .addresses import DEFAULT_PORTS, BaseUrl, host_with_port
from .failures import NotHttp, connection_failure
from .name_lookup import connect_to_first, ip_addresses
from .response import HttpResponse, timed_out

if TYPE_CHECKING:
    import ssl

MAX_CONNECT_S = 10
# Shorter than that of any server, so that no request meets a connection that is being closed:
# then it would be unknown whether the server has received the request.
MAX_IDLE_S = 1
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
# Without one of these headers, the end of the connection ends the body.
_BODY_LENGTHS = {"content-length", "transfer-encoding"}
_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)
# Needs one call of the system, and the default one four; Windows does not have it.
_Selector = getattr(selectors, "PollSelector", selectors.DefaultSelector)

# Deviations in the headers or the body of a response are no reason to doubt its status.
_LENIENCIES = {
    "lenient_headers": True,
    "lenient_chunked_length": True,
    "lenient_transfer_encoding": True,
    "lenient_optional_lf_after_cr": True,
    "lenient_optional_cr_before_lf": True,
    "lenient_optional_crlf_after_chunk": True,
    "lenient_spaces_after_chunk_size": True,
}


class NoConnection(Exception):
    """No connection to a server is possible; the message is the reason."""


class ResponseProtocol(asyncio.Protocol):
    """A connection on which a response arrives.

    `_end` is called at the end of the response, and with the exception of a failure.
    """

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._parser: Any = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(**_LENIENCIES)
        self._received_bytes = 0
        self._status: int | None = None
        self._headers: list[tuple[str, str]] = []
        self._body = bytearray()

    def _end(self, failure: Exception | None) -> None:
        raise NotImplementedError

    def data_received(self, data: bytes) -> None:
        self._received_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._end(NotHttp(str(error)))

    # ---- What the parser calls

    def on_message_begin(self) -> None:
        if self._status is None:
            # Those of an interim response, such as 103, are not stored.
            self._headers.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers follow the body.
        if self._status is None:
            self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if not 100 <= status <= 199:
            self._status = status

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if self._status is not None:
            self._end(None)


class HttpConnection(ResponseProtocol):
    """A connection to a server, which carries one exchange after another."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = True
        self.used_at_s: float | None = None
        self.transport: asyncio.Transport
        self._response: asyncio.Future[HttpResponse] | None = None

    @property
    def has_received(self) -> bool:
        """Whether a part of the last response was received."""
        return self._received_bytes > 0

    def send(self, request: bytes) -> "asyncio.Future[HttpResponse]":
        """Send a request; the result is its response."""
        self._start()
        self._response = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._response

    def is_usable(self, oldest_s: float) -> bool:
        """Whether the server keeps it open, also when the event loop has yet to notice its end."""
        if not self.is_open or (self.used_at_s or 0) <= oldest_s:
            return False
        with _Selector() as selector:
            selector.register(
                self.transport.get_extra_info("socket").fileno(), selectors.EVENT_READ
            )
            return not selector.select(0)

    def _end(self, failure: Exception | None) -> None:
        """The first end of an exchange counts."""
        self.is_open = failure is None and self._parser.should_keep_alive()
        if self._response is None or self._response.done():
            return
        if failure is None:
            response = HttpResponse(
                status=self._status or 0, headers=self._headers, body=bytes(self._body)
            )
        elif isinstance(failure, NotHttp):
            response = HttpResponse(failure=f"the response is not HTTP: {failure}")
        else:
            response = HttpResponse(failure=str(failure))
        self._response.set_result(response)

    # ---- What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # of a stream

    def data_received(self, data: bytes) -> None:
        if self._response is None or self._response.done():
            self.is_open = False
            return
        super().data_received(data)
        if self._received_bytes > MAX_RESPONSE_BYTES:
            self._end(OSError(f"the response is larger than {MAX_RESPONSE_BYTES:,} bytes"))
        elif _QUICK_ACK is not None and not self._response.done():
            # A server that writes the body separately waits for the acknowledgement, which
            # this side would delay by 40 ms.
            tcp = self.transport.get_extra_info("socket")
            tcp.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._status is None:
            self._end(OSError("the connection was closed before a response"))
        elif exc is None and not {name for name, _ in self._headers} & _BODY_LENGTHS:
            self._end(None)
        else:
            self._end(OSError("the connection was closed in the middle of the response"))
        self.is_open = False
        # It refers to this object.
        del self._parser


class ConnectionPool:
    """Connections to servers; requests use the idle ones again.

    `repeats`: a request is sent again if the server closed its connection while that was idle.
    """

    def __init__(self, *, repeats: bool = False, tls: "ssl.SSLContext | None" = None) -> None:
        # The address of this machine that the server sees; known after the first connection.
        self.local_host = ""
        self._repeats = repeats
        self._tls = tls
        self._idle: defaultdict[BaseUrl, list[HttpConnection]] = defaultdict(list)

    def close(self) -> None:
        """Close the idle connections."""
        for connections in self._idle.values():
            for connection in connections:
                connection.transport.close()
        self._idle.clear()

    async def exchange(
        self, server: BaseUrl, request: bytes, *, timeout_s: float, closes: bool = False
    ) -> HttpResponse:
        """Send a request and wait for the end of its response; every failure is a response, too.

        `closes`: the connection is not used again.
        """
        try:
            async with asyncio.timeout(timeout_s):
                return await self._exchange(server, request, closes=closes)
        except TimeoutError:
            return timed_out(timeout_s)
        except NoConnection as error:
            return HttpResponse(failure=str(error), is_refused=True)

    async def connect(self, server: BaseUrl) -> HttpConnection:
        """Connect to the first address that accepts the connection. Raises NoConnection."""
        try:
            tls = self._tls_context(server)
            name = None if tls is None else server.host
            async with asyncio.timeout(MAX_CONNECT_S):
                addresses = await ip_addresses(server.host.encode("ascii"))
                transport, connection = await connect_to_first(
                    addresses, server.port, HttpConnection, ssl=tls, server_hostname=name
                )
        except TimeoutError:
            raise NoConnection(f"no connection within {MAX_CONNECT_S} s") from None
        # ValueError: a host name that is not valid.
        except (OSError, ValueError) as error:
            raise NoConnection(connection_failure(error, host=server.host)) from None
        self.local_host = transport.get_extra_info("sockname")[0]
        return connection

    async def _exchange(self, server: BaseUrl, request: bytes, *, closes: bool) -> HttpResponse:
        connection = self._idle_connection(server) or await self.connect(server)
        try:
            response = await connection.send(request)
        except asyncio.CancelledError:
            connection.transport.abort()
            raise
        was_idle = connection.used_at_s is not None
        if connection.is_open and not closes:
            connection.used_at_s = asyncio.get_running_loop().time()
            self._idle[server].append(connection)
        else:
            connection.transport.close()
        if self._repeats and response.failure and was_idle and not connection.has_received:
            return await self._exchange(server, request, closes=closes)
        return response

    def _idle_connection(self, server: BaseUrl) -> HttpConnection | None:
        idle = self._idle[server]
        oldest_s = asyncio.get_running_loop().time() - MAX_IDLE_S
        while idle:
            connection = idle.pop()
            if connection.is_usable(oldest_s):
                return connection
            connection.transport.close()
        return None

    def _tls_context(self, server: BaseUrl) -> "ssl.SSLContext | None":
        if self._tls is None and server.scheme == "https":
            from .tls import tls_context

            self._tls = tls_context()
        return self._tls if server.scheme == "https" else None


def encode_request(
    server: BaseUrl, method: str, target: str, headers: Mapping[str, str], body: bytes
) -> bytes:
    """The bytes of a request, with the headers `host` and `content-length`."""
    port = None if server.port == DEFAULT_PORTS[server.scheme] else server.port
    all_headers = {"host": host_with_port(server.host, port), **headers}
    if body or method not in {"GET", "DELETE"}:
        all_headers["content-length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in all_headers.items())
    head = f"{method} {target} HTTP/1.1\r\n{lines}\r\n"
    return head.encode("utf-8", "surrogateescape") + body
