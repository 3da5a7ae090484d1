"""How a request travels: over HTTP, to the service and to nobody else."""

import asyncio
import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, Self
from urllib.parse import urlencode

import httpx

from emulator.verify.answers import Answer, Request

if TYPE_CHECKING:
    import ssl

MAX_RESPONSE_S = 20
MAX_CONNECT_S = 10
MAX_RESPONSE_BYTES = 16 * 1024 * 1024

_MAX_CAUSES = 64


class NoConnection(Exception):
    """Nobody listens; the message says why, in words."""


class NoAnswer(Exception):
    """There is a connection, and no whole answer came over it; the message says why."""


class Wire(Protocol):
    """The way to a service, as a seam: tests have one that needs no network."""

    base_url: str

    async def send(self, request: Request) -> Answer:
        """One request, sent once. Raises NoConnection, NoAnswer."""


class HttpWire:
    """Redirects are not followed and no cookie is kept.

    A proxy of the environment is used for https alone, where it cannot read what it carries.
    """

    def __init__(self, base_url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.base_url = base_url
        is_tls = base_url.startswith("https:")
        self._http = httpx.AsyncClient(
            transport=transport,
            trust_env=is_tls,
            verify=_authorities(is_tls=is_tls),
            timeout=httpx.Timeout(MAX_RESPONSE_S, connect=MAX_CONNECT_S),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def send(self, request: Request) -> Answer:
        try:
            # For all of it: httpx takes the time of each part of an answer by itself.
            async with asyncio.timeout(MAX_RESPONSE_S):
                return await self._exchange(request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise NoConnection(_why(error)) from None
        except (TimeoutError, httpx.TimeoutException):
            raise NoAnswer(f"no answer came within {MAX_RESPONSE_S} s") from None
        except httpx.TransportError:
            raise NoAnswer("the connection was cut before the whole answer had come") from None

    async def _exchange(self, request: Request) -> Answer:
        response = await self._http.send(
            self._written(request), stream=True, auth=None, follow_redirects=False
        )
        try:
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_RESPONSE_BYTES:
                    raise NoAnswer(f"the answer is larger than {MAX_RESPONSE_BYTES:,} bytes")
        finally:
            await response.aclose()
        return Answer(
            request=request,
            status=response.status_code,
            headers=_headers(response.headers.raw),
            body=bytes(body),
        )

    def _written(self, request: Request) -> httpx.Request:
        query = f"?{urlencode(request.query)}" if request.query else ""
        url = _url(f"{self.base_url}{request.path}{query}")
        return httpx.Request(request.method, url, headers=request.headers, content=request.body)


@lru_cache(maxsize=64)
def _url(text: str) -> httpx.URL:
    """To read a URL is a third of what a request costs, and most go to the same few."""
    return httpx.URL(text)


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): text.decode("latin-1") for name, text in raw}


def _authorities(*, is_tls: bool) -> "ssl.SSLContext":
    import ssl

    import certifi

    if not is_tls:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # which is never asked for anything
    # The system's authorities, or those of SSL_CERT_FILE, and those that browsers trust.
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _why(error: httpx.TransportError) -> str:
    """Why there is no connection; the library's own words would name addresses and tuples."""
    import ssl

    if isinstance(error, httpx.ConnectTimeout):
        return f"no connection within {MAX_CONNECT_S} s"
    for cause in _chain(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"no TLS with it: {cause.reason or cause}"
        if isinstance(cause, OSError) and cause.errno is not None:
            return os.strerror(cause.errno) if cause.errno > 0 else cause.strerror or str(cause)
    return str(error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """What an error came from; of several that came together the first."""
    cause: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if cause is None:
            return
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        else:
            cause = cause.__cause__ or cause.__context__
