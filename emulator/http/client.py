"""HTTP client that limits the time and the size of responses and sends each request once.

It is httpx without its client, which would keep cookies, use proxies and follow redirects.

    Unreachable          there is no connection
    HttpResponse         otherwise; its `failure` says why the response is missing or incomplete
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from .addresses import BaseUrl
from .failures import causes, explain_no_connection

if TYPE_CHECKING:
    import ssl

    import httpx

# A scenario's latency may be five minutes.
MAX_RESPONSE_S = 330
MAX_CONNECT_S = 10
# Shorter than that of any server, so that no request meets a connection that is being closed:
# then it would be unknown whether the server has received the request.
MAX_IDLE_S = 2
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
JSON = "application/json"


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


class HttpClient:
    """Sends requests to one emulator, with an API key if it has one; open within `async with`.

    Open one for each task: a connection pool that many tasks share inspects all their connections
    with every request.
    """

    def __init__(
        self, base_url: BaseUrl, *, key: str | None = None, tls: "ssl.SSLContext | None" = None
    ) -> None:
        self.base_url = base_url
        # The address of this machine that the emulator sees; known after the first response.
        self.local_host = ""
        self._key = key
        self._tls = tls
        self._transport: httpx.AsyncHTTPTransport
        self._url: httpx.URL

    def with_key(self, key: str | None) -> "HttpClient":
        """Return another client of the same emulator, not yet open."""
        return HttpClient(self.base_url, key=key, tls=self._tls_context())

    def use_key(self, key: str) -> None:
        """Send this key with all later requests."""
        self._key = key

    async def __aenter__(self) -> Self:
        import httpx

        base = self.base_url
        try:
            self._url = httpx.URL(scheme=base.scheme, host=base.host, port=base.port)
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Unreachable(f"cannot reach the emulator at {base}: {error}") from None
        self._transport = httpx.AsyncHTTPTransport(
            verify=self._tls_context(),
            trust_env=False,
            limits=httpx.Limits(keepalive_expiry=MAX_IDLE_S),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.aclose()

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
        import httpx

        try:
            request = self._request(method, path, body, media_type)
            # Limits the whole response; httpx would limit each part of it.
            async with asyncio.timeout(timeout_s):
                return await self._send(request)
        except TimeoutError:
            return HttpResponse(failure=f"timed out after {timeout_s:g} s")
        except httpx.ConnectTimeout:
            raise self._unreachable(f"no connection within {MAX_CONNECT_S} s") from None
        # OSError, UnicodeError: a host name that is unknown or not valid.
        except (httpx.ConnectError, OSError, UnicodeError) as error:
            raise self._unreachable(explain_no_connection(error)) from None
        except httpx.TransportError as error:
            return HttpResponse(failure=_missing_response(error))

    async def request_json(self, method: str, path: str, value: object) -> HttpResponse:
        """Send a request with a JSON value as its body. Raises Unreachable."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return await self.request(method, path, text.encode("utf-8", "surrogatepass"))

    def _tls_context(self) -> "ssl.SSLContext":
        if self._tls is None:
            self._tls = tls_context(self.base_url.scheme)
        return self._tls

    def _unreachable(self, reason: str) -> Unreachable:
        return Unreachable(f"cannot reach the emulator at {self.base_url}: {reason}")

    def _request(self, method: str, path: str, body: bytes, media_type: str) -> "httpx.Request":
        import httpx

        headers = {} if self._key is None else {"authorization": f"Bearer {self._key}"}
        if body:
            headers["content-type"] = media_type
        extensions = {
            # Verbatim: in a URL httpx would resolve the dots of `/v1/payments/..`.
            "target": f"{self.base_url.path}{path}".encode(),
            "timeout": {"connect": MAX_CONNECT_S},
        }
        return httpx.Request(
            method, self._url, headers=headers, content=body, extensions=extensions
        )

    async def _send(self, request: "httpx.Request") -> HttpResponse:
        import httpx

        response = await self._transport.handle_async_request(request)
        try:
            if not self.local_host:
                stream = response.extensions["network_stream"]
                self.local_host = str(stream.get_extra_info("client_addr")[0])
            body = await read_limited(response.aiter_raw(), MAX_RESPONSE_BYTES)
        except httpx.TransportError:
            return HttpResponse(failure="the connection was closed in the middle of the response")
        finally:
            await response.aclose()
        if body is None:
            return HttpResponse(failure=f"the response is larger than {MAX_RESPONSE_BYTES:,} bytes")
        headers = dict(response.headers)
        return HttpResponse(status=response.status_code, headers=headers, body=body)


async def read_limited(parts: AsyncIterator[bytes], max_bytes: int) -> bytes | None:
    """Join the parts of a body; None when it is larger than the limit."""
    body = bytearray()
    async for part in parts:
        body += part
        if len(body) > max_bytes:
            return None
    return bytes(body)


def tls_context(scheme: str) -> "ssl.SSLContext":
    """Trust the authorities of the system, or those of SSL_CERT_FILE, and those of browsers."""
    import ssl

    import certifi

    if scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # Never used, and quick to create.
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def import_httpx() -> None:
    """Import what requests need, so that the first one does not wait for it."""
    from importlib import import_module

    for name in ("certifi", "httpx", "httpcore", "anyio._backends._asyncio"):
        with suppress(ImportError):
            import_module(name)


def _missing_response(error: "httpx.TransportError") -> str:
    import httpcore
    import httpx

    [*_, origin] = causes(error)
    # Otherwise the HTTP parser raised it.
    was_cut = isinstance(origin, httpcore.RemoteProtocolError)
    if isinstance(error, httpx.RemoteProtocolError) and not was_cut:
        return f"the response is not HTTP: {error}"
    return "the connection was closed before a response"
